"""Progress of a stage: is it filling, short of capacity, failing its scripts, or to be given up? Pure.

Nodes are counted by status Running, never by the cluster's status or CurrentCount. Continuous provisioning retries
for ever, so giving up is decided here, by limits from the environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from roundhouse.build.records import ClusterEvent
from roundhouse.build.spec import ClusterSpec
from roundhouse.line.state import Cluster, NodeStatus

TWINS_WITHIN = timedelta(seconds=5)  # one failure makes two Error events about a second apart


class FailureKind(StrEnum):
    """Kinds of failed launches, by what helps against them."""

    CAPACITY = "capacity"  # nobody can make instances appear; for a reserved group the AZ or the ARN is wrong
    NETWORK = "network"  # EFA check: often passes at the next attempt, else the security group is wrong
    LIFECYCLE = "lifecycle"  # our scripts; each attempt is billed
    OTHER = "other"


class StageState(StrEnum):
    """Where a stage stands."""

    READY = "ready"
    IN_PROGRESS = "in_progress"
    SHORTAGE = "shortage"
    LIFECYCLE = "lifecycle"
    GAVE_UP = "gave_up"


@dataclass(frozen=True, slots=True)
class StageProgress:
    """Counts of one stage. `failures` counts failed launches by kind since the stage began, twins once."""

    state: StageState
    running: int
    pending: int
    target: int
    failures: dict[str, int]
    reason: str


def failure_kind(event: ClusterEvent) -> FailureKind | None:
    """What kind of failed launch an event tells of; None when it tells of none.

    Texts are from AWS's event reference and error messages. An Error without a message is OTHER, not capacity.
    """
    kind = kind_of_text(f"{event.description} {event.failure}")
    if event.lifecycle_state == "Failed":
        return FailureKind.LIFECYCLE
    if kind in {FailureKind.LIFECYCLE, FailureKind.CAPACITY}:
        return kind
    if event.level != "Error":
        return None
    if kind is FailureKind.NETWORK or event.resource_type != "Cluster":
        return kind
    return None


def kind_of_text(text: str) -> FailureKind:
    """What kind of failure HyperPod's words tell of; OTHER when they say nothing that we know."""
    text = text.lower()
    if "lifecycle script" in text and ("fail" in text or "did not run" in text):
        return FailureKind.LIFECYCLE
    if "sufficient capacity" in text or "insufficientinstancecapacity" in text:
        return FailureKind.CAPACITY
    if "efa health check" in text:
        return FailureKind.NETWORK
    return FailureKind.OTHER


def failed_launches(events: Iterable[ClusterEvent]) -> list[tuple[FailureKind, ClusterEvent]]:
    """Failed launches, oldest first, each once: of the two events of one failure the one that says more is kept."""
    kept: list[tuple[FailureKind, ClusterEvent]] = []
    for event in sorted(events, key=lambda e: (e.at, e.event_id)):
        kind = failure_kind(event)
        if kind is None:
            continue
        twin = next((n for n in range(len(kept) - 1, -1, -1) if _twins(kept[n][1], event)), None)
        if twin is None:
            kept.append((kind, event))
        elif kept[twin][0] is FailureKind.OTHER:
            kept[twin] = (kind, event)
    return kept


def _twins(one: ClusterEvent, other: ClusterEvent) -> bool:
    if one.event_id == other.event_id:
        return True
    if one.group != other.group or abs(other.at - one.at) > TWINS_WITHIN:
        return False
    pairs = ((one.instance_id, other.instance_id), (one.logical_id, other.logical_id))
    known = [a == b for a, b in pairs if a and b]
    return all(known) if known else True


