"""Restarts: when an incident whose workflow has ended gets another one, and when people do. Pure.

A workflow may end too early: somebody stops it, a table is restored, a fault kills it. Another one goes on where it
stood, since the ledger knows every call. But a person who stops it again and again means it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from roundhouse.contracts.executions import ExecutionState, repair_execution
from roundhouse.line.incident import Incident

A_DAY = timedelta(hours=24)
RESTARTS_A_DAY = 3
_MOST = 100  # names looked at: three a day over the fortnight that an execution may last, twice


@dataclass(frozen=True, slots=True)
class Workflow:
    """The executions of one incident: how many names are taken, how the newest stands, whether any is under way."""

    taken: int
    last: ExecutionState | None
    alive: bool

    @property
    def words(self) -> str:
        """How it ended, for people."""
        if self.last is None:
            return "never began"
        return f"ended as {self.last.value.replace('_', ' ')}"


def workflow_of(incident: Incident, status: Callable[[str], ExecutionState | None]) -> Workflow:
    """Look at the executions of `incident`: the one that is expected to run first, the others only if it does not.

    Names are taken in order, so the first that nobody has taken ends the search. A first execution that is no longer
    known (Step Functions forgets after 90 days) is begun again under its own name.
    """
    expected = len(incident.restarts)
    if status(repair_execution(incident.incident_id, expected)) is ExecutionState.RUNNING:
        return Workflow(expected + 1, ExecutionState.RUNNING, alive=True)
    states: list[ExecutionState] = []
    while len(states) < _MOST and (state := status(repair_execution(incident.incident_id, len(states)))) is not None:
        states.append(state)
    return Workflow(len(states), states[-1] if states else None, ExecutionState.RUNNING in states)


def may_restart(incident: Incident, now: datetime) -> bool:
    """False once it was begun again so often within a day that somebody, or something, must not want it."""
    return sum(now - at < A_DAY for at in incident.restarts) < RESTARTS_A_DAY


def restarted(incident: Incident, restart: int, now: datetime) -> Incident:
    """The incident with its `restart`-th restart written down, before it is begun. Unchanged when it is there already:
    two that restart it at once, or one that died between writing and beginning, count once."""
    return incident if len(incident.restarts) >= restart else replace(incident, restarts=(*incident.restarts, now))


def grace_left(incident: Incident, grace_s: int, now: datetime) -> int:
    """Seconds of grace that are left: a restart does not give it anew. At least one, which a Wait needs."""
    return max(1, min(grace_s, round((incident.opened_at - now).total_seconds()) + grace_s))
