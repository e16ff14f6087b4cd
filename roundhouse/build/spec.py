"""What a cluster should become: the runtime form of an environment's cluster part. Pure dataclasses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DiscountKind(StrEnum):
    """How a group is paid for."""

    NONE = "none"
    TRAINING_PLAN = "training_plan"  # has an ARN and counters
    ACCOUNT_RESERVATION = "account_reservation"  # made by the AWS account team: no ARN, matched by account and AZ


@dataclass(frozen=True, slots=True)
class Discount:
    """A group's discount. Prices in USD per node and hour; `az_id` is where the capacity is reserved."""

    kind: DiscountKind
    az_id: str | None = None
    training_plan_arn: str | None = None
    reserved_usd_per_hour: float = 0.0


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """One instance group of the finished cluster. `count` is the contract's count of nodes.

    `stages` are cumulative shares of `count`, the first one in CreateCluster (e.g. 0.6, 0.8, 1.0); stage target =
    ceil(share x count). `on_demand_usd_per_hour` is from the price snapshot and may be unverified.
    """

    name: str
    role: str  # Controller | Login | Compute
    instance_type: str
    count: int
    stages: tuple[float, ...]
    discount: Discount
    on_demand_usd_per_hour: float
    execution_role_arn: str
    lifecycle_s3_uri: str
    lifecycle_script: str
    threads_per_core: int = 1
    partition: str | None = None
    ebs_gib: int | None = None


@dataclass(frozen=True, slots=True)
class StageWaits:
    """Waits and give-up times of a creation, in seconds."""

    poll_s: int = 60
    controller_timeout_s: int = 3600
    stage_timeout_s: int = 7200
    shortage_timeout_s: int = 10800  # how long a capacity shortage is waited for
    discount_timeout_s: int = 7200  # how long UNKNOWN is waited for before people are asked
    counter_lag_s: int = 300  # a training plan's counters may be that far behind the nodes
    bill_lag_s: int = 93600  # first bill data: 26 h
    bill_margin_s: int = 7200  # how much later than that it may come
    bill_poll_s: int = 1800  # between two looks while only the bill is missing: each costs a cent, and history
    lifecycle_failures_max: int = 5  # failed scripts of one node before a stage gives up: each attempt is billed


@dataclass(frozen=True, slots=True)
class BillingPatterns:
    """How usage types tell reserved from on-demand hours. Shell-style patterns; `{instance_type}` is filled in.

    AWS publishes no names for this case: the defaults are those of the embedded AWS, unverified against a real bill.
    That is why the price of an hour is looked at as well (`price_tolerance` is a share of the price).
    """

    on_demand: tuple[str, ...] = ("*-Cluster:{instance_type}",)
    reserved: tuple[str, ...] = ("*-Cluster-Reserved:{instance_type}",)
    unused: tuple[str, ...] = ("*-Cluster-Reserved-Unused:{instance_type}",)  # reserved slots that stand empty
    price_tolerance: float = 0.1


@dataclass(frozen=True, slots=True)
class RehearsalTerms:
    """Whether lifecycle scripts must have been rehearsed, on which node, how long ago, and how long one may take.

    The defaults here are those of a deployment that knows nothing of rehearsals; the environment file has its own.
    """

    required: bool = False
    instance_type: str = "ml.m5.xlarge"
    max_age_s: int = 30 * 86400
    timeout_s: int = 3600


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The finished cluster. `az_id` is where subnet, plan and storage must all be."""

    environment: str
    cluster: str
    account: str
    region: str
    az_id: str
    subnet_ids: tuple[str, ...]
    security_group_ids: tuple[str, ...]
    node_recovery: str  # Automatic | None
    provisioning_mode: str  # continuous | legacy
    groups: tuple[GroupSpec, ...]
    waits: StageWaits
    file_system_ids: tuple[str, ...] = ()
    file_system_mounts: tuple[tuple[str, str, str], ...] = ()  # (dns name, mount name, mount path)
    rollback_dollar_cap: float = 500.0
    ask_timeout_s: int = 3600
    tags: tuple[tuple[str, str], ...] = ()
    billing: BillingPatterns = BillingPatterns()
    rehearsal: RehearsalTerms = RehearsalTerms()

    @property
    def ready_timeout_s(self) -> int:
        """How long a cluster may take to be ready, in seconds. Continuous: its controller; legacy: a whole stage."""
        waits = self.waits
        if self.provisioning_mode == "legacy":
            return max(waits.controller_timeout_s, waits.stage_timeout_s)
        return waits.controller_timeout_s

    def group(self, name: str) -> GroupSpec:
        """The group called `name`; KeyError when there is none."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(name)
