"""Action: from a decision to a ledger claim, and from an answer, or a lost one, to what it means. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from roundhouse.contracts.ledger import LedgerEntry, LedgerState, action_id
from roundhouse.line.breaker import BreakerEntry
from roundhouse.line.decision import Decision
from roundhouse.line.incident import Incident
from roundhouse.line.ladder import Rung
from roundhouse.line.state import Cluster, NodeStatus

SHOWS_EFFECT_S = 600  # how long an unchanged node is watched before a lost call may be repeated
REPAIR = "repair"  # name of the step from the call until the node is back


class Result(StrEnum):
    """What became of a call."""

    ACCEPTED = "accepted"  # watch the node
    IN_HAND = "in_hand"  # somebody else is at it: watch the node all the same
    GONE = "gone"  # no such instance any more: superseded
    RETRY = "retry"  # HyperPod had an inner fault and did nothing: again, under the next attempt
    HUMAN = "human"  # refused for good: people
    UNKNOWN = "unknown"  # the answer was lost, or does not mention the node: live state will tell


@dataclass(frozen=True, slots=True)
class Called:
    """`entry` is the ledger entry to store, `result` what to do next, `reason` why in words."""

    result: Result
    entry: LedgerEntry
    reason: str


class Effect(StrEnum):
    """What live state says about a call whose answer was lost."""

    TOOK = "took"  # it happened
    NOT_YET = "not_yet"  # unchanged, but it may still come: look again
    MAY_REPEAT = "may_repeat"  # unchanged for long enough: call again, under the next attempt
    UNKNOWN = "unknown"  # live state could not be read


_IN_HAND = frozenset({"InstanceIdInUse", "NodeIdInUse", "InvalidInstanceStatus", "InvalidNodeStatus"})
_GONE = frozenset({"InstanceIdNotFound", "NodeIdNotFound"})


def claim(decision: Decision, incident: Incident, now: datetime, attempt: int) -> LedgerEntry:
    """The claim of a decided action, to be put before the call. The same decision always claims the same id."""
    return LedgerEntry(
        action_id=action_id(incident.incident_id, decision.rung.value, decision.instance_id, attempt),
        cluster=incident.cluster,
        kind=decision.rung.value,
        subject=decision.instance_id,
        incident_id=incident.incident_id,
        state=LedgerState.CLAIMED,
        claimed_at=now,
        updated_at=now,
        group=incident.group,
        logical_id=incident.logical_id,
        detail=decision.reason[:500],
    )


def attempt_number(entries: Collection[LedgerEntry], incident: Incident, rung: Rung, instance_id: str) -> int:
    """The attempt that a claim belongs to: the newest one that is still open, or one more than those that ended.

    `entries` are ledger entries of the cluster, in any order. CONFIRMED and FAILED have ended.
    """
    prefix = action_id(incident.incident_id, rung.value, instance_id, 0).removesuffix("0")
    mine = [entry for entry in entries if entry.action_id.startswith(prefix)]
    ended = sum(entry.state in {LedgerState.CONFIRMED, LedgerState.FAILED} for entry in mine)
    return ended + 1


def read_answer(
    entry: LedgerEntry, accepted: Collection[str], failed: Mapping[str, tuple[str, str]], role: str, now: datetime
) -> Called:
    """What a Batch* answer means for this entry's node. `failed` is id → (code, message); `role` is its group's."""
    if entry.subject in accepted:
        return Called(Result.ACCEPTED, _moved(entry, LedgerState.CALLED, "accepted", now), "HyperPod accepted it")
    if entry.subject not in failed:
        reason = "the answer does not mention the node: live state will tell"
        return Called(Result.UNKNOWN, _moved(entry, LedgerState.UNKNOWN, reason, now), reason)
    code, message = failed[entry.subject]
    words = f"{code}: {message}"
    if role == "Controller":
        result, reason = Result.HUMAN, f"the controller can be neither replaced nor deleted ({words})"
    elif code in _IN_HAND:
        result, reason = Result.IN_HAND, f"already in hand ({words})"
    elif code in _GONE:
        result, reason = Result.GONE, f"that instance is gone ({words})"
    elif code == "InternalServerError":
        result, reason = Result.RETRY, f"HyperPod failed inside and did nothing ({words})"
    else:
        result, reason = Result.HUMAN, f"refused for a reason that we do not know ({words})"
    return Called(result, _moved(entry, LedgerState.FAILED, words, now), reason)


def lost(entry: LedgerEntry, why: str, now: datetime) -> Called:
    """The answer was lost (time-out, 5xx): the call may have taken effect."""
    reason = f"the answer was lost ({why}): live state will tell"
    return Called(Result.UNKNOWN, _moved(entry, LedgerState.UNKNOWN, reason, now), reason)


def judge_lost(entry: LedgerEntry, cluster: Cluster | None, now: datetime, after_s: int) -> tuple[Effect, str]:
    """Did a claimed, called or unknown action take effect? By live state alone.

    `after_s` is how long an unchanged node is watched before the call may be repeated. An instance that is gone,
    on its way, or replaced behind its logical id has taken the action (or somebody else's, which is as good).
    """
    if cluster is None or not cluster.nodes:
        return Effect.UNKNOWN, "HyperPod could not be read"
    node = cluster.by_instance(entry.subject)
    if node is None:
        heir = cluster.by_logical(entry.logical_id) if entry.logical_id else None
        other = f": {heir.instance_id} stands in its place" if heir and heir.instance_id else ""
        return Effect.TOOK, f"{entry.subject} is gone{other}"
    if node.status in {NodeStatus.PENDING, NodeStatus.SHUTTING_DOWN, NodeStatus.DEEP_HEALTH_CHECK}:
        return Effect.TOOK, f"{entry.subject} is {node.status}"
    waited = (now - entry.updated_at) / timedelta(seconds=1)
    if waited < after_s:
        return (
            Effect.NOT_YET,
            f"{entry.subject} is still {node.status}; {round(after_s - waited)} s more to show an effect",
        )
    return Effect.MAY_REPEAT, f"{entry.subject} is still {node.status} after {round(waited)} s: nothing happened"


def confirmed(entry: LedgerEntry, why: str, now: datetime) -> LedgerEntry:
    """Live state shows the effect."""
    return _moved(entry, LedgerState.CONFIRMED, why, now)


def ended_without_effect(entry: LedgerEntry, why: str, now: datetime) -> LedgerEntry:
    """Live state shows that nothing happened (MAY_REPEAT): the attempt has ended, the next one may be claimed."""
    return _moved(entry, LedgerState.FAILED, why, now)


def signal(incident: Incident, now: datetime) -> BreakerEntry:
    """What the systemic detector counts when an incident opens (`breaker.note`)."""
    return BreakerEntry(now, "signal", incident.instance_id, incident.group or "", incident.cause.value)


def counted(incident: Incident, kind: str, instance_id: str, now: datetime) -> BreakerEntry:
    """What the breaker counts: `kind` is a rung's value, `drain`, or `theirs` for a repair of HyperPod's own."""
    return BreakerEntry(now, kind, instance_id, incident.group or "", incident.cause.value)


def _moved(entry: LedgerEntry, state: LedgerState, detail: str, now: datetime) -> LedgerEntry:
    return replace(entry, state=state, detail=detail[:500], updated_at=now)