def judge(
    spec: ClusterSpec,
    group: str,
    target: int,
    cluster: Cluster,
    *,
    events: Sequence[ClusterEvent],
    started_at: datetime,
    now: datetime,
) -> StageProgress:
    """How far the stage of `group` is that began at `started_at` and wants `target` Running nodes.

    `events` may hold those of other groups and older ones; they are left out. A shortage stretches the patience to
    `shortage_timeout_s`; a script that fails over and over on one node ends it early.
    """
    running = cluster.running(group)
    pending = sum(1 for node in cluster.nodes if node.group == group and node.status is NodeStatus.PENDING)
    failures = [(k, e) for k, e in failed_launches(events) if e.at >= started_at and e.group in {group, None}]
    counts: dict[str, int] = {}
    for kind, _ in failures:
        counts[kind.value] = counts.get(kind.value, 0) + 1

    def progress(state: StageState, reason: str) -> StageProgress:
        return StageProgress(state, running, pending, target, counts, reason)

    if running >= target:
        return progress(StageState.READY, f"{running} of {target} Running")
    waits, elapsed = spec.waits, (now - started_at).total_seconds()
    newest = failures[-1][0] if failures else None
    worst = _most_failed_scripts(failures)
    if worst >= waits.lifecycle_failures_max:
        return progress(
            StageState.GAVE_UP,
            f"the lifecycle script failed {worst} times on one node of {group}, and every attempt is billed: "
            "read its log, correct the script, start again",
        )
    short = newest is FailureKind.CAPACITY
    patience = max(waits.stage_timeout_s, waits.shortage_timeout_s) if short else waits.stage_timeout_s
    if elapsed > patience:
        why = _gave_up_because(newest)
        return progress(StageState.GAVE_UP, f"{running} of {target} Running after {elapsed:.0f} s: {why}")
    if short:
        return progress(StageState.SHORTAGE, f"{running} of {target} Running, no capacity for more at the moment")
    if newest is FailureKind.LIFECYCLE:
        return progress(StageState.LIFECYCLE, f"{running} of {target} Running, a lifecycle script fails and is retried")
    return progress(StageState.IN_PROGRESS, f"{running} of {target} Running, {pending} on their way")


def judge_controller(spec: ClusterSpec, cluster: Cluster, started_at: datetime, now: datetime) -> StageProgress:
    """The same for the controller, without which nothing else starts. Failed is for good: HyperPod does not retry."""
    group = next(g for g in spec.groups if g.role == "Controller")
    running = cluster.running(group.name)
    pending = sum(1 for node in cluster.nodes if node.group == group.name and node.status is NodeStatus.PENDING)

    def progress(state: StageState, reason: str) -> StageProgress:
        return StageProgress(state, running, pending, group.count, {}, reason)

    if cluster.status in {"Failed", "RollingBack"}:
        return progress(StageState.GAVE_UP, f"the cluster is {cluster.status}: delete it, then create it again")
    if running >= 1 and cluster.status == "InService":
        return progress(StageState.READY, "the controller is Running")
    elapsed = (now - started_at).total_seconds()
    if elapsed > spec.waits.controller_timeout_s:
        return progress(StageState.GAVE_UP, f"no controller after {elapsed:.0f} s; the cluster is {cluster.status}")
    return progress(StageState.IN_PROGRESS, f"waiting for the controller; the cluster is {cluster.status}")


def _most_failed_scripts(failures: Sequence[tuple[FailureKind, ClusterEvent]]) -> int:
    """How often the unluckiest node failed its script.

    Logical ids tell nodes apart, for each attempt is a new instance; failures that name none are not taken together.
    """
    counts: dict[str, int] = {}
    for kind, event in failures:
        if kind is FailureKind.LIFECYCLE:
            key = event.logical_id or event.instance_id or event.event_id
            counts[key] = counts.get(key, 0) + 1
    return max(counts.values(), default=0)


def _gave_up_because(newest: FailureKind | None) -> str:
    match newest:
        case FailureKind.CAPACITY:
            return "no capacity. For a reserved group compare the AZ ids of subnet and plan; retrying does not help"
        case FailureKind.NETWORK:
            return "EFA checks fail. The security group must allow all traffic from and to itself"
        case FailureKind.LIFECYCLE:
            return "lifecycle scripts fail. Read their log in the cluster's log group"
        case FailureKind.OTHER:
            return "launches fail. Read the cluster's events"
        case None:
            return "no failure was reported. Ask AWS Support, with the cluster's ARN"
