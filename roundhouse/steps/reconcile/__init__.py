"""Reconciling: every record and live state read, compared, and each difference mended or shown to people."""

from roundhouse.steps.reconcile.gather import Machines, Reading
from roundhouse.steps.reconcile.mend import Mender
from roundhouse.steps.reconcile.run import reconcile

__all__ = ["Machines", "Mender", "Reading", "reconcile"]
