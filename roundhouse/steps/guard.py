"""The breaker as a guard that is shared by all executions: read, judge, write back, tell people once. Ports only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import AwsFailure, ConditionFailed, RoundhouseError, StoreFailure
from roundhouse.line import breaker
from roundhouse.line.breaker import Admission, BreakerEntry, BreakerState, BreakerStatus
from roundhouse.line.decision import compute_targets
from roundhouse.line.incident import Incident
from roundhouse.line.policy import Policy
from roundhouse.line.state import Cluster
from roundhouse.ports import BreakerStore, Outbox
from roundhouse.steps.revise import TRIES
from roundhouse.steps.words import breaker_thread

Judge = Callable[[BreakerState], tuple[Admission, BreakerState]]


def load(store: BreakerStore, cluster: str) -> BreakerState | None:
    """The breaker's state; None when it cannot be read, and that stops action."""
    try:
        return store.load(cluster)
    except RoundhouseError:
        return None


def admit(
    store: BreakerStore, outbox: Outbox, policy: Policy, entry: BreakerEntry, cluster: Cluster | None, now: datetime
) -> Admission:
    """Ask before an action; counted when allowed. One that cannot be asked refuses: no answer is no permission."""
    group, everyone = targets(cluster, entry.group)
    try:
        return _judge(
            store, outbox, policy, lambda state: breaker.admit(state, entry, policy.breaker, group, everyone, now)
        )
    except (StoreFailure, AwsFailure) as failure:
        return Admission(False, f"the breaker could not be asked: {type(failure).__name__}: {failure}")


def note(
    store: BreakerStore, outbox: Outbox, policy: Policy, entry: BreakerEntry, cluster: Cluster | None, now: datetime
) -> Admission:
    """Count what happened without asking: a signal, a drain, a repair by HyperPod itself."""
    group, everyone = targets(cluster, entry.group)
    return _judge(store, outbox, policy, lambda state: breaker.note(state, entry, policy.breaker, group, everyone, now))


def note_all(
    store: BreakerStore,
    outbox: Outbox,
    policy: Policy,
    entries: Sequence[BreakerEntry],
    cluster: Cluster | None,
    now: datetime,
) -> Admission:
    """Count several at once, so that none of them is acted upon before all are counted. The answer to the last."""

    def judge(state: BreakerState) -> tuple[Admission, BreakerState]:
        admission = Admission(True, "nothing to count")
        for entry in entries:
            group, everyone = targets(cluster, entry.group)
            admission, state = breaker.note(state, entry, policy.breaker, group, everyone, now)
        return admission, state

    return _judge(store, outbox, policy, judge)


def open_if_refused(
    store: BreakerStore, outbox: Outbox, policy: Policy, entry: BreakerEntry, cluster: Cluster | None, now: datetime
) -> None:
    """A decision was held by the breaker's limits: let the store open it, and people be told. Counts no action."""
    group, everyone = targets(cluster, entry.group)

    def judge(state: BreakerState) -> tuple[Admission, BreakerState]:
        admission, after = breaker.admit(state, entry, policy.breaker, group, everyone, now)
        return admission, state if admission.allowed else after

    _judge(store, outbox, policy, judge)


def recovered(
    store: BreakerStore, outbox: Outbox, policy: Policy, incident: Incident, cluster: Cluster | None, now: datetime
) -> None:
    """What an incident was about is over. It may close the breaker; people are told then."""
    counts = compute_targets(cluster) if cluster else {}
    _change(
        store,
        outbox,
        policy,
        lambda state: breaker.recovered(
            state, incident.instance_id, policy.breaker, counts, now, cause=incident.cause.value
        ),
    )


def canary(store: BreakerStore, outbox: Outbox, policy: Policy, incident: Incident, ok: bool, now: datetime) -> None:
    """How the half-open breaker's canary came out, if it was a node of this incident; others change nothing."""
    tried = {attempt.instance_id for attempt in incident.attempts}
    mine = {incident.instance_id, incident.current_instance_id, *tried}

    def judge(state: BreakerState) -> BreakerState:
        return breaker.canary_result(state, ok, now) if state.canary in mine else state

    _change(store, outbox, policy, judge)


def targets(cluster: Cluster | None, group: str) -> tuple[int, int]:
    """(target of the group, of all compute groups); 0 when unknown, which leaves one node to every percentage."""
    counts = compute_targets(cluster) if cluster else {}
    return counts.get(group, 0), sum(counts.values())


def _judge(store: BreakerStore, outbox: Outbox, policy: Policy, judge: Judge) -> Admission:
    for _ in range(TRIES):
        before = store.load(policy.cluster)
        admission, after = judge(before)
        try:
            saved = _save(store, policy.cluster, before, after)
        except ConditionFailed:
            continue
        _announce(store, outbox, policy, saved)
        return admission
    raise ConditionFailed(f"the breaker of {policy.cluster} is changing too fast: lost {TRIES} races in a row")


def _change(
    store: BreakerStore, outbox: Outbox, policy: Policy, change: Callable[[BreakerState], BreakerState]
) -> None:
    _judge(store, outbox, policy, lambda state: (Admission(True, ""), change(state)))


def _save(store: BreakerStore, cluster: str, before: BreakerState, after: BreakerState) -> BreakerState:
    if after is before:
        return before
    if before.status is not BreakerStatus.CLOSED and after.status is BreakerStatus.CLOSED:
        after = replace(after, announced=before.announced)  # who was told of the opening is still to be told of its end
    return store.save(cluster, after)


def _announce(store: BreakerStore, outbox: Outbox, policy: Policy, state: BreakerState) -> None:
    """One message an opening and one a closing: `announced` says whether people believe it to be open.

    It is written after the message is queued: a crash between the two queues it again under the same id, and the
    outbox posts an id once.
    """
    is_open = state.status is BreakerStatus.OPEN
    if state.status is BreakerStatus.HALF_OPEN or is_open == state.announced:
        return
    outbox.tell(_opened(policy, state) if is_open else _closed(policy, state))
    with suppress(ConditionFailed):  # whoever was faster sees it still unsaid, and says it under the same id
        store.save(policy.cluster, replace(state, announced=is_open))


def _opened(policy: Policy, state: BreakerState) -> Notice:
    since = state.since.isoformat() if state.since else ""
    signals = len({entry.instance_id for entry in state.entries if entry.kind == "signal"})
    return Notice(
        notice_id=f"breaker-opened:{policy.cluster}:{since}",
        thread=breaker_thread(policy.cluster),
        kind=NoticeKind.BREAKER_OPENED,
        title=f"Breaker of {policy.cluster} is open: no node is touched",
        text=state.reason,
        facts={
            "Nodes in trouble": str(signals),
            "Now": "Nothing is drained, rebooted, replaced or deleted. Nodes that recover are let pass.",
            "Look at": "network, storage, the controller, and what was changed in the last hour",
            "After": f"{policy.breaker.open_s // 60} min one node is repaired as a canary",
        },
        broadcast=True,
    )


def _closed(policy: Policy, state: BreakerState) -> Notice:
    closed = state.since.isoformat() if state.since else ""
    return Notice(
        notice_id=f"breaker-closed:{policy.cluster}:{closed}",
        thread=breaker_thread(policy.cluster),
        kind=NoticeKind.BREAKER_CLOSED,
        title=f"Breaker of {policy.cluster} is closed again",
        text="The nodes recovered, or a canary came back proved.",
        broadcast=True,
    )
