"""Ports to records: incidents, ledger, approvals, breaker, runs. Protocols; the contract is in the docstring."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from roundhouse.build.records import Run
from roundhouse.build.rehearsal import Rehearsal
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.ledger import LedgerEntry
from roundhouse.line.approval import Approval
from roundhouse.line.breaker import BreakerState
from roundhouse.line.incident import Incident
from roundhouse.line.policy import Policy
from roundhouse.line.state import Pause, SlurmSnapshot
from roundhouse.triage.maintenance import Maintenance


class IncidentStore(Protocol):
    """Incidents. `put` writes only when the stored version is `incident.version` (0: must not exist yet), stores
    version + 1 and returns the stored incident. Raises ConditionFailed."""

    def get(self, incident_id: str) -> Incident | None: ...

    def put(self, incident: Incident) -> Incident: ...

    def of_cluster(self, cluster: str, since: datetime) -> Sequence[Incident]:
        """Incidents opened at or after `since`, oldest first."""


class Ledger(Protocol):
    """Action records; `put` as in IncidentStore. A claim is a put of version 0."""

    def get(self, action_id: str) -> LedgerEntry | None: ...

    def put(self, entry: LedgerEntry) -> LedgerEntry: ...

    def of_cluster(self, cluster: str, since: datetime) -> Sequence[LedgerEntry]: ...


class ApprovalStore(Protocol):
    """Approvals; `put` as in IncidentStore."""

    def get(self, approval_id: str) -> Approval | None: ...

    def put(self, approval: Approval) -> Approval: ...

    def of_cluster(self, cluster: str, since: datetime) -> Sequence[Approval]:
        """Approvals asked at or after `since`, oldest first."""


class TokenStore(Protocol):
    """Task tokens, readable by the executor alone."""

    def keep(self, approval_id: str, token: str) -> None:
        """Store the token; a later token for the same approval (a retried task) replaces it."""

    def token(self, approval_id: str) -> str | None: ...


class BreakerStore(Protocol):
    """The breaker's memory. A breaker that cannot be read stops action: `load` raises, it never invents a state."""

    def load(self, cluster: str) -> BreakerState: ...

    def save(self, cluster: str, state: BreakerState) -> BreakerState:
        """Write when the stored version is `state.version`. Raises ConditionFailed."""


class ControlStore(Protocol):
    """The pause switch and the last Slurm snapshot."""

    def pause(self) -> Pause | None: ...

    def set_pause(self, pause: Pause | None) -> None: ...

    def snapshot(self, cluster: str) -> SlurmSnapshot | None: ...

    def keep_snapshot(self, cluster: str, snapshot: SlurmSnapshot) -> bool:
        """Keep it if its sequence is higher than the kept one's, or it was taken later (an agent that began anew counts
        from one again); returns whether it was."""


class RunStore(Protocol):
    """Creations, one record per cluster; `put` as in IncidentStore."""

    def get(self, cluster: str) -> Run | None: ...

    def put(self, run: Run) -> Run: ...


class RehearsalStore(Protocol):
    """Rehearsals of lifecycle scripts: the environment's newest one, and the last word on each digest."""

    def newest(self) -> Rehearsal | None:
        """The rehearsal under way, or the one that ended last."""

    def put(self, rehearsal: Rehearsal) -> Rehearsal:
        """Write the newest one; versions as in IncidentStore, so that only one can be under way. ConditionFailed."""

    def of_digest(self, digest: str) -> Rehearsal | None:
        """What was kept of scripts with exactly that content."""

    def keep(self, rehearsal: Rehearsal) -> None:
        """Keep an ended one under its digest. An INCONCLUSIVE one does not replace one that was conclusive."""


class MaintenanceStore(Protocol):
    """What Health has announced, one record per event and account; `put` as in IncidentStore."""

    def get(self, key: str) -> Maintenance | None: ...

    def put(self, record: Maintenance) -> Maintenance: ...


class ThreadStore(Protocol):
    """Where threads and messages are in Slack."""

    def place(self, key: str) -> tuple[str, str] | None:
        """(channel, ts) of a thread key or notice id."""

    def keep(self, key: str, channel: str, ts: str) -> None:
        """Remember it, unless it is known already (the first one wins)."""


class Settings(Protocol):
    """The environment as deployed."""

    def policy(self) -> Policy: ...

    def cluster_spec(self) -> ClusterSpec: ...
