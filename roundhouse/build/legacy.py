"""Legacy provisioning: absolute counts, all or nothing, one operation at a time. Pure: no clock, no I/O.

UpdateCluster sets a group's count. A number below the live one kills nodes that HyperPod picks at random, so every
number here starts from the live count, and where live state does not agree with itself there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from roundhouse.build.progress import FailureKind, kind_of_text
from roundhouse.build.spec import StageWaits
from roundhouse.contracts.ledger import LedgerEntry, LedgerState
from roundhouse.line.state import Cluster, NodeStatus

LEGACY = "legacy"
SHOWS_WITHIN = timedelta(minutes=5)  # an accepted update is seen by then: the status, or the count
RETRY_AFTER = timedelta(minutes=10)  # between two tries while there is no capacity
TRIES = 3  # of an update that fails for another reason than capacity, or shows no effect
BUSY = frozenset({"Creating", "Updating", "RollingBack", "SystemUpdating", "Deleting"})
ROLLED_BACK, NO_EFFECT, REFUSED = "rolled back: ", "no effect: ", "refused: "
"""How the ledger's words about an update that failed begin."""

_COUNTED = frozenset({NodeStatus.RUNNING, NodeStatus.PENDING, NodeStatus.DEEP_HEALTH_CHECK, NodeStatus.FAILURE})


@dataclass(frozen=True, slots=True)
class LiveCount:
    """A group's count as live state has it. `problem` says why no absolute number may be made from it now, or ""."""

    count: int
    problem: str = ""


def live_count(cluster: Cluster, group: str) -> LiveCount:
    """The count below which nothing may go: the largest of CurrentCount, TargetCount and listed nodes.

    A group that is not there, that is not InService, whose counts and list disagree, or that has a node in a state that
    counts cannot be trusted in (going, being patched, unknown) has a problem: read again later.
    """
    known = cluster.groups.get(group)
    if known is None:
        return LiveCount(0, f"there is no group {group} in {cluster.name}")
    nodes = [node for node in cluster.nodes if node.group == group]
    count = max(known.current, known.target, len(nodes))
    if cluster.status != "InService":
        return LiveCount(count, f"the cluster is {cluster.status}")
    if known.status not in {"InService", ""}:
        return LiveCount(count, f"group {group} is {known.status}")
    odd = sorted({node.status.value for node in nodes if node.status not in _COUNTED})
    if odd:
        return LiveCount(count, f"group {group} has nodes that are {', '.join(odd)}")
    if not known.current == known.target == len(nodes):
        counts = f"CurrentCount {known.current}, TargetCount {known.target}, {len(nodes)} nodes listed"
        return LiveCount(count, f"the counts of group {group} disagree: {counts}")
    return LiveCount(count)


class Progress(StrEnum):
    """Where an update stands by live state."""

    UNDER_WAY = "under_way"
    NOT_YET = "not_yet"  # it may still show: look again
    DONE = "done"
    ROLLED_BACK = "rolled_back"  # one node failed, and HyperPod undid all of it
    NOTHING = "nothing"  # it shows no effect and will not any more


FINAL = frozenset({Progress.DONE, Progress.ROLLED_BACK, Progress.NOTHING})


def judge_update(entry: LedgerEntry, cluster: Cluster | None, now: datetime) -> tuple[Progress, str]:
    """What became of an UpdateCluster call, whether it was answered or not, and why, in words.

    While the cluster is busy the call is never made again. A count that went back is known by the FailureMessage; it
    counts only after SHOWS_WITHIN, for until then it may be that of an earlier operation.
    """
    if cluster is None:
        return Progress.NOTHING, "the cluster is gone"
    if cluster.status in BUSY:
        return Progress.UNDER_WAY, f"the cluster is {cluster.status}: {entry.detail}"
    group = cluster.groups.get(entry.group or "")
    if group is None:
        return Progress.NOTHING, f"group {entry.group} is gone"
    if entry.to_count is not None and group.target >= entry.to_count:
        return Progress.DONE, f"{group.name} has target {group.target}"
    if now - entry.claimed_at < SHOWS_WITHIN:
        return Progress.NOT_YET, f"{group.name} still has target {group.target}: the update may still show"
    if cluster.failure:
        return Progress.ROLLED_BACK, cluster.failure
    return Progress.NOTHING, f"{group.name} has target {group.target}, and no failure is told"


class Next(StrEnum):
    """What comes after updates that failed."""

    GO = "go"
    WAIT = "wait"
    STOP = "stop"  # people


@dataclass(frozen=True, slots=True)
class Retry:
    """Whether an update is tried again, why, and when (seconds; 0: now)."""

    next: Next
    reason: str = ""
    wait_s: int = 0


def retry(tries: Sequence[LedgerEntry], waits: StageWaits, now: datetime, log_group: str) -> Retry:
    """What comes after `tries` of the same update by this run, oldest first.

    One node that fails undoes the whole update. No capacity: it is tried again until `shortage_timeout_s`. A lifecycle
    script that failed will fail again, and every try is billed: people, at once. Anything else: TRIES times.
    """
    failed = [each for each in tries if each.state is LedgerState.FAILED and not each.detail.startswith(REFUSED)]
    if not failed or tries[-1].state is not LedgerState.FAILED:
        return Retry(Next.GO)
    newest = failed[-1]
    kind = failure_of(newest)
    if kind is FailureKind.LIFECYCLE:
        reason = "a lifecycle script failed on one node, and HyperPod undid the whole update"
        return Retry(Next.STOP, f"{reason}: read its log in {log_group}, correct it, start again ({newest.detail})")
    if kind is FailureKind.CAPACITY:
        begun = min(each.claimed_at for each in failed if failure_of(each) is FailureKind.CAPACITY)
        if now - begun > timedelta(seconds=waits.shortage_timeout_s):
            advice = "for a reserved group compare the AZ ids of subnet and plan; smaller stages need less at once"
            return Retry(Next.STOP, f"no capacity since {begun:%Y-%m-%d %H:%M} UTC: {advice} ({newest.detail})")
    elif len(failed) >= TRIES:
        return Retry(Next.STOP, f"the update failed {len(failed)} times: {newest.detail}; logs are in {log_group}")
    left = newest.updated_at + RETRY_AFTER - now
    if left > timedelta():
        said = "no capacity at the moment" if kind is FailureKind.CAPACITY else "the update failed"
        return Retry(Next.WAIT, f"{said}, it is tried again: {newest.detail}", max(1, round(left.total_seconds())))
    return Retry(Next.GO)


def failure_of(entry: LedgerEntry) -> FailureKind:
    """What kind of failure undid an update, by the FailureMessage that the ledger keeps."""
    return kind_of_text(entry.detail)
