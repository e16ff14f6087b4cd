"""Decision: a pure function of live facts: what to do, why, and what would have been done without the guard."""

from roundhouse.line.decision.decide import applied, decide, held_since, recheck
from roundhouse.line.decision.explain import explain
from roundhouse.line.decision.facts import Facts
from roundhouse.line.decision.guards import compute_targets
from roundhouse.line.decision.looks import CAPACITY_ADVICE, CONTROLLER_ADVICE, WATCHED
from roundhouse.line.decision.verdict import Decision, Guard, Verdict

__all__ = [
    "CAPACITY_ADVICE",
    "CONTROLLER_ADVICE",
    "WATCHED",
    "Decision",
    "Facts",
    "Guard",
    "Verdict",
    "applied",
    "compute_targets",
    "decide",
    "explain",
    "held_since",
    "recheck",
]
