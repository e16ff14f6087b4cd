"""Setting a legacy group's absolute count: lock, live count, ledger, one call, and what became of it. Ports only.

The one place from which UpdateCluster is called, for creations and repairs alike. In this order: the lock is taken and
what its former holder called is settled; live state is read under it; the lock names the coming call; the call is
claimed; the call is made. A process that dies in between, or is overtaken, leaves a record from which the next one
goes on; a process that was overtaken fails at one of its writes and never calls.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from roundhouse.build import legacy, lock
from roundhouse.build.legacy import Progress
from roundhouse.build.lock import ScaleLock
from roundhouse.build.settings import differences, group_settings
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.ledger import LedgerEntry, LedgerState, action_id
from roundhouse.errors import AwsFailure, ConditionFailed, Conflict, NotFound, Throttled, Unavailable
from roundhouse.ports import ClusterReader, ClusterWriter, Ledger, ScaleLocks
from roundhouse.steps.look import read


@dataclass(frozen=True, slots=True)
class Order:
    """A count that somebody wants: `owner` of the lock, `scope` and `subject` of the ledger's action ids, the group.

    `wanted` is what its count should be, given the live one; None when nothing is wanted any more."""

    owner: str
    scope: str
    subject: str
    group: str
    wanted: Callable[[int], int | None]
    why: str
    incident_id: str | None = None


@dataclass(frozen=True, slots=True)
class Busy:
    """Not now: `reason` says why. Nothing was called."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Not without people: `reason` says why. Nothing was called."""

    reason: str


@dataclass(frozen=True, slots=True)
class Enough:
    """The count is there already."""

    count: int


@dataclass(frozen=True, slots=True)
class Called:
    """HyperPod accepted it (or its answer was lost: the ledger says UNKNOWN)."""

    entry: LedgerEntry


