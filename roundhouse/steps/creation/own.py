"""Who owns a cluster's creation: the newest run. An older execution that is still alive stops at its next step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from roundhouse.errors import BadInput, ConditionFailed, TakenOver
from roundhouse.ports import Run, RunStore
from roundhouse.steps.revise import TRIES, revise

HISTORY = 400  # points kept for progress displays


def take(runs: RunStore, cluster: str, run_id: str, now: datetime) -> Run:
    """Make `run_id` the cluster's run. What an earlier run proved of the nodes is kept; its status is not."""
    for _ in range(TRIES):
        known = runs.get(cluster)
        if known is not None and known.run_id == run_id:
            return known
        if known is None:
            fresh = Run(cluster=cluster, run_id=run_id, started_at=now)
        else:
            fresh = replace(
                known, run_id=run_id, started_at=now, status="running", step="", accepted_loss=False, finished_at=None
            )
        try:
            return runs.put(fresh)
        except ConditionFailed:
            continue
    raise ConditionFailed(f"the run of {cluster!r} is changing too fast: lost {TRIES} races in a row")


def owned(runs: RunStore, cluster: str, run_id: str) -> Run:
    """The run, if it is still `run_id`'s. Raises TakenOver when a later one has begun."""
    run = runs.get(cluster)
    if run is None:
        raise BadInput(f"no run of {cluster!r} is recorded: a creation begins with its preflight")
    if run.run_id != run_id:
        raise TakenOver(
            f"run {run_id} of {cluster} was taken over by {run.run_id}: stopping, nothing more is done by it"
        )
    return run


def update(runs: RunStore, cluster: str, run_id: str, change: Callable[[Run], Run]) -> Run:
    """Change the run under its lock; TakenOver as in `owned`."""

    def checked(run: Run) -> Run:
        if run.run_id != run_id:
            raise TakenOver(f"run {run_id} of {cluster} was taken over by {run.run_id}")
        return change(run)

    return revise(runs, cluster, checked)


def at(run: Run, now: datetime, running: int, step: str) -> Run:
    """`run` with one more point of history, if anything moved."""
    if run.history and run.history[-1][1:] == (running, step):
        return run
    return replace(run, step=step, history=(*run.history, (now, running, step))[-HISTORY:])
