"""Creating the cluster: its first call, with the discounted groups at their first stage. Ports only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from roundhouse.build.records import StageRecord
from roundhouse.build.staging import Step, stage_target
from roundhouse.contracts.ledger import LedgerState
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import AwsFailure, InUse
from roundhouse.ports import Run
from roundhouse.steps import words
from roundhouse.steps.creation.claims import claim, mark
from roundhouse.steps.creation.site import Works


def create(step: Step, run: Run, works: Works) -> dict[str, Any]:
    """CreateCluster. A name that exists means that an earlier call took effect."""
    spec = works.spec
    fresh = tuple(StageRecord(group.name, 0, stage_target(group, 0), works.now) for group in spec.groups)
    # The claim comes first: stages without one mean that the cluster was there and is gone.
    entry = claim(works, "create_cluster", spec.cluster, run.run_id, sum(step.counts.values()), step.reason)
    works.update(run.run_id, lambda r: replace(r, stages=fresh, sightings=(), proven=()))
    try:
        arn = works.writer.create(spec, step.counts)
    except InUse:
        mark(works, entry, LedgerState.CONFIRMED, "the name exists: an earlier call took effect")
    except AwsFailure as failure:
        mark(works, entry, LedgerState.UNKNOWN, f"{type(failure).__name__}: {failure}")
        raise
    else:
        mark(works, entry, LedgerState.CALLED, arn)
    counts = ", ".join(f"{count} {name}" for name, count in step.counts.items())
    title = "Cluster created with its discounted nodes first"
    works.outbox.tell(words.run_notice(run, NoticeKind.RUN_PROGRESS, "create", title, counts))
    return {"status": "wait_controller", "wait_s": spec.waits.poll_s, "reason": step.reason}
