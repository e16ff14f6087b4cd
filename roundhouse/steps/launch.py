"""Planning and launching a stage: decided on live counts, claimed in the ledger, then called. Ports only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.build.records import StageRecord
from roundhouse.build.spec import ClusterSpec
from roundhouse.build.staging import Addition, Step, StepKind, next_step, stage_target
from roundhouse.contracts.ledger import LedgerEntry, LedgerState, action_id
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import AwsFailure, ConditionFailed, Conflict, InUse, NotFound
from roundhouse.line.state import Cluster
from roundhouse.ports import ClusterReader, ClusterWriter, ControlStore, Ledger, Outbox, Run, RunStore
from roundhouse.steps import own, words

RESTORE_WINDOW = timedelta(days=2)  # a repair that has not restored its node by then is not under way any more
CREATING = "Creating"
APPEARS_WITHIN = timedelta(minutes=5)  # a new cluster is listed by then, and new nodes are counted
STATUS = {
    StepKind.CREATE: "create",
    StepKind.ADD: "add",
    StepKind.WAIT_CONTROLLER: "wait_controller",
    StepKind.WAIT_STAGE: "watch",
    StepKind.VERIFY: "watch",
    StepKind.DONE: "done",
    StepKind.REFUSE: "refused",
}


def read(reader: ClusterReader, name: str) -> Cluster | None:
    """The cluster now; None when there is none. Throttling and time-outs are raised: the workflow tries again."""
    try:
        return reader.cluster(name)
    except NotFound:
        return None


def restoring(ledger: Ledger, cluster: str, now: datetime) -> dict[str, int]:
    """Nodes per group that a repair has deleted and is about to add again by itself."""
    open_: dict[str, int] = {}
    for entry in ledger.of_cluster(cluster, now - RESTORE_WINDOW):
        if entry.kind == "delete_restore" and entry.group and entry.state in {LedgerState.CALLED, LedgerState.UNKNOWN}:
            open_[entry.group] = open_.get(entry.group, 0) + 1
    return open_


def step_now(
    run: Run, *, reader: ClusterReader, ledger: Ledger, spec: ClusterSpec, now: datetime
) -> tuple[Step, Cluster | None]:
    """The next step on live counts, and the cluster that it was read from.

    A cluster that this run created and that is gone is not created again: somebody deleted it. One that is not ready
    (being patched, its controller away) is waited for as long as a controller is.
    """
    cluster = read(reader, spec.cluster)
    if cluster is None and run.stages:
        entry = ledger.get(action_id(run.run_id, "create_cluster", spec.cluster))
        if entry is not None and now - entry.updated_at < APPEARS_WITHIN:
            return Step(StepKind.WAIT_CONTROLLER, "the cluster was just created and is not listed yet"), None
        if entry is None or entry.state in {LedgerState.CALLED, LedgerState.CONFIRMED}:
            return Step(StepKind.REFUSE, f"{spec.cluster} was created and is gone: somebody deleted it"), None
    return wanted(run, cluster, ledger=ledger, spec=spec, now=now), cluster


def wanted(run: Run, cluster: Cluster | None, *, ledger: Ledger, spec: ClusterSpec, now: datetime) -> Step:
    """The next step on these counts. Where a discount is known to be lost, it is judged again before more is added:
    a run that begins after people said hold, or that was stopped while they were asked, must not grow at that price.
    """
    step = next_step(spec, cluster, run, restoring(ledger, spec.cluster, now))
    if step.kind is not StepKind.ADD or step.group is None or cluster is None or run.accepted_loss:
        return step
    newest = {record.stage: record for record in run.stages if record.group == step.group}
    lost = next((record for record in newest.values() if record.verdict == "LOST"), None)
    if lost is None:
        return step
    reason = f"the discount of {step.group} was lost ({lost.reason}): it is judged again before anything is added"
    return Step(StepKind.VERIFY, reason, step.group, lost.stage, cluster.groups[step.group].target)


def plan(
    run_id: str,
    *,
    reader: ClusterReader,
    runs: RunStore,
    ledger: Ledger,
    control: ControlStore,
    spec: ClusterSpec,
    now: datetime,
) -> dict[str, Any]:
    """What comes next: `{status, reason, wait_s, group, stage, target}`. While people pause us, nothing is begun."""
    run = own.owned(runs, spec.cluster, run_id)
    step, cluster = step_now(run, reader=reader, ledger=ledger, spec=spec, now=now)
    switch = control.pause()
    if switch is not None and step.kind in {StepKind.CREATE, StepKind.ADD}:
        step = Step(StepKind.WAIT_CONTROLLER, f"paused by {switch.by}: {switch.why}")
        result = {**_result(step, cluster, spec), "status": "wait"}
    elif step.kind is StepKind.WAIT_CONTROLLER and _waited_too_long(run, step, cluster, spec, now):
        step = Step(StepKind.REFUSE, f"waited {spec.waits.controller_timeout_s} s in vain: {step.reason}")
        result = _result(step, cluster, spec)
    else:
        result = _result(step, cluster, spec)
    if run.step != step.reason:
        running = sum(cluster.running(group.name) for group in spec.groups if group.role == "Compute") if cluster else 0
        own.update(runs, spec.cluster, run_id, lambda r: own.at(r, now, running, step.reason))
    return result


def _waited_too_long(run: Run, step: Step, cluster: Cluster | None, spec: ClusterSpec, now: datetime) -> bool:
    """True when the cluster has not been ready for this same reason for too long; the state machine itself counts how
    long a new one takes."""
    if cluster is None or cluster.status == CREATING or not run.history or run.history[-1][2] != step.reason:
        return False
    return now - run.history[-1][0] > timedelta(seconds=spec.waits.controller_timeout_s)


def _result(step: Step, cluster: Cluster | None, spec: ClusterSpec) -> dict[str, Any]:
    # Only a cluster that is being created has its status polled; any other is planned upon again a little later.
    waits = step.kind is StepKind.WAIT_CONTROLLER and (cluster is None or cluster.status != CREATING)
    return {
        "status": "wait" if waits else STATUS[step.kind],
        "reason": step.reason,
        "wait_s": spec.waits.poll_s,
        "group": step.group,
        "stage": step.stage,
        "target": step.target,
    }


def launch(
    run_id: str,
    *,
    reader: ClusterReader,
    writer: ClusterWriter,
    runs: RunStore,
    ledger: Ledger,
    outbox: Outbox,
    spec: ClusterSpec,
    now: datetime,
) -> dict[str, Any]:
    """Read live counts again and make the call that they ask for, whatever was planned a moment ago.

    Unavailable (a lost answer) is raised after the ledger says UNKNOWN: the next try reads live counts, and the same
    client token makes HyperPod replay its answer instead of adding twice.
    """
    run = own.owned(runs, spec.cluster, run_id)
    step, cluster = step_now(run, reader=reader, ledger=ledger, spec=spec, now=now)
    shared: dict[str, Any] = {"writer": writer, "runs": runs, "ledger": ledger, "outbox": outbox}
    try:
        if step.kind is StepKind.CREATE:
            return _create(step, run, **shared, spec=spec, now=now)
        if step.kind is StepKind.ADD and cluster is not None:
            return _add(step, run, cluster, **shared, spec=spec, now=now)
    except Conflict as busy:  # the cluster is busy with something else: nothing was changed, so plan again
        return {**_result(step, cluster, spec), "status": "plan", "reason": str(busy)}
    return {**_result(step, cluster, spec), "status": "plan"}


def _create(
    step: Step,
    run: Run,
    *,
    writer: ClusterWriter,
    runs: RunStore,
    ledger: Ledger,
    outbox: Outbox,
    spec: ClusterSpec,
    now: datetime,
) -> dict[str, Any]:
    fresh = tuple(StageRecord(group.name, 0, stage_target(group, 0), now) for group in spec.groups)
    # The claim comes first: stages without one mean that the cluster was there and is gone.
    entry = _claim(
        ledger, spec, "create_cluster", spec.cluster, run.run_id, sum(step.counts.values()), now, step.reason
    )
    own.update(runs, spec.cluster, run.run_id, lambda r: replace(r, stages=fresh, sightings=(), proven=()))
    try:
        arn = writer.create(spec, step.counts)
    except InUse:
        _mark(ledger, entry, LedgerState.CONFIRMED, now, "the name exists: an earlier call took effect")
    except AwsFailure as failure:
        _mark(ledger, entry, LedgerState.UNKNOWN, now, f"{type(failure).__name__}: {failure}")
        raise
    else:
        _mark(ledger, entry, LedgerState.CALLED, now, arn)
    discounted = ", ".join(f"{count} {name}" for name, count in step.counts.items())
    outbox.tell(
        words.run_notice(
            run, NoticeKind.RUN_PROGRESS, "create", "Cluster created with its discounted nodes first", discounted
        )
    )
    return {"status": "wait_controller", "wait_s": spec.waits.poll_s, "reason": step.reason}


def _add(
    step: Step,
    run: Run,
    cluster: Cluster,
    *,
    writer: ClusterWriter,
    runs: RunStore,
    ledger: Ledger,
    outbox: Outbox,
    spec: ClusterSpec,
    now: datetime,
) -> dict[str, Any]:
    assert step.group is not None
    assert step.stage is not None
    if any(_undone(addition, step.group, cluster, ledger, now) for addition in step.additions):
        # What was added under this token is gone again: somebody took nodes away. A replay would add none.
        own.update(runs, spec.cluster, run.run_id, lambda r: replace(r, cancellations=r.cancellations + 1))
        return {**_result(step, cluster, spec), "status": "plan", "wait_s": 1}
    record = StageRecord(step.group, step.stage, step.target, now)
    known = run.record(step.group, step.stage)
    if known is None or known.target != step.target or known.verdict:
        own.update(runs, spec.cluster, run.run_id, lambda r: replace(r, stages=(*_below(r, record), record)))
    for addition in step.additions:
        _add_once(addition, step, cluster, writer=writer, ledger=ledger, spec=spec, now=now)
    outbox.tell(
        words.run_notice(
            run,
            NoticeKind.RUN_PROGRESS,
            f"add-{step.group}-{step.stage}-{step.target}-{step.additions[0].token[-8:]}",
            f"Stage {step.stage + 1} of {step.group}: {step.amount} more, {step.target} in all",
            step.reason,
        )
    )
    return {**_result(step, cluster, spec), "status": "watch"}


def _below(run: Run, record: StageRecord) -> list[StageRecord]:
    """The run's stages without the group's later ones: they were about nodes that are missing now."""
    return [r for r in run.stages if r.group != record.group or r.stage <= record.stage]


def _undone(addition: Addition, group: str, cluster: Cluster, ledger: Ledger, now: datetime) -> bool:
    """True when this very call was accepted so long ago that live counts would show it if it still counted."""
    known = ledger.get(action_id(cluster.arn, "add_nodes", f"{group}:{addition.token}"))
    return known is not None and known.state is LedgerState.CALLED and now - known.claimed_at > APPEARS_WITHIN


def _add_once(
    addition: Addition,
    step: Step,
    cluster: Cluster,
    *,
    writer: ClusterWriter,
    ledger: Ledger,
    spec: ClusterSpec,
    now: datetime,
) -> None:
    assert step.group is not None
    subject = f"{step.group}:{addition.token}"
    entry = _claim(ledger, spec, "add_nodes", subject, cluster.arn, addition.amount, now, step.reason, step.group)
    try:
        logical_ids = writer.add(spec.cluster, step.group, addition.amount, addition.token)
    except AwsFailure as failure:
        _mark(ledger, entry, LedgerState.UNKNOWN, now, f"{type(failure).__name__}: {failure}")
        raise
    _mark(ledger, entry, LedgerState.CALLED, now, f"{len(logical_ids)} logical ids")


def _claim(
    ledger: Ledger,
    spec: ClusterSpec,
    kind: str,
    subject: str,
    scope: str,
    count: int,
    now: datetime,
    detail: str,
    group: str | None = None,
) -> LedgerEntry:
    """The claimed entry, new or (after a crash between claim and call) the one that stands already."""
    identity = action_id(scope, kind, subject)
    entry = LedgerEntry(
        action_id=identity,
        cluster=spec.cluster,
        kind=kind,
        subject=subject,
        incident_id=None,
        state=LedgerState.CLAIMED,
        claimed_at=now,
        updated_at=now,
        group=group,
        count=count,
        detail=detail,
    )
    try:
        return ledger.put(entry)
    except ConditionFailed:
        known = ledger.get(identity)
        if known is None:
            raise
        return known


def _mark(ledger: Ledger, entry: LedgerEntry, state: LedgerState, now: datetime, detail: str) -> None:
    ledger.put(replace(entry, state=state, updated_at=now, detail=detail[:500]))
