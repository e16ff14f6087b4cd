"""Legacy creations and repairs with the real adapters on the simulated HyperPod: its timing, its roll-backs, its random
victims. Every request and answer is checked against the service model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from roundhouse.aws.hyperpod_reader import HyperpodReader
from roundhouse.aws.hyperpod_writer import HyperpodWriter
from roundhouse.aws.surroundings import AwsSurroundings
from roundhouse.build.spec import ClusterSpec, StageWaits
from roundhouse.line.incident import Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.state import Cluster
from roundhouse.ports import BatchAnswer, ClusterEvent, PlanState
from simulator.service import ServiceError
from tests.build import samples
from tests.fakes.clocks import FakeClock
from tests.simulator_world.harness import PLAN, Bench, scenario
from tests.steps.legacy import legacy_spec
from tests.steps.samples import account, health, policy
from tests.steps.test_creation import record
from tests.steps.world import CountedCluster, LivePlans, World

CHANGES = {"CreateCluster", "UpdateCluster", "DeleteCluster"}


class Client:
    """A botocore client's face on the simulator. `lose`: operations whose next answer is lost."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.lose: list[str] = []

    def __getattr__(self, name: str) -> Any:
        operation = "".join(part.capitalize() for part in name.split("_"))
        return lambda **params: self._call(operation, params)

    def get_paginator(self, name: str) -> Any:
        operation = "".join(part.capitalize() for part in name.split("_"))
        client = self

        class Pages:
            def paginate(self, **query: Any) -> Iterator[Any]:
                query.pop("PaginationConfig", None)
                token: dict[str, Any] = {}
                while True:
                    answer = client._call(operation, {**query, **token})
                    yield answer
                    if not answer.get("NextToken"):
                        return
                    token = {"NextToken": answer["NextToken"]}

        return Pages()

    def _call(self, operation: str, params: dict[str, Any]) -> Any:
        try:
            answer = self.bench.call(operation, params)
        except ServiceError as error:
            raise ClientError({"Error": {"Code": error.code, "Message": error.message}}, operation) from None
        if operation in self.lose:
            self.lose.remove(operation)
            raise ReadTimeoutError(endpoint_url="https://sagemaker")
        return answer


