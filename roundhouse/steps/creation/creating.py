"""Creating the cluster: its first call, with the discounted groups at their first stage. Ports only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from roundhouse.build.records import StageRecord
from roundhouse.build.staging import Step, stage_target
from roundhouse.contracts.ledger import LedgerEntry, LedgerState, action_id
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import AwsFailure, InUse
from roundhouse.ports import Run
from roundhouse.steps import words
from roundhouse.steps.creation.claims import claim, mark
from roundhouse.steps.creation.plan import APPEARS_WITHIN, CREATED_WITHIN
from roundhouse.steps.creation.site import Site, Works

_ANSWER_UNKNOWN = {LedgerState.CLAIMED, LedgerState.UNKNOWN}


def create(step: Step, run: Run, works: Works) -> dict[str, Any]:
    """CreateCluster. A name that exists means that an earlier call took effect, if there was one.

    Else somebody has just made a cluster of that name, which is not ours to grow or to roll back (status `refused`).
    """
    spec, before = works.spec, _called_before(run, works)
    fresh = tuple(StageRecord(group.name, 0, stage_target(group, 0), works.now) for group in spec.groups)
    # The claim comes first: stages without one mean that the cluster was there and is gone.
    entry = claim(works, "create_cluster", spec.cluster, run.run_id, sum(step.counts.values()), step.reason)
    works.update(run.run_id, lambda r: replace(r, stages=fresh, sightings=(), proven=(), cluster_arn=""))
    try:
        arn = works.writer.create(spec, step.counts)
    except InUse:
        if not before:
            return _somebody_elses(run, works, entry)
        mark(works, entry, LedgerState.CONFIRMED, "the name exists: an earlier call took effect")
    except AwsFailure as failure:
        mark(works, entry, LedgerState.UNKNOWN, f"{type(failure).__name__}: {failure}")
        raise
    else:
        mark(works, entry, LedgerState.CALLED, arn)
        works.update(run.run_id, lambda r: replace(r, cluster_arn=arn))
    counts = ", ".join(f"{count} {name}" for name, count in step.counts.items())
    title = "Cluster created with its discounted nodes first"
    works.outbox.tell(words.run_notice(run, NoticeKind.RUN_PROGRESS, "create", title, counts))
    return {"status": "wait_controller", "wait_s": spec.waits.poll_s, "reason": step.reason}


def _called_before(run: Run, site: Site) -> bool:
    """True when an earlier call, of this run or another, may have made the cluster that stands there now."""
    name = site.spec.cluster
    mine = site.ledger.get(action_id(run.run_id, "create_cluster", name))  # read by itself: the index lags behind
    others = site.ledger.of_cluster(name, site.now - CREATED_WITHIN)
    made = [entry for entry in (mine, *others) if entry is not None and entry.kind == "create_cluster"]
    return any(
        entry.state in _ANSWER_UNKNOWN
        or (entry.state is not LedgerState.FAILED and site.now - entry.updated_at < APPEARS_WITHIN)
        for entry in made
    )


def _somebody_elses(run: Run, works: Works, entry: LedgerEntry) -> dict[str, Any]:
    """Nothing of the run is kept that a later one could take for having made that cluster."""
    reason = f"somebody has just created a cluster called {works.spec.cluster}: it is left alone"
    mark(works, entry, LedgerState.FAILED, reason)
    works.update(run.run_id, lambda r: replace(r, stages=()))
    return {"status": "refused", "wait_s": works.spec.waits.poll_s, "reason": reason}
