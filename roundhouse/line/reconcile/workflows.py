"""Incidents and creations against their executions. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from roundhouse.contracts.executions import ExecutionState
from roundhouse.line.reconcile.facts import LAG, Difference, Facts, Kind, Remedy
from roundhouse.line.restart import A_DAY, RESTARTS_A_DAY, may_restart

ENDS_BY_ITSELF = timedelta(hours=2)  # a workflow whose incident was closed sees that at its next step
RUNNING = "running"


def no_workflow(facts: Facts) -> Iterator[Difference]:
    """An open incident whose executions have all ended: another one goes on, unless it was stopped too often."""
    for incident in facts.open:
        known = facts.workflows.get(incident.incident_id)
        if known is None or known.alive or not facts.older(incident.opened_at, LAG):
            continue
        words = f"{incident.incident_id} is open and its workflow {known.words}"
        if may_restart(incident, facts.now):
            yield Difference(Kind.NO_WORKFLOW, incident.incident_id, words, Remedy.BEGIN)
        else:
            hours = round(A_DAY / timedelta(hours=1))
            words = f"{words}; it was begun again {RESTARTS_A_DAY} times within {hours} h, and is left to people now"
            yield Difference(Kind.STOPPED_TOO_OFTEN, incident.incident_id, words, Remedy.HAND_OVER)


def closed_but_running(facts: Facts) -> Iterator[Difference]:
    """A closed incident whose workflow has not ended although it had the time for it."""
    for incident in facts.closed:
        known = facts.workflows.get(incident.incident_id)
        if known is not None and known.alive and facts.older(incident.closed_at, ENDS_BY_ITSELF):
            words = f"{incident.incident_id} is closed since {incident.closed_at:%d %b %H:%M} UTC, its workflow runs"
            yield Difference(Kind.CLOSED_BUT_RUNNING, incident.incident_id, words, Remedy.SHOW)


def creation(facts: Facts) -> Iterator[Difference]:
    """A creation that is recorded as running and is not, or the other way round."""
    run = facts.creation
    if run is None:
        return
    alive = run.execution is ExecutionState.RUNNING
    if run.status == RUNNING and not alive and facts.older(run.started_at, LAG):
        ended = "is not known" if run.execution is None else f"ended as {run.execution.value.replace('_', ' ')}"
        words = (
            f"creation {run.run_id} is recorded as running, and its workflow {ended}: "
            f"`roundhouse create -e {facts.policy.environment}` goes on from live counts"
        )
        yield Difference(Kind.RUN_WITHOUT_WORKFLOW, run.run_id, words, Remedy.SHOW)
    if run.status != RUNNING and alive and facts.older(run.finished_at, ENDS_BY_ITSELF):
        words = f"creation {run.run_id} has ended ({run.status}), and its workflow still runs: stop it"
        yield Difference(Kind.WORKFLOW_WITHOUT_RUN, run.run_id, words, Remedy.SHOW)
