"""Looks: the rules that settle an incident, or make it wait, before any action is thought of. Pure.

Each takes the view and returns a decision, or None to let the next one look. They are kept by what they look at.
"""

from roundhouse.line.decision.looks.cluster import CAPACITY_ADVICE, PATCHING, busy_cluster, concerns_many, patching
from roundhouse.line.decision.looks.hyperpod import AUTO_RESUME, auto_resume, grace, ignored_reason, switched_on
from roundhouse.line.decision.looks.made import close, human, wait
from roundhouse.line.decision.looks.news import failed_launch, powered_off, recovered, repaired_meanwhile, unknown_cause
from roundhouse.line.decision.looks.others import MISSING, WATCHED, called, gone, in_hand
from roundhouse.line.decision.looks.role import CONTROLLER_ADVICE, controller_missing, role

__all__ = [
    "AUTO_RESUME",
    "CAPACITY_ADVICE",
    "CONTROLLER_ADVICE",
    "MISSING",
    "PATCHING",
    "WATCHED",
    "auto_resume",
    "busy_cluster",
    "called",
    "close",
    "concerns_many",
    "controller_missing",
    "failed_launch",
    "gone",
    "grace",
    "human",
    "ignored_reason",
    "in_hand",
    "patching",
    "powered_off",
    "recovered",
    "repaired_meanwhile",
    "role",
    "switched_on",
    "unknown_cause",
    "wait",
]
