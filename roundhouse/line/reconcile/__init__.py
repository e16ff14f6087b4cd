"""Reconcile: what the records say of each other and of live state, compared. Pure; one small rule for each kind.

The order of the rules is that of the mending: first what each record has forgotten, then questions, then workflows,
which go on from what is known by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from roundhouse.line.reconcile import calls, cluster, drains, questions, workflows
from roundhouse.line.reconcile.cluster import healthy
from roundhouse.line.reconcile.facts import Creation, Difference, Facts, Kind, Remedy
from roundhouse.line.reconcile.workflows import ENDS_BY_ITSELF, RUNNING

__all__ = [
    "ENDS_BY_ITSELF",
    "RULES",
    "RUNNING",
    "Creation",
    "Difference",
    "Facts",
    "Kind",
    "Remedy",
    "compare",
    "healthy",
]

Rule = Callable[[Facts], Iterator[Difference]]
RULES: tuple[Rule, ...] = (
    calls.forgotten_calls,
    calls.lost_entries,
    calls.open_entries,
    questions.stale,
    questions.late,
    questions.unanswered_task,
    workflows.no_workflow,
    workflows.closed_but_running,
    workflows.creation,
    drains.our_drains,
    cluster.below_contract,
    cluster.lost_signals,
    cluster.no_controller,
    cluster.canary,
    cluster.breaker_not_told,
)


def compare(facts: Facts) -> list[Difference]:
    """Every difference, in the order in which they are to be mended."""
    return [found for rule in RULES for found in rule(facts)]