@dataclass(frozen=True)
class Scaler:
    """The ports of a change of counts."""

    reader: ClusterReader
    writer: ClusterWriter
    ledger: Ledger
    locks: ScaleLocks
    spec: ClusterSpec
    now: datetime

    @property
    def _lease(self) -> timedelta:
        return lock.lease(self.spec.waits.poll_s)

    def tries(self, scope: str, subject: str) -> list[LedgerEntry]:
        """The ledger's entries of this update, oldest first, read one by one: its index lags behind."""
        found: list[LedgerEntry] = []
        while entry := self.ledger.get(action_id(scope, "update_cluster", subject, len(found) + 1)):
            found.append(entry)
        return found

    def settle(self, owner: str) -> ScaleLock | Busy:
        """Take the lock, and write down what became of the call of whoever held it.

        Busy while somebody else's lease runs, or while live state does not yet show how that call ended: also when the
        lease is over. The lock is `owner`'s after it, and names no call any more.
        """
        held = self.locks.get(self.spec.cluster)
        refused = lock.held_by_another(held, owner, self.now)
        if refused:
            return Busy(refused)
        entry = self.ledger.get(held.action_id) if held.action_id else None
        if entry is not None and entry.state not in {LedgerState.CONFIRMED, LedgerState.FAILED}:
            progress, why = legacy.judge_update(entry, read(self.reader, self.spec.cluster), self.now)
            if progress not in legacy.FINAL:
                if held.owner == owner:
                    self.locks.put(lock.renewed(held, self.now, self._lease))
                return Busy(why)
            held = self.locks.put(lock.taken(held, owner, self.now, self._lease))
            self._end(entry, progress, why)
        return self.locks.put(replace(lock.taken(held, owner, self.now, self._lease), action_id=None))

    def order(self, wanted: Order) -> Called | Enough | Busy | Refusal:
        """Settle, read live state, and call UpdateCluster if the count is to grow. The lock is kept by a call that was
        made, and given back otherwise. Throttled, AccessDenied and the like are raised after it is given back."""
        held = self.settle(wanted.owner)
        if isinstance(held, Busy):
            return held
        answer = self._judged(wanted)
        if not isinstance(answer, _Growth):
            self.release(held)
            return answer
        number = len(self.tries(wanted.scope, wanted.subject)) + 1
        identity = action_id(wanted.scope, "update_cluster", wanted.subject, number)
        held = self.locks.put(lock.calling(held, identity, self.now, self._lease))
        entry = self.ledger.put(self._claim(identity, wanted, answer, held))
        if self.locks.get(self.spec.cluster) != held:  # a slow process that was overtaken between two writes
            self._mark(entry, LedgerState.FAILED, f"{legacy.REFUSED}the lock was taken over")
            return Busy("the lock was taken over")
        try:
            self.writer.set_count(self.spec.cluster, wanted.group, answer.to, answer.settings)
        except Unavailable as lost:
            entry = self._mark(entry, LedgerState.UNKNOWN, f"{wanted.why}; the answer was lost ({lost})")
            return Called(entry)
        except AwsFailure as failure:
            self._mark(entry, LedgerState.FAILED, f"{legacy.REFUSED}{type(failure).__name__}: {failure}")
            self.release(held)
            if isinstance(failure, Conflict | NotFound | Throttled):
                return Busy(str(failure))
            raise
        return Called(self._mark(entry, LedgerState.CALLED, wanted.why))

    def release(self, held: ScaleLock) -> None:
        """Give the lock back, unless somebody has taken it over meanwhile."""
        with suppress(ConditionFailed):
            self.locks.put(lock.released(held))

    def give_back(self, owner: str) -> None:
        """Free the lock if `owner` still holds it, after everything that it called has been settled."""
        held = self.locks.get(self.spec.cluster)
        if held.owner == owner:
            self.release(held)

    def _judged(self, wanted: Order) -> _Growth | Enough | Busy | Refusal:
        """What live state, read under the lock, lets the order become."""
        cluster = read(self.reader, self.spec.cluster)
        if cluster is None:
            return Refusal(f"{self.spec.cluster} is gone")
        if cluster.continuous or self.spec.provisioning_mode != legacy.LEGACY:
            mode = "continuous" if cluster.continuous else legacy.LEGACY
            return Refusal(
                f"{self.spec.cluster} has {mode} provisioning, the environment says {self.spec.provisioning_mode}"
            )
        group = self.spec.group(wanted.group)
        live = legacy.live_count(cluster, group.name)
        if live.problem:
            return Busy(live.problem)
        settings = cluster.groups[group.name].settings
        unlike = differences(settings, group_settings(self.spec, group))
        if unlike:
            return Refusal(f"group {group.name} is not as the environment says: {'; '.join(unlike)}")
        to = wanted.wanted(live.count)
        if to is None or to <= live.count:
            return Enough(live.count)
        if to > group.count:
            return Refusal(f"{to} nodes of {group.name} would be above the contract's {group.count}")
        return _Growth(live.count, to, settings)

    def _claim(self, identity: str, wanted: Order, growth: _Growth, held: ScaleLock) -> LedgerEntry:
        return LedgerEntry(
            action_id=identity,
            cluster=self.spec.cluster,
            kind="update_cluster",
            subject=wanted.subject,
            incident_id=wanted.incident_id,
            state=LedgerState.CLAIMED,
            claimed_at=self.now,
            updated_at=self.now,
            group=wanted.group,
            detail=f"{wanted.why} (fence {held.fence})"[:500],
            count=growth.to - growth.live,
            from_count=growth.live,
            to_count=growth.to,
        )

    def _end(self, entry: LedgerEntry, progress: Progress, why: str) -> None:
        match progress:
            case Progress.DONE:
                self._mark(entry, LedgerState.CONFIRMED, why)
            case Progress.ROLLED_BACK:
                self._mark(entry, LedgerState.FAILED, legacy.ROLLED_BACK + why)
            case _:
                self._mark(entry, LedgerState.FAILED, legacy.NO_EFFECT + why)

    def _mark(self, entry: LedgerEntry, state: LedgerState, detail: str) -> LedgerEntry:
        return self.ledger.put(replace(entry, state=state, detail=detail[:500], updated_at=self.now))


@dataclass(frozen=True, slots=True)
class _Growth:
    live: int
    to: int
    settings: dict[str, object]
