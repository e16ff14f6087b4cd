"""Watching a stage: count Running nodes, judge the launches and the discount, write it down. Ports only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.build.discount import DiscountVerdict, Verdict, verdict
from roundhouse.build.progress import StageProgress, StageState, judge
from roundhouse.build.records import Capacity, ClusterEvent, Run, Sighting, StageRecord
from roundhouse.build.sightings import about, collect
from roundhouse.build.spec import ClusterSpec, DiscountKind
from roundhouse.build.staging import StepKind
from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.state import Cluster, NodeStatus
from roundhouse.ports import Outbox, Surroundings
from roundhouse.steps import evidence, words
from roundhouse.steps.creation import own
from roundhouse.steps.creation.plan import wanted
from roundhouse.steps.creation.site import Site

EVENTS_BEFORE = timedelta(minutes=2)  # clocks differ
# What the reasons of `build.progress` say while a stage is in trouble, and what people should know about it.
TROUBLE = {StageState.SHORTAGE: "no capacity", StageState.LIFECYCLE: "lifecycle script"}
ADVICE = {
    StageState.SHORTAGE: "no capacity at the moment; HyperPod goes on trying",
    StageState.LIFECYCLE: "a lifecycle script fails; HyperPod tries again, and every attempt is billed: read its log",
}


def watch(run_id: str, site: Site, surroundings: Surroundings, outbox: Outbox) -> dict[str, Any]:
    """One look at the stage under way: `{status, reason, wait_s, …}` with status

    `wait` (on its way, or evidence still due) · `verified` (go and plan what comes next) · `lost` or `unknown` (stop
    the ramp and ask) · `gave_up` (the stage ran out of time).
    """
    spec, now = site.spec, site.now
    run = site.owned(run_id)
    cluster = site.made_by(run)
    step = wanted(run, cluster, site)
    if cluster is None or step.kind not in {StepKind.WAIT_STAGE, StepKind.VERIFY}:
        return {"status": "verified", "reason": step.reason, "wait_s": spec.waits.poll_s}
    assert step.group is not None
    assert step.stage is not None
    known = run.record(step.group, step.stage) or StageRecord(step.group, step.stage, step.target, now)
    record = known
    events: Sequence[ClusterEvent] = ()
    if cluster.continuous:  # a legacy cluster has none
        events = site.reader.events(spec.cluster, after=record.started_at - EVENTS_BEFORE)
    # A new run has its own patience: what kept the one before waiting may have been mended.
    since = max(record.started_at, run.started_at)
    progress = judge(spec, step.group, step.target, cluster, events=events, started_at=since, now=now)
    ready = progress.state is StageState.READY
    running_at = record.running_at or (now if ready else None)
    record = replace(record, target=step.target, running_at=running_at)
    sightings = collect(run.sightings, events, run.proven)
    group = spec.group(step.group)
    found = verdict(
        spec,
        step.group,
        step.target,
        cluster=cluster,
        facts=evidence.facts(run, group, running_at, sightings, surroundings, spec, now),
        now=now,
    )
    status, reason = _status(progress, found, run, now)
    judged = found.verdict.value if status in {"verified", "lost", "unknown"} else ""
    if run.accepted_loss and status == "verified" and found.verdict is not Verdict.VERIFIED:
        judged = "ACCEPTED"
    if status == "wait" and known.verdict == "LOST":
        judged = "LOST"  # until it is judged otherwise: nothing is added meanwhile
    record = replace(record, verdict=judged, reason=found.reason if ready or status == "lost" else progress.reason)

    def write(current: Run) -> Run:
        kept = tuple(r for r in current.stages if (r.group, r.stage) != (record.group, record.stage))
        proven = {*current.proven, *(found.instances if judged == "VERIFIED" else ())}
        moved = replace(
            current,
            stages=(*kept, record),
            sightings=collect(sightings, (), proven),
            proven=tuple(sorted(proven)),
            capacity=capacity_counts(spec, cluster, sightings, current),
        )
        return own.at(moved, now, workers_running(spec, cluster), reason)

    # Told before it is written: a process that dies in between tells it again, under the same id.
    _tell_trouble(outbox, run, known, record, progress)
    site.update(run_id, write)
    if status == "verified":
        _tell_verified(outbox, run, record, found)
    return {
        "status": status,
        "reason": reason,
        "wait_s": spec.waits.bill_poll_s if status == "wait" and ready and found.waits_for_bill else spec.waits.poll_s,
        "group": step.group,
        "stage": step.stage,
        "target": step.target,
        "verdict": found.verdict.value,
        "running": progress.running,
    }


def _status(progress: StageProgress, found: DiscountVerdict, run: Run, now: datetime) -> tuple[str, str]:
    """What the workflow does next. A lost discount is acted on before the stage is full: every node costs.

    Once people have accepted the price, the discount no longer stops anything.
    """
    if run.accepted_loss and progress.state is StageState.READY:
        return "verified", found.reason
    if run.accepted_loss and progress.state is not StageState.GAVE_UP:
        return "wait", progress.reason
    if found.verdict is Verdict.LOST:
        return "lost", found.reason
    if progress.state is StageState.GAVE_UP:
        return "gave_up", progress.reason
    if progress.state is not StageState.READY:
        return "wait", progress.reason
    if found.verdict is Verdict.VERIFIED:
        return "verified", found.reason
    if found.wait_until is not None and now < found.wait_until:
        return "wait", found.reason
    return "unknown", found.reason


def workers_running(spec: ClusterSpec, cluster: Cluster) -> int:
    """Running nodes of all Compute groups."""
    return sum(cluster.running(group.name) for group in spec.groups if group.role == "Compute")


def capacity_counts(spec: ClusterSpec, cluster: Cluster, sightings: tuple[Sighting, ...], run: Run) -> dict[str, int]:
    """Running nodes of discounted groups by where their capacity came from, as events told: reserved, on_demand,
    unknown. Nodes of groups without a discount are on_demand."""
    counts: Counter[str] = Counter()
    proven = set(run.proven)
    for node in cluster.nodes:
        if node.status is not NodeStatus.RUNNING:
            continue
        if spec.group(node.group).discount.kind is DiscountKind.NONE:
            counts["on_demand"] += 1
            continue
        mine = [s for s in sightings if about(s, node)]
        if node.instance_id in proven or (mine and mine[-1].capacity is Capacity.RESERVED):
            counts["reserved"] += 1
        elif mine:
            counts["on_demand"] += 1
        else:
            counts["unknown"] += 1
    return dict(counts)


def _tell_trouble(outbox: Outbox, run: Run, before: StageRecord, record: StageRecord, progress: StageProgress) -> None:
    """A shortage, or scripts that fail: told once a stage, when it is first seen."""
    said = TROUBLE.get(progress.state)
    if said is None or said in before.reason:
        return
    name, stage, target = record.group, record.stage, record.target
    outbox.tell(
        words.run_notice(
            run,
            NoticeKind.RUN_PROGRESS,
            f"{progress.state.value}-{name}-{stage}-{target}",
            f"Stage {stage + 1} of {name}: {ADVICE[progress.state]}",
            progress.reason,
        )
    )


def _tell_verified(outbox: Outbox, run: Run, record: StageRecord, found: DiscountVerdict) -> None:
    outbox.tell(
        words.run_notice(
            run,
            NoticeKind.RUN_PROGRESS,
            f"verified-{record.group}-{record.stage}-{record.target}",
            f"Stage {record.stage + 1} of {record.group}: {record.target} Running, discount {found.verdict.value}",
            found.reason,
        )
    )
