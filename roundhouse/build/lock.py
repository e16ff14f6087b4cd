"""The lock on a legacy cluster's counts: one writer at a time. Pure; the record is kept by `ports.ScaleLocks`.

UpdateCluster takes absolute counts, so two writers that have read the same count undo each other, and HyperPod picks
the nodes that die for it. AWS refuses a second operation while one runs, but not a stale number after it. So a writer
holds this lock from before it reads the count until the operation it began is seen to have ended.

A lease that ran out is not enough to take the lock over: live state must show as well that nothing of the former
owner's is under way, which is why the lock names the ledger entry of its call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

LEAST_LEASE = timedelta(minutes=15)  # much longer than a Lambda may run: whoever called within it is dead when it ends


@dataclass(frozen=True, slots=True)
class ScaleLock:
    """`owner` is a run's or an incident's id, "" when free. `fence` grows with each taking, also by the same owner: a
    process that was overtaken cannot write the record any more, and so does not call. `action_id` is the ledger entry
    of the call that was made, or was about to be made, under the lock; None when nothing of it can be under way."""

    cluster: str
    owner: str = ""
    fence: int = 0
    taken_at: datetime | None = None
    expires_at: datetime | None = None
    action_id: str | None = None
    version: int = 0


def lease(poll_s: int) -> timedelta:
    """How long a holder keeps the lock without another look: three looks, and never less than LEAST_LEASE."""
    return max(LEAST_LEASE, timedelta(seconds=3 * poll_s))


def held_by_another(lock: ScaleLock, owner: str, now: datetime) -> str:
    """Why `owner` may not take the lock now as far as the record tells, or ""."""
    if lock.owner in {"", owner} or lock.expires_at is None or now >= lock.expires_at:
        return ""
    return f"{lock.owner} changes the count of {lock.cluster}, until {lock.expires_at:%H:%M:%S} UTC at the latest"


def taken(lock: ScaleLock, owner: str, now: datetime, lasts: timedelta) -> ScaleLock:
    """The lock in `owner`'s hands. What the former holder called stays named until it is settled."""
    return replace(lock, owner=owner, fence=lock.fence + 1, taken_at=now, expires_at=now + lasts)


def calling(lock: ScaleLock, action_id: str, now: datetime, lasts: timedelta) -> ScaleLock:
    """The lock of a holder that is about to make the call of that ledger entry."""
    return replace(lock, action_id=action_id, expires_at=now + lasts)


def renewed(lock: ScaleLock, now: datetime, lasts: timedelta) -> ScaleLock:
    """The lock of a holder whose operation is still under way."""
    return replace(lock, expires_at=now + lasts)


def released(lock: ScaleLock) -> ScaleLock:
    """The free lock: nothing of its last holder is under way."""
    return replace(lock, owner="", taken_at=None, expires_at=None, action_id=None)
