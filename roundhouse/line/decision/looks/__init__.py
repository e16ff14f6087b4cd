"""Looks: the rules that settle an incident, or make it wait, before any action is thought of. Pure.

Each takes the view and returns a decision, or None to let the next one look. They are kept by what they look at.
"""

from roundhouse.line.decision.looks.cluster import CAPACITY_ADVICE, busy_cluster, concerns_many
from roundhouse.line.decision.looks.made import close, human, wait
from roundhouse.line.decision.looks.news import failed_launch, powered_off, recovered, repaired_meanwhile, unknown_cause
from roundhouse.line.decision.looks.others import called, gone, grace, in_hand
from roundhouse.line.decision.looks.role import CONTROLLER_ADVICE, role

__all__ = [
    "CAPACITY_ADVICE",
    "CONTROLLER_ADVICE",
    "busy_cluster",
    "called",
    "close",
    "concerns_many",
    "failed_launch",
    "gone",
    "grace",
    "human",
    "in_hand",
    "powered_off",
    "recovered",
    "repaired_meanwhile",
    "role",
    "unknown_cause",
    "wait",
]
