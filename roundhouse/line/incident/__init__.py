"""Incident: what went wrong with one instance, how it is told from noise, and how it grows. Pure."""

from roundhouse.line.incident.evolve import (
    RECOVERY,
    begin_step,
    close,
    end_step,
    heard,
    opened,
    subject_of,
    target_instance,
    with_attempt,
    with_event,
    with_recovery,
    with_result,
)
from roundhouse.line.incident.intake import SHOWS, Intake, IntakeVerdict, admit
from roundhouse.line.incident.live import locate
from roundhouse.line.incident.record import (
    ENDED_WELL,
    Attempt,
    Evidence,
    Incident,
    IncidentState,
    Other,
    Outcome,
    Step,
    incident_key,
)

__all__ = [
    "ENDED_WELL",
    "RECOVERY",
    "SHOWS",
    "Attempt",
    "Evidence",
    "Incident",
    "IncidentState",
    "Intake",
    "IntakeVerdict",
    "Other",
    "Outcome",
    "Step",
    "admit",
    "begin_step",
    "close",
    "end_step",
    "heard",
    "incident_key",
    "locate",
    "opened",
    "subject_of",
    "target_instance",
    "with_attempt",
    "with_event",
    "with_recovery",
    "with_result",
]
