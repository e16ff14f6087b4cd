"""Ports: what functions need from the world, as Protocols with the contract in the docstring.

Adapters in `roundhouse.aws` and `roundhouse.slack` implement them; in-memory ones live in tests/fakes. All of them
raise only exceptions of `roundhouse.errors`.
"""
# ruff: noqa: PLC0414 - the doubled names say that these are re-exported on purpose

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from roundhouse.build.records import BilledUsage as BilledUsage
from roundhouse.build.records import ClusterEvent as ClusterEvent
from roundhouse.build.records import PlanState as PlanState
from roundhouse.build.records import Run as Run
from roundhouse.build.records import StageRecord as StageRecord
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.commands import Command
from roundhouse.contracts.ledger import LedgerEntry
from roundhouse.contracts.notices import Notice
from roundhouse.line.approval import Approval
from roundhouse.line.breaker import BreakerState
from roundhouse.line.incident import Incident
from roundhouse.line.policy import Policy
from roundhouse.line.proof import Expected, Proof
from roundhouse.line.state import Cluster, SlurmSnapshot
from roundhouse.line.state import Pause as Pause


class Clock(Protocol):
    def now(self) -> datetime:
        """The time now, aware, UTC."""


# HyperPod --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """What a Batch* call answered. `failed` maps the id to (error code, message)."""

    accepted: tuple[str, ...]
    failed: dict[str, tuple[str, str]]


class ClusterReader(Protocol):
    def cluster(self, name: str) -> Cluster:
        """Counts and all nodes, read now (DescribeCluster + every page of ListClusterNodes with logical ids).

        `slurm` is left None. Raises NotFound when there is no such cluster."""

    def events(self, name: str, after: datetime, group: str | None = None) -> Sequence[ClusterEvent]:
        """Cluster events after `after`, oldest first, metadata looked up where the list leaves it null."""

    def event(self, name: str, event_id: str) -> ClusterEvent:
        """One event with its metadata (DescribeClusterEvent). Raises NotFound."""


class ClusterWriter(Protocol):
    """Calls that change a cluster. Unavailable means that the call may have taken effect."""

    def create(self, spec: ClusterSpec, counts: dict[str, int]) -> str:
        """CreateCluster with `counts` nodes per group; returns the ARN. Raises InUse when the name exists."""

    def add(self, name: str, group: str, amount: int, token: str) -> tuple[str, ...]:
        """BatchAddClusterNodes of 1 to 50 nodes under a client token; returns their logical ids."""

    def delete_nodes(self, name: str, instance_ids: Sequence[str], logical_ids: Sequence[str] = ()) -> BatchAnswer:
        """BatchDeleteClusterNodes; at most 50 ids together. Lowers the group's target."""

    def reboot(self, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        """BatchRebootClusterNodes; at most 25 ids."""

    def replace(self, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        """BatchReplaceClusterNodes; at most 25 ids. Destroys the disks; keeps logical id and host name."""

    def delete_cluster(self, name: str) -> None:
        """DeleteCluster. Customer file systems are not touched. Raises NotFound, Conflict."""


# What a creation must know before it begins ----------------------------------------------------------------------
class Surroundings(Protocol):
    """Facts about the account that a preflight and the discount check read. Raises NotFound for absent things."""

    def account_id(self) -> str: ...

    def subnet_az_id(self, subnet_id: str) -> str:
        """AZ id (`usw2-az2`) of a subnet."""

    def file_system_az_id(self, file_system_id: str) -> str:
        """AZ id of an FSx for Lustre file system, by its first subnet."""

    def plan(self, arn: str) -> PlanState: ...

    def quota(self, name: str) -> float | None:
        """Value of the SageMaker quota called `name`; None when the account has no such quota listed."""

    def object_exists(self, s3_uri: str) -> bool: ...

    def billed(self, since: datetime, until: datetime) -> Sequence[BilledUsage]:
        """Hourly billed usage of HyperPod instances in this region, as far as the bill has come (it lags)."""


# Stores ----------------------------------------------------------------------------------------------------------
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


# Messages and workflows ------------------------------------------------------------------------------------------
class Outbox(Protocol):
    def tell(self, notice: Notice) -> None:
        """Queue a notice. Durable and deduplicated by `notice_id`; Slack being down does not matter here."""


class SettleQueue(Protocol):
    def settle(self, approval_id: str) -> None:
        """Ask the executor to look at an approval. Sending it twice is harmless."""


class IntakeQueue(Protocol):
    def put(self, body: str) -> None:
        """Queue a signal (an EventBridge envelope as JSON text) for intake."""


class AgentQueue(Protocol):
    def send(self, command: Command) -> None:
        """Queue a command for the controller agent."""


class QueueLease(Protocol):
    """The hold on messages received from one queue."""

    def extend(self, receipt_handle: str, seconds: float) -> None:
        """Let the message come back `seconds` from now, not when its queue would (0 to 12 hours).

        Raises NotFound or InvalidRequest when the message is no longer held."""


class Workflows(Protocol):
    def start(self, state_machine: str, name: str, payload: dict[str, object]) -> bool:
        """Start an execution called `name`; False when one of that name exists already."""

    def succeed(self, token: str, output: dict[str, object]) -> bool:
        """Answer a task token; False when the task is gone (timed out, answered already)."""


class Messenger(Protocol):
    """Slack, as far as the line needs it. Raises SlackRateLimited, SlackUnavailable, SlackRejected."""

    def post(self, channel: str, notice: Notice, thread_ts: str | None) -> str:
        """Draw and post; returns the message's ts. Looks for its own earlier copy (by notice_id in the message's
        metadata) when `SlackUnavailable` left that open: see `find`."""

    def update(self, channel: str, ts: str, notice: Notice) -> None: ...

    def find(self, channel: str, notice_id: str, thread_ts: str | None) -> str | None:
        """ts of a message of ours that carries `notice_id` in its metadata, or None."""

    def whisper(self, response_url: str, text: str) -> None:
        """Answer the person who clicked, visible to them alone. Never raises: it is a courtesy."""


# Proof -----------------------------------------------------------------------------------------------------------
class NodeTest(Protocol):
    def run(
        self, cluster: Cluster | None, expected: Expected, called_at: datetime, since: datetime, now: datetime
    ) -> tuple[Proof, str]:
        """Test the node that is expected to be back: the verdict and why, in words.

        `called_at` is when the repair was called, `since` when the node was first seen Running after it. A test that
        did not run, or whose answer was lost, is INCONCLUSIVE, never PASS; WAIT means ask again later."""
