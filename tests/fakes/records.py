"""Stores in memory, with the optimistic lock of the real ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Generic, TypeVar

from roundhouse.build.lock import ScaleLock
from roundhouse.build.rehearsal import Rehearsal, Result
from roundhouse.contracts.ledger import LedgerEntry
from roundhouse.errors import ConditionFailed, RoundhouseError
from roundhouse.line.breaker import BreakerState
from roundhouse.line.incident import Incident
from roundhouse.line.state import SlurmSnapshot
from roundhouse.ports import Pause, Run

T = TypeVar("T")


class Memory(Generic[T]):
    """Versioned records. `fail_next` makes the next access raise; `writes` counts what was stored."""

    def __init__(self) -> None:
        self.records: dict[str, T] = {}
        self.writes = 0
        self._failures: list[RoundhouseError] = []

    def fail_next(self, error: RoundhouseError) -> None:
        self._failures.append(error)

    def read(self, key: str) -> T | None:
        self._stumble()
        return self.records.get(key)

    def write(self, key: str, record: T) -> T:
        self._stumble()
        new: Any = record
        held: Any = self.records.get(key)
        stored = held.version if held is not None else 0
        if stored != new.version:
            raise ConditionFailed(f"{key} is at version {stored}, not {new.version}")
        written: T = replace(new, version=new.version + 1)
        self.records[key] = written
        self.writes += 1
        return written

    def _stumble(self) -> None:
        if self._failures:
            raise self._failures.pop(0)


class FakeIncidents(Memory[Incident]):
    """`ports.IncidentStore`."""

    def get(self, incident_id: str) -> Incident | None:
        return self.read(incident_id)

    def put(self, incident: Incident) -> Incident:
        return self.write(incident.incident_id, incident)

    def of_cluster(self, cluster: str, since: datetime) -> Sequence[Incident]:
        self._stumble()
        found = [i for i in self.records.values() if i.cluster == cluster and i.opened_at >= since]
        return sorted(found, key=lambda i: i.opened_at)


class FakeLedger(Memory[LedgerEntry]):
    """`ports.Ledger`."""

    def get(self, action_id: str) -> LedgerEntry | None:
        return self.read(action_id)

    def put(self, entry: LedgerEntry) -> LedgerEntry:
        return self.write(entry.action_id, entry)

    def of_cluster(self, cluster: str, since: datetime) -> Sequence[LedgerEntry]:
        self._stumble()
        found = [e for e in self.records.values() if e.cluster == cluster and e.claimed_at >= since]
        return sorted(found, key=lambda e: e.claimed_at)


class FakeRuns(Memory[Run]):
    """`ports.RunStore`."""

    def get(self, cluster: str) -> Run | None:
        return self.read(cluster)

    def put(self, run: Run) -> Run:
        return self.write(run.cluster, run)


class FakeRehearsals(Memory[Rehearsal]):
    """`ports.RehearsalStore`."""

    def newest(self) -> Rehearsal | None:
        return self.read("newest")

    def put(self, rehearsal: Rehearsal) -> Rehearsal:
        return self.write("newest", rehearsal)

    def of_digest(self, digest: str) -> Rehearsal | None:
        return self.read(digest)

    def keep(self, rehearsal: Rehearsal) -> None:
        known = self.read(rehearsal.digest)
        if known is None or known.result is Result.INCONCLUSIVE or rehearsal.result is not Result.INCONCLUSIVE:
            self.write(rehearsal.digest, replace(rehearsal, version=known.version if known else 0))


class FakeBreaker(Memory[BreakerState]):
    """`ports.BreakerStore`."""

    def load(self, cluster: str) -> BreakerState:
        return self.read(cluster) or BreakerState()

    def save(self, cluster: str, state: BreakerState) -> BreakerState:
        return self.write(cluster, state)


class FakeControl:
    """`ports.ControlStore`."""

    def __init__(self) -> None:
        self._pause: Pause | None = None
        self._snapshots: dict[str, SlurmSnapshot] = {}

    def pause(self) -> Pause | None:
        return self._pause

    def set_pause(self, pause: Pause | None) -> None:
        self._pause = pause

    def snapshot(self, cluster: str) -> SlurmSnapshot | None:
        return self._snapshots.get(cluster)

    def keep_snapshot(self, cluster: str, snapshot: SlurmSnapshot) -> bool:
        kept = self._snapshots.get(cluster)
        if kept is not None and kept.sequence >= snapshot.sequence and kept.taken_at >= snapshot.taken_at:
            return False
        self._snapshots[cluster] = snapshot
        return True


class FakeLocks(Memory[ScaleLock]):
    """`ports.ScaleLocks`."""

    def get(self, cluster: str) -> ScaleLock:
        return self.read(cluster) or ScaleLock(cluster)

    def put(self, lock: ScaleLock) -> ScaleLock:
        return self.write(lock.cluster, lock)
