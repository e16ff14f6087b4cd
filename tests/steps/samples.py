"""The small cluster that the workflows are tried on, its policy, and the events that people and nodes send."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from roundhouse.build.preflight import quotas_needed, scripts_needed
from roundhouse.build.spec import ClusterSpec, GroupSpec
from roundhouse.contracts import names
from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.event import CauseClass
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import BreakerLimits, Budget, Mode, Policy, Rule
from roundhouse.line.state import Group
from tests.build import samples
from tests.steps.asl import Died
from tests.steps.world import ALICE, World

LADDER = (Rung.REBOOT, Rung.REPLACE, Rung.HUMAN)


def cluster_spec(group: GroupSpec | None = None, **changes: Any) -> ClusterSpec:
    """A controller and five workers under a training plan, in stages of three, four and five."""
    return samples.spec(group or samples.group(count=5), **changes)


def policy(mode: Mode = Mode.ACT, ladder: tuple[Rung, ...] = LADDER, **changes: Any) -> Policy:
    rule = Rule(mode, ladder, grace_s=120)
    made = Policy(
        "unit",
        "train",
        rules=dict.fromkeys(CauseClass, rule),
        budgets=dict.fromkeys(Rung, Budget(per_day=50, cooldown_s=60)),
        breaker=BreakerLimits(short_percent=50, day_percent=80),
        approvers=(ALICE,),
        drain_deadline_s=300,
        proof_quiet_s=120,
    )
    return replace(made, **changes)


def account(world: World) -> World:
    """Everything that a preflight wants to find."""
    around, spec = world.surroundings, world.spec
    around.subnets = dict.fromkeys(spec.subnet_ids, spec.az_id)
    around.plans = {samples.PLAN: samples.plan(in_use=0, starts_at=None, ends_at=None)}
    around.quotas = dict.fromkeys(quotas_needed(spec), 1000.0)
    around.objects = set(scripts_needed(spec))
    return world


def empty_account(spec: ClusterSpec | None = None, **changes: Any) -> World:
    """No cluster yet."""
    return account(World(spec or cluster_spec(), policy(**changes)))


def house(size: int = 20, mode: Mode = Mode.ACT, ladder: tuple[Rung, ...] = LADDER, **changes: Any) -> World:
    """A cluster of `size` Running workers and a controller, created by us and verified."""
    world = account(World(cluster_spec(samples.group(count=size)), policy(mode, ladder, **changes)))
    cluster = world.cluster
    cluster.seed("controller", 1, "Controller", samples.CPU)
    cluster.seed("workers", size)
    cluster.node_recovery = "None"
    arn = samples.PLAN
    cluster.groups["workers"] = replace(cluster.groups["workers"], training_plan_arn=arn)
    world.runs.put(samples.run(plan_in_use_before={arn: 0}, status="done"))
    return world


def worker(world: World, number: int) -> str:
    """Instance id of the `number`-th worker."""
    return [n.instance_id or "" for n in world.cluster.nodes if n.group == "workers"][number]


def health(world: World, instance_id: str, status: str = "Unhealthy", **changes: Any) -> dict[str, Any]:
    """HyperPod's node health event, of now."""
    summary: dict[str, Any] = {
        "HealthStatus": status,
        "HealthStatusReason": "HMA has detected fault type NvidiaErrorTerminate on this node and is unhealthy.",
        "RepairAction": "None",
        "Recommendation": "Please Replace the Faulty Node.",
    }
    made: dict[str, Any] = {
        "id": f"ev-{instance_id}-{status}-{world.now.isoformat()}",
        "detail-type": names.NODE_HEALTH,
        "source": names.HYPERPOD_SOURCE,
        "time": world.now.isoformat(),
        "detail": {
            "ClusterName": world.spec.cluster,
            "ClusterArn": world.cluster.arn,
            "InstanceId": instance_id,
            "HealthSummary": summary,
        },
    }
    return {**made, **changes}


def of_group(world: World, name: str) -> Group:
    return world.cluster.groups[name]


def click_newest(world: World, choice: str) -> str:
    """Press a button of the newest question, as it stands on somebody's screen; what the person is told."""
    questions = [n for n in world.outbox.notices if n.kind is NoticeKind.APPROVAL_ASKED]
    return world.click(questions[-1], choice) if questions else ""


def taken_over_when_killed(world: World) -> None:
    """Whenever the process of a creation's step dies, its run is stopped and another one begins."""
    inner = world.call

    def call(resource: str, arguments: dict[str, Any]) -> Any:
        try:
            return inner(resource, arguments)
        except Died:
            world.stop("run-1")
            world.begin("create_cluster", "run-2", {})
            raise

    world.call = call  # type: ignore[method-assign]