class Simulated(CountedCluster):
    """The simulated HyperPod behind the real adapters; time is the world's."""

    def __init__(self, clock: FakeClock, name: str, table: dict[str, Any]) -> None:
        self._arn = ""
        super().__init__(clock, name)
        self.bench = Bench(table)
        self.bench.clock.time = clock.now()
        self.bench.world.tick(clock.now())
        self.client = Client(self.bench)
        self.reader = HyperpodReader(self.client, clock, lambda: {"controller": "Controller"})
        self.writer = HyperpodWriter(self.client)

    def settle(self) -> None:
        self.bench.run(seconds=max(0.0, (self.clock.now() - self.bench.clock.time).total_seconds()))

    @property
    def arn(self) -> str:
        return str(self.bench.describe()["ClusterArn"]) if self._arn == "live" else self._arn

    @arn.setter
    def arn(self, value: str) -> None:
        self._arn = value

    def cluster(self, name: str) -> Cluster:
        return self.reader.cluster(name)

    def events(self, name: str, after: datetime, group: str | None = None) -> Sequence[ClusterEvent]:
        return self.reader.events(name, after, group)

    def event(self, name: str, event_id: str) -> ClusterEvent:
        return self.reader.event(name, event_id)

    def create(self, spec: ClusterSpec, counts: dict[str, int]) -> str:
        self._arn = "live"
        return self.writer.create(spec, counts)

    def set_count(self, name: str, group: str, count: int, settings: Any) -> None:
        self.writer.set_count(name, group, count, settings)

    def delete_nodes(self, name: str, instance_ids: Sequence[str], logical_ids: Sequence[str] = ()) -> BatchAnswer:
        return self.writer.delete_nodes(name, instance_ids, logical_ids)

    def reboot(self, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        return self.writer.reboot(name, instance_ids)

    def replace(self, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        return self.writer.replace(name, instance_ids)

    def delete_cluster(self, arn: str) -> None:
        self.writer.delete_cluster(arn)

    def counts_sent(self) -> list[tuple[str, int | None]]:
        """Calls that changed the cluster as a whole, with the workers' count where they name one."""
        found: list[tuple[str, int | None]] = []
        for call in self.bench.control("calls")["calls"]:
            if call["operation"] in CHANGES:
                groups = {g["InstanceGroupName"]: g["InstanceCount"] for g in call["params"].get("InstanceGroups", [])}
                found.append((call["operation"], groups.get("workers")))
        return found


class SimulatedPlans(LivePlans):
    """Counters as DescribeTrainingPlan tells them."""

    simulated: Simulated

    def plan(self, arn: str) -> PlanState:
        return AwsSurroundings(lambda service, **_: self.simulated.client, region="us-west-2").plan(arn)


def made(rung: Rung = Rung.DELETE_RESTORE, **changes: Any) -> tuple[World, Simulated]:
    """An empty account on the simulator, with a plan of eight."""
    discount = replace(samples.BY_PLAN, training_plan_arn=PLAN)
    spec = legacy_spec(samples.group(count=5, discount=discount), node_recovery="None", waits=StageWaits())
    table = scenario(**changes)
    world = account(
        World(
            spec,
            policy(ladder=(rung, Rung.HUMAN), repair_timeout_s=7200),
            boot_s=0,
            made_of=lambda clock, name: Simulated(clock, name, table),
        )
    )
    assert isinstance(world.cluster, Simulated)
    around = SimulatedPlans()
    around.__dict__.update(vars(world.surroundings))
    around.simulated = world.cluster
    world.surroundings = around
    return world, world.cluster


def ids(cluster: Simulated) -> set[str]:
    return {n["instance_id"] for n in cluster.bench.nodes() if n["status"] == "Running"}


def test_creation_on_the_simulator() -> None:
    world, cluster = made()
    execution = world.create()
    world.run()
    assert execution.output["status"] == "done", (execution.visited[-9:], execution.errors, record(world).step)
    assert cluster.counts_sent() == [("CreateCluster", 3), ("UpdateCluster", 4), ("UpdateCluster", 5)]
    assert len(ids(cluster)) == 5
    assert {node["billed"] for node in cluster.bench.nodes()} == {"reserved"}
    assert [r.verdict for r in record(world).stages if r.group == "workers"] == ["VERIFIED"] * 3


def test_update_that_the_simulator_undoes_and_lost_answers() -> None:
    short = {"kind": "capacity_shortage", "group": "workers", "group_target_above": 3}
    world, cluster = made(fault=[short])
    cluster.client.lose = ["CreateCluster", "UpdateCluster", "UpdateCluster", "UpdateCluster"]
    execution = world.create()
    world.run(for_s=2 * 3600)
    tried = len(cluster.counts_sent()) - 1
    assert tried > 1
    assert set(cluster.counts_sent()[1:]) == {("UpdateCluster", 4)}
    assert len(ids(cluster)) == 3, "what stood before stands still"
    cluster.bench.control("inject", clear=True)
    world.run()
    assert execution.output["status"] == "done", (execution.visited[-9:], execution.errors, record(world).step)
    assert cluster.counts_sent()[-2:] == [("UpdateCluster", 4), ("UpdateCluster", 5)]
    assert len(ids(cluster)) == 5


def test_creation_that_the_simulator_undoes_is_cleared_away() -> None:
    world, cluster = made(fault=[{"kind": "lifecycle_failure", "group": "workers", "node": 1, "attempts": 1}])
    execution = world.create()
    world.run()
    assert execution.status == "FAILED"
    assert cluster.counts_sent() == [("CreateCluster", 3), ("DeleteCluster", None)]
    assert "Lifecycle scripts did not run" in record(world).step
    second = world.create("run-2")
    world.run()
    assert second.output["status"] == "done", (second.visited[-9:], second.errors, record(world).step)


@pytest.mark.parametrize("rung", [Rung.REBOOT, Rung.REPLACE, Rung.DELETE_RESTORE])
@pytest.mark.parametrize("lost", [False, True], ids=["answered", "answers lost"])
def test_repair_on_the_simulator(rung: Rung, lost: bool) -> None:
    world, cluster = made(rung)
    world.create()
    world.run()
    before = ids(cluster)
    old = cluster.bench.nodes()[2]
    if lost and rung is not Rung.REBOOT:
        cluster.client.lose = ["BatchReplaceClusterNodes", "BatchDeleteClusterNodes", "UpdateCluster"]
    assert world.take(health(world, old["instance_id"])) == []
    world.run()
    [incident] = world.incidents.records.values()
    [repair] = [e for e in world.executions.values() if e.machine == "remediate_node"]
    assert incident.outcome is Outcome.REPAIRED, (incident.decision, repair.visited[-9:], repair.errors)
    after = ids(cluster)
    assert len(after) == 5
    if rung is Rung.REBOOT:
        assert after == before
        return
    assert before - after == {old["instance_id"]}, "nobody else was touched"
    assert after - before == {incident.current_instance_id}
    if rung is Rung.REPLACE:
        heir = next(n for n in cluster.bench.nodes() if n["instance_id"] == incident.current_instance_id)
        assert heir["hostname"] == old["hostname"]
    else:
        assert cluster.counts_sent()[-1:] == [("UpdateCluster", 5)]


def test_person_who_grows_the_cluster_at_the_same_time_loses_no_node() -> None:
    world, cluster = made()
    world.create()
    done: list[int] = []

    def grow() -> None:
        known = cluster.bench.control("nodes")["clusters"]
        if not done and known and known[0]["status"] == "InService":
            done.append(1)
            settings = cluster.cluster("train").groups["workers"].settings
            cluster.bench.call(
                "UpdateCluster", {"ClusterName": "train", "InstanceGroups": [{**settings, "InstanceCount": 5}]}
            )

    world.each_moment = grow
    world.run()
    assert done
    assert world.executions["run-1"].output["status"] == "done", world.executions["run-1"].errors
    assert cluster.counts_sent() == [("CreateCluster", 3), ("UpdateCluster", 5)]
    assert len(ids(cluster)) == 5
