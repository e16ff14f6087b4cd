"""A world whose HyperPod holds several clusters, and what may become of a throw-away one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from roundhouse.build.rehearsal import Rehearsal, Result
from roundhouse.build.spec import ClusterSpec, RehearsalTerms
from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.state import NodeStatus
from tests.build import samples
from tests.fakes.cluster import FakeCluster
from tests.fakes.clusters import FakeClusters
from tests.steps.asl import Execution
from tests.steps.samples import account, policy
from tests.steps.world import World

ADDRESS = "s3://sagemaker-unit/lifecycle/on_create.sh"
HELPER = "s3://sagemaker-unit/lifecycle/lib/mount.sh"
TERMS = RehearsalTerms(required=True, timeout_s=1800)
OTHER = replace(samples.group("login", 1, (1.0,), samples.NO_DISCOUNT, "Login"), lifecycle_script="login.sh")


def succeed(cluster: FakeCluster) -> None:
    cluster.settle()
    script(cluster, "Started")
    script(cluster, "Succeeded")


def fail(cluster: FakeCluster) -> None:
    """The script fails, and a controller that fails is the end of the cluster."""
    script(cluster, "Started")
    script(cluster, "Failed")
    cluster.status, cluster.failure = "Failed", "Lifecycle scripts did not run successfully."
    cluster.set_status(_node(cluster), NodeStatus.FAILURE, cluster.failure)


def hang(cluster: FakeCluster) -> None:
    if not any("has Started" in event.description for event in cluster.told):
        script(cluster, "Started")


def stay(cluster: FakeCluster) -> None:
    """Nothing comes."""


def starve(cluster: FakeCluster) -> None:
    cluster.status, cluster.failure = "Failed", "We currently do not have sufficient capacity to launch instances."


def silence(cluster: FakeCluster) -> None:
    """It runs, and nobody says how its scripts ended."""
    cluster.settle()


def _node(cluster: FakeCluster) -> str:
    return cluster.nodes[0].instance_id or ""


def script(cluster: FakeCluster, state: str) -> None:
    text = f"Instance lifecycle script execution for EC2InstanceId {_node(cluster)} has {state}"
    cluster.tell(text, group="controller", instance_id=_node(cluster), lifecycle_state=state)


class Stage(World):
    """A world whose HyperPod holds several clusters. `outcome` is what becomes of a throw-away one."""

    def __init__(self, spec: ClusterSpec, outcome: Callable[[FakeCluster], None] = succeed) -> None:
        super().__init__(spec, policy())
        account(self)
        self.surroundings.objects.add(HELPER)
        self.clusters = FakeClusters(self.clock)
        self.clusters.outcome = outcome
        self.cluster = self.clusters  # type: ignore[assignment]

    def rehearse(self, name: str = "r-1") -> Execution:
        return self.begin("rehearse", name, {"by": "sam"})

    def tidy(self) -> Any:
        return self._invoke("end_rehearsal", {})

    def record(self) -> Rehearsal:
        newest = self.rehearsals.newest()
        assert newest is not None
        return newest


def stage(outcome: Callable[[FakeCluster], None] = succeed, **changes: Any) -> Stage:
    return Stage(samples.spec(samples.group(count=5), **{"rehearsal": TERMS, **changes}), outcome)


def ended(world: Stage, result: Result, name: str = "r-1") -> None:
    """It ended with that result, kept under its digest, and nothing stands."""
    record, execution = world.record(), world.executions[name]
    context = (record.reason, execution.visited[-6:], execution.errors, world.gate.died)
    assert record.result is result, context
    assert not record.under_way, context
    assert execution.status == ("SUCCEEDED" if result is Result.PASSED else "FAILED"), context
    assert world.clusters.standing() == [], context


def titles(world: Stage, kind: NoticeKind) -> list[str]:
    return [notice.title for notice in world.told(kind)]


def _calls() -> int:
    world = stage()
    world.rehearse()
    world.run()
    return len(world.gate.calls)


POINTS = range(1, _calls() + 1)
