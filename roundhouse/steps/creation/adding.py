"""Adding a stage's nodes by BatchAddClusterNodes, each call under a client token of its own. Ports only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from roundhouse.build.records import StageRecord
from roundhouse.build.staging import Addition, Step
from roundhouse.contracts.ledger import LedgerState, action_id
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import AwsFailure
from roundhouse.line.state import Cluster
from roundhouse.ports import Run
from roundhouse.steps import words
from roundhouse.steps.creation.claims import claim, mark
from roundhouse.steps.creation.plan import APPEARS_WITHIN, answer
from roundhouse.steps.creation.site import Site, Works


def add(step: Step, run: Run, cluster: Cluster, works: Works) -> dict[str, Any]:
    """Make the calls of an ADD step, in order."""
    assert step.group is not None
    assert step.stage is not None
    if any(_undone(addition, step.group, cluster, works) for addition in step.additions):
        # What was added under this token is gone again: somebody took nodes away. A replay would add none.
        works.update(run.run_id, lambda r: replace(r, cancellations=r.cancellations + 1))
        return {**answer(step, cluster, works.spec), "status": "plan", "wait_s": 1}
    begin_stage(step, run, works)
    for addition in step.additions:
        _add_once(addition, step, cluster, works)
    works.outbox.tell(
        words.run_notice(
            run,
            NoticeKind.RUN_PROGRESS,
            f"add-{step.group}-{step.stage}-{step.target}-{step.additions[0].token[-8:]}",
            f"Stage {step.stage + 1} of {step.group}: {step.amount} more, {step.target} in all",
            step.reason,
        )
    )
    return {**answer(step, cluster, works.spec), "status": "watch"}


def begin_stage(step: Step, run: Run, works: Works) -> None:
    """A fresh record of the stage that grows now, unless it stands already."""
    assert step.group is not None
    assert step.stage is not None
    record = StageRecord(step.group, step.stage, step.target, works.now)
    known = run.record(step.group, step.stage)
    if known is None or known.target != step.target or known.verdict:
        works.update(run.run_id, lambda r: replace(r, stages=(*_below(r, record), record)))


def _below(run: Run, record: StageRecord) -> list[StageRecord]:
    """The run's stages without the group's later ones: they were about nodes that are missing now."""
    return [r for r in run.stages if r.group != record.group or r.stage <= record.stage]


def _undone(addition: Addition, group: str, cluster: Cluster, site: Site) -> bool:
    """True when this very call was accepted so long ago that live counts would show it if it still counted."""
    known = site.ledger.get(action_id(cluster.arn, "add_nodes", f"{group}:{addition.token}"))
    return known is not None and known.state is LedgerState.CALLED and site.now - known.claimed_at > APPEARS_WITHIN


def _add_once(addition: Addition, step: Step, cluster: Cluster, works: Works) -> None:
    assert step.group is not None
    subject = f"{step.group}:{addition.token}"
    entry = claim(works, "add_nodes", subject, cluster.arn, addition.amount, step.reason, step.group)
    try:
        logical_ids = works.writer.add(works.spec.cluster, step.group, addition.amount, addition.token)
    except AwsFailure as failure:
        mark(works, entry, LedgerState.UNKNOWN, f"{type(failure).__name__}: {failure}")
        raise
    mark(works, entry, LedgerState.CALLED, f"{len(logical_ids)} logical ids")
