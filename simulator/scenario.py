"""The scenario: what a simulated AWS account holds at the start, how fast it is and what goes wrong in it.

Plain frozen dataclasses; imports the standard library only. `scenario_file` reads them from TOML; the format is
described for people in scenarios/README.md.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NewType

Seconds = NewType("Seconds", float)
"""A duration: a number of seconds, or '90s', '15m', '8h', '30d' in the file."""
Range = tuple[float, float]
"""Least and most seconds: one duration or a list of two in the file."""


@dataclass(frozen=True)
class Moment:
    """A point in time: absolute, or `offset` seconds after the world was built."""

    offset: float = 0.0
    absolute: datetime | None = None

    def at(self, start: datetime) -> datetime:
        """The aware UTC time meant, for a world built at `start`."""
        return self.absolute if self.absolute else start + timedelta(seconds=self.offset)


@dataclass(frozen=True)
class Subnet:
    id: str
    vpc: str
    az: str
    az_id: str
    cidr: str


@dataclass(frozen=True)
class OnDemand:
    """How many instances of a type the on-demand pool of one AZ can give at a time."""

    az_id: str
    instance_type: str
    count: int


@dataclass(frozen=True)
class Window:
    start: Moment
    end: Moment


@dataclass(frozen=True)
class TrainingPlan:
    """A training plan. Without `status` the windows decide: Scheduled, Active (inside one) or Expired."""

    name: str
    az_id: str
    instance_type: str
    count: int
    window: list[Window]
    status: str | None = None
    target_resources: list[str] = field(default_factory=lambda: ["hyperpod-cluster"])
    upfront_fee: str = "0.0"
    unhealthy: int = 0


@dataclass(frozen=True)
class AccountReservation:
    """Capacity that the AWS account team reserved: no ARN, matched by account, AZ and type."""

    az_id: str
    instance_type: str
    count: int
    start: Moment = Moment(-86400.0)
    end: Moment = Moment(90 * 86400.0)


@dataclass(frozen=True)
class Price:
    """USD per instance hour. `reserved` is what an hour out of a plan or reservation costs."""

    instance_type: str
    on_demand: float
    reserved: float


@dataclass(frozen=True)
class Billing:
    data_lag: Seconds = Seconds(8 * 3600.0)
    """How far Cost Explorer is behind the meter."""


@dataclass(frozen=True)
class Quotas:
    max_instances_per_cluster: int = 20
    total_instances: int = 30
    max_ebs_gb: int = 1024
    cluster_usage: dict[str, int] = field(default_factory=dict)
    """Instance type to its 'for cluster usage' quota; a type that is not listed has 0."""


@dataclass(frozen=True)
class FileSystem:
    id: str
    subnet: str
    mount_name: str = "abcdefgh"
    type: str = "LUSTRE"
    lifecycle: str = "AVAILABLE"
    storage_gib: int = 4800
    throughput: int = 250
    s3_linked: bool = False
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Timing:
    """Durations in virtual seconds; defaults are the usual ones that operators report."""

    controller_launch: Range = (480.0, 480.0)
    worker_launch: Range = (360.0, 720.0)
    lifecycle: Range = (180.0, 180.0)
    """Lifecycle script; the last part of a launch, not on top of it."""
    capacity_decision: Seconds = Seconds(30.0)
    replace: Range = (720.0, 720.0)
    """From the call to Running, termination of the old instance included."""
    reboot: Range = (120.0, 120.0)
    terminate: Range = (60.0, 120.0)
    hma_detect: Seconds = Seconds(30.0)
    auto_repair_delay: Seconds = Seconds(300.0)
    retry_backoff: Seconds = Seconds(60.0)
    retry_backoff_max: Seconds = Seconds(300.0)
    failure_visible: Seconds = Seconds(30.0)
    hang_timeout: Seconds = Seconds(3600.0)
    min_count_timeout: Seconds = Seconds(3 * 3600.0)
    rollback: Seconds = Seconds(300.0)
    client_token: Seconds = Seconds(8 * 3600.0)
    plan_reclaim: Seconds = Seconds(3600.0)
    """How long before the end of a plan's block its instances are taken back."""
    software_update: Range = (900.0, 900.0)
    health_check: Range = (2700.0, 2700.0)


@dataclass
class Quirks:
    """Behaviour of the real service that documentation does not promise. A world has its own copy and may switch it."""

    null_metadata: bool = True
    duplicates: float = 0.0
    """Chance that an event is delivered a second time."""
    delay: Range = (0.0, 0.0)
    """Delivery delay of events: a wide range also reorders them."""
    state_change_repeats: int = 0
    info_flood: bool = True
    spurious_warn: bool = True
    node_health_events: bool = True
    """Whether node-health events are sent for Slurm clusters, or only the agent's log record."""
    hma_log_records: bool = True
    cloudtrail: bool = True
    """Whether calls of the API are told by CloudTrail over EventBridge; what HyperPod does by itself never is."""
    auto_recovery: bool = True
    """Whether HyperPod's own repair acts where NodeRecovery is Automatic."""
    sticky_message: bool = True
    list_lag: Seconds = Seconds(0.0)
    """How long ListClusterNodes still shows a node's previous status."""
    current_count: str = "provisioned"
    """What CurrentCount counts: 'provisioned' instances (it leads) or 'running' ones."""
    vanish: str = "plain"
    """Where a node hides between launch attempts: 'plain' lists, 'all' lists, or 'none'."""
    events_kept: int = 500


FAULT_KINDS = (
    "capacity_shortage",
    "efa_failure",
    "lifecycle_failure",
    "hung_script",
    "replacement_failure",
    "stuck",
    "throttle",
    "lost_answer",
    "node_error",
    "quota",
)


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong. Fields that are not given do not narrow it. See scenarios/README.md for each kind."""

    kind: str
    cluster: str | None = None
    group: str | None = None
    node: int | None = None
    instance_id: str | None = None
    az_id: str | None = None
    instance_type: str | None = None
    at: Moment | None = None
    until: Moment | None = None
    duration: Seconds | None = None
    group_target_above: int | None = None
    attempts: int | None = None
    calls: int | None = None
    operation: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None


@dataclass(frozen=True)
class Scenario:
    """Everything a world is built from."""

    name: str = "unnamed"
    summary: str = ""
    seed: int = 1
    account: str = "111122223333"
    region: str = "us-west-2"
    first_call_latch: bool = False
    subnet: list[Subnet] = field(default_factory=list)
    on_demand: list[OnDemand] = field(default_factory=list)
    training_plan: list[TrainingPlan] = field(default_factory=list)
    account_reservation: list[AccountReservation] = field(default_factory=list)
    price: list[Price] = field(default_factory=list)
    billing: Billing = Billing()
    quotas: Quotas = Quotas()
    file_system: list[FileSystem] = field(default_factory=list)
    timing: Timing = Timing()
    quirks: Quirks = field(default_factory=Quirks)
    fault: list[Fault] = field(default_factory=list)
