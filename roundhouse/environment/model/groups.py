"""Section `groups`: instance groups and their discounts. Imports pydantic."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from roundhouse.environment.model.base import Section
from roundhouse.environment.model.types import (
    AzId,
    ClusterName,
    InstanceType,
    Partition,
    PlanArn,
    RoleArn,
    Several,
    Share,
    Usd,
)

FIRST_SHARE = 0.6
FURTHER_SHARES = (0.8, 1.0)


class NoDiscount(Section):
    """On-demand instances."""

    kind: Literal["none"] = "none"


class TrainingPlan(Section):
    """A flexible training plan. `reserved_usd_per_hour` is its fee per node and hour, however it is paid."""

    kind: Literal["training_plan"]
    training_plan_arn: PlanArn
    az_id: AzId
    reserved_usd_per_hour: Usd


class AccountReservation(Section):
    """Capacity that the AWS account team reserved: no ARN, matched by account and AZ alone."""

    kind: Literal["account_reservation"]
    az_id: AzId
    reserved_usd_per_hour: Usd


def _kind(value: Any) -> str | None:
    """The `kind` of a discount as written in the file. A function, since a field may not have validators of its own."""
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return kind if isinstance(kind, str) else None


Discount = Annotated[
    Annotated[NoDiscount, Tag("none")]
    | Annotated[TrainingPlan, Tag("training_plan")]
    | Annotated[AccountReservation, Tag("account_reservation")],
    Discriminator(_kind),
]


class Group(Section):
    """An instance group. `count` is the contract's; Compute groups are ramped up to it in stages.

    Without `on_demand_usd_per_hour` the price comes from catalog/prices.toml; without an execution role of its own the
    cluster's is used.
    """

    name: ClusterName
    role: Literal["Controller", "Login", "Compute"]
    instance_type: InstanceType
    count: Annotated[int, Field(gt=0, le=6758)]
    first_stage_share: Share | None = None
    further_stages: Several[Share] | None = None
    discount: Discount = NoDiscount()
    on_demand_usd_per_hour: Usd | None = None
    partition: Partition | None = None
    ebs_gib: Annotated[int, Field(ge=1, le=16384)] | None = None
    threads_per_core: Annotated[int, Field(ge=1, le=2)] = 1
    execution_role_arn: RoleArn | None = None

    @property
    def stages(self) -> tuple[float, ...]:
        """Cumulative shares of the contract, the first one in CreateCluster. Only Compute groups are staged."""
        first = self.first_stage_share
        if first is None:
            first = FIRST_SHARE if self.role == "Compute" else 1.0
        further = self.further_stages
        if further is None:
            further = tuple(share for share in FURTHER_SHARES if share > first)
        return (first, *further)
