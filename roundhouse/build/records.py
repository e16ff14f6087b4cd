"""What building a cluster reads and remembers: events, plans, bills, runs. Pure dataclasses; re-exported by ports."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from roundhouse.line.state import ClusterEvent as ClusterEvent  # noqa: PLC0414 - the line decides upon it too


@dataclass(frozen=True, slots=True)
class PlanState:
    """A training plan as described now. Counts are instances; times are aware UTC."""

    arn: str
    status: str
    instance_type: str
    az_ids: tuple[str, ...]
    starts_at: datetime | None
    ends_at: datetime | None
    total: int
    available: int
    in_use: int
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BilledUsage:
    """Billed instance hours of one usage type within one hour; `hour` is its beginning."""

    hour: datetime
    usage_type: str
    hours: float
    usd: float


class Capacity(StrEnum):
    """Where a cluster event says that an instance came from."""

    RESERVED = "reserved"
    ON_DEMAND = "on_demand"


@dataclass(frozen=True, slots=True)
class Sighting:
    """One launch whose capacity a cluster event has told: kept in the run, since HyperPod forgets all but 500 events.

    Events may name the instance, only the logical id (the instance did not exist yet), or neither.
    """

    capacity: Capacity
    at: datetime
    event_id: str
    group: str
    instance_id: str | None = None
    logical_id: str | None = None


@dataclass(frozen=True, slots=True)
class StageRecord:
    """One stage of a creation. `target` is cumulative; `verdict` is VERIFIED, LOST, UNKNOWN, ACCEPTED or "".

    A call that adds nodes starts a fresh record of its (group, stage): what was proved of fewer nodes is no proof.
    """

    group: str
    stage: int
    target: int
    started_at: datetime
    running_at: datetime | None = None
    verdict: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A creation: who started it, how far it is. One per cluster; `run_id` names the execution too.

    `status` is running, done, held, rolled_back or failed; `capacity` counts nodes by `reserved` / `on_demand`;
    `history` is (time, Running workers, step) for progress displays. A re-run of the same cluster keeps
    `plan_in_use_before`, `sightings`, `proven`, `stages` and `cancellations`: they are about nodes, not executions.
    """

    cluster: str
    run_id: str
    started_at: datetime
    status: str = "running"
    step: str = ""
    stages: tuple[StageRecord, ...] = ()
    accepted_loss: bool = False
    expected_usd_per_hour: float = 0.0
    actual_usd_per_hour: float | None = None
    capacity: dict[str, int] | None = None
    history: tuple[tuple[datetime, int, str], ...] = ()
    finished_at: datetime | None = None
    version: int = 0
    plan_in_use_before: dict[str, int] = field(default_factory=dict)  # plan ARN -> InUse when the first run began
    sightings: tuple[Sighting, ...] = ()
    proven: tuple[str, ...] = ()  # instance ids of VERIFIED stages
    unrehearsed: str = ""  # why, and on whose word, its lifecycle scripts were not rehearsed; "" when they were
    cluster_arn: str = ""  # the very cluster that these records are about; "" until HyperPod has named it
    cancellations: int = 0  # how often nodes were cancelled or rolled back: a token is never replayed after that

    def made_another(self, arn: str) -> bool:
        """True when these records are about another cluster than `arn`: of the same name, since ours is gone."""
        return bool(self.cluster_arn) and self.cluster_arn != arn

    def record(self, group: str, stage: int) -> StageRecord | None:
        """The newest record of that stage, or None."""
        return next((r for r in reversed(self.stages) if r.group == group and r.stage == stage), None)
