"""Specs, clusters, events and bills for the builders' tests. Node names are readable: i-<group>-<number>."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from roundhouse.build.records import BilledUsage, Capacity, ClusterEvent, PlanState, Run, Sighting, StageRecord
from roundhouse.build.spec import ClusterSpec, Discount, DiscountKind, GroupSpec, StageWaits
from roundhouse.line.state import Cluster, Group, Node, NodeStatus

T0 = datetime(2026, 10, 2, 16, 0, tzinfo=UTC)
ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/a1b2c3d4e5f6"
PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/p"
GPU, CPU = "ml.g6.48xlarge", "ml.m5.2xlarge"
BY_PLAN = Discount(DiscountKind.TRAINING_PLAN, "usw2-az2", PLAN, 8.0)
BY_ACCOUNT = Discount(DiscountKind.ACCOUNT_RESERVATION, "usw2-az2", None, 8.0)
NO_DISCOUNT = Discount(DiscountKind.NONE)


def minutes(count: float) -> datetime:
    return T0 + timedelta(minutes=count)


def group(
    name: str = "workers",
    count: int = 64,
    stages: tuple[float, ...] = (0.6, 0.8, 1.0),
    discount: Discount = BY_PLAN,
    role: str = "Compute",
    instance_type: str = GPU,
) -> GroupSpec:
    return GroupSpec(
        name=name,
        role=role,
        instance_type=instance_type,
        count=count,
        stages=stages,
        discount=discount,
        on_demand_usd_per_hour=16.0 if instance_type == GPU else 0.5,
        execution_role_arn="arn:aws:iam::111122223333:role/hyperpod",
        lifecycle_s3_uri="s3://sagemaker-unit/lifecycle/",
        lifecycle_script="on_create.sh",
    )


CONTROLLER = group("controller", 1, (1.0,), NO_DISCOUNT, "Controller", CPU)


def spec(*groups: GroupSpec, **changes: object) -> ClusterSpec:
    made = ClusterSpec(
        environment="unit",
        cluster="train",
        account="111122223333",
        region="us-west-2",
        az_id="usw2-az2",
        subnet_ids=("subnet-0123456789abcdef0",),
        security_group_ids=("sg-0123456789abcdef0",),
        node_recovery="Automatic",
        provisioning_mode="continuous",
        groups=(CONTROLLER, *(groups or (group(),))),
        waits=StageWaits(),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def nodes(name: str, running: int, pending: int = 0, instance_type: str = GPU) -> list[Node]:
    made = [
        Node(f"i-{name}-{n}", f"l-{name}-{n}", name, NodeStatus.RUNNING, instance_type=instance_type, launched_at=T0)
        for n in range(running)
    ]
    return made + [Node(None, f"l-{name}-{n}", name, NodeStatus.PENDING) for n in range(running, running + pending)]


def cluster(
    of: ClusterSpec,
    running: dict[str, int],
    targets: dict[str, int] | None = None,
    status: str = "InService",
    listed: Iterable[Node] | None = None,
) -> Cluster:
    """A live cluster; targets default to what runs, the controller to one that runs."""
    running = {"controller": 1} | running
    targets = running | (targets or {})
    made = [n for g in of.groups for n in nodes(g.name, running.get(g.name, 0), instance_type=g.instance_type)]
    return Cluster(
        name=of.cluster,
        arn=ARN,
        status=status,
        node_recovery=of.node_recovery,
        groups={
            g.name: Group(
                g.name,
                g.instance_type,
                running.get(g.name, 0),
                targets.get(g.name, 0),
                g.role,
                training_plan_arn=g.discount.training_plan_arn,
            )
            for g in of.groups
        },
        nodes=tuple(made if listed is None else listed),
        read_at=T0,
    )


def run(*records: StageRecord, **changes: object) -> Run:
    return replace(Run("train", "run-1", T0, stages=records), **changes)  # type: ignore[arg-type]


def passed(name: str, stage: int, target: int, verdict: str = "VERIFIED") -> StageRecord:
    return StageRecord(name, stage, target, T0, running_at=minutes(10), verdict=verdict)


def event(text: str, at: datetime = T0, **changes: object) -> ClusterEvent:
    made = ClusterEvent(
        f"e-{text[:20]}-{at.isoformat()}-{sorted(changes.items())}", at, "Info", "Instance", text, "workers"
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def found(number: int, at: datetime = T0, name: str = "workers") -> ClusterEvent:
    """The documented event of a launch on reserved capacity: it names the logical id only."""
    text = f"Found CapacityReservation ID cr-0 for Cluster train and IG {name}, using reserved capacity"
    return event(text, at, logical_id=f"l-{name}-{number}", reservation_arn="arn:x", group=name)


def not_found(number: int | None, at: datetime = T0, name: str = "workers") -> ClusterEvent:
    text = f"No CapacityReservation found for Cluster train and IG {name}, using on-demand pool"
    logical = None if number is None else f"l-{name}-{number}"
    return event(text, at, logical_id=logical, level="Warn", group=name)


def sighted(count: int, capacity: Capacity = Capacity.RESERVED, name: str = "workers") -> tuple[Sighting, ...]:
    return tuple(Sighting(capacity, T0, f"e{n}", name, None, f"l-{name}-{n}") for n in range(count))


def plan(in_use: int = 39, **changes: object) -> PlanState:
    made = PlanState(
        arn=PLAN,
        status="Active",
        instance_type=GPU,
        az_ids=("usw2-az2",),
        starts_at=T0 - timedelta(days=1),
        ends_at=T0 + timedelta(days=30),
        total=64,
        available=64 - in_use,
        in_use=in_use,
        targets=("hyperpod-cluster",),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def billed(hour: int, kind: str, hours: float, rate: float, instance_type: str = GPU) -> BilledUsage:
    """Usage in the `hour`-th hour after T0 (negative: before)."""
    return BilledUsage(T0 + timedelta(hours=hour), f"USW2-{kind}:{instance_type}", hours, hours * rate)
