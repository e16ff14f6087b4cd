"""A legacy cluster in memory, and worlds around it: absolute counts, all or nothing, one operation at a time."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from roundhouse.build.settings import group_settings
from roundhouse.build.spec import ClusterSpec, GroupSpec
from roundhouse.errors import Conflict, InvalidRequest, NotFound
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Mode
from roundhouse.line.state import Cluster, Node, NodeStatus
from roundhouse.ports import BatchAnswer, ClusterEvent
from tests.build import samples
from tests.fakes.clocks import FakeClock
from tests.steps.samples import LADDER, account, cluster_spec, policy
from tests.steps.world import CountedCluster, World

SHORTAGE = "We currently do not have sufficient capacity to launch new ml.g6.48xlarge instances. Please try again."
SCRIPT = "Lifecycle scripts did not run successfully. Please see CloudWatch logs for details."


class LegacyCluster(CountedCluster):
    """HyperPod without continuous provisioning. `undo`: failure messages of the coming operations, one each; "" is one
    that goes well. `killed` are instances that a count below the live one has cost, `overlaps` updates that were sent
    while another of ours was under way; there must never be any."""

    def __init__(self, clock: FakeClock, name: str) -> None:
        super().__init__(clock, name)
        self.random = random.Random(7)
        self.continuous = False
        self.failure = ""
        self.undo: list[str] = []
        self.killed: list[str] = []
        self.overlaps: list[tuple[str, int]] = []
        self._ours = False
        self.updates: list[tuple[str, int, int]] = []  # group, live target, count sent
        self.settings: dict[str, dict[str, Any]] = {}
        self._before: dict[str, int] = {}
        self._new: set[str | None] = set()

    # What a test does ------------------------------------------------------------------------------------------
    def settle(self) -> None:
        """One step of whatever operation runs; nodes that shut down are gone."""
        if self.status == "RollingBack":
            self.nodes = [n for n in self.nodes if n.instance_id not in self._new]
            for group, target in self._before.items():
                self.groups[group] = replace(self.groups[group], target=target)
            self.status = "InService" if any(self._before.values()) else "Failed"
        elif self.status in {"Creating", "Updating"}:
            self.failure = self.undo.pop(0) if self.undo else ""
            if self.failure:
                self.status = "RollingBack"
                return
            self.status = "InService"
        self.nodes = [
            replace(node, status=NodeStatus.RUNNING) if node.status is NodeStatus.PENDING else node
            for node in self.nodes
            if node.status is not NodeStatus.SHUTTING_DOWN
        ]

    def somebody_updates(self, group: str, count: int) -> None:
        """A person's UpdateCluster, by the same rules; refused ones change nothing."""
        if self.status == "InService" and group in self.groups and count > self.groups[group].target:
            self._grow(group, count)
            self._ours = False

    def somebody_deletes(self, group: str) -> None:
        """A person's BatchDeleteClusterNodes of one node."""
        found = [n for n in self.nodes if n.group == group and n.status is NodeStatus.RUNNING]
        if self.status == "InService" and found:
            self.nodes[self.nodes.index(found[-1])] = replace(found[-1], status=NodeStatus.SHUTTING_DOWN)
            self._raise_target(group, -1)

    # ports.ClusterReader ---------------------------------------------------------------------------------------
    def cluster(self, name: str) -> Cluster:
        read = super().cluster(name)
        leaving = [n.group for n in self.nodes if n.status is NodeStatus.SHUTTING_DOWN]
        groups = {
            each.name: replace(
                each, current=each.current - leaving.count(each.name), settings=self.settings.get(each.name, {})
            )
            for each in read.groups.values()
        }
        return replace(read, groups=groups, continuous=self.continuous, failure=self.failure)

    def events(self, name: str, after: datetime, group: str | None = None) -> Sequence[ClusterEvent]:
        self._reading(name)
        raise InvalidRequest("a legacy cluster has no events", operation="ListClusterEvents")

    def event(self, name: str, event_id: str) -> ClusterEvent:
        raise InvalidRequest("a legacy cluster has no events", operation="DescribeClusterEvent")

    # ports.ClusterWriter ---------------------------------------------------------------------------------------
    def create(self, spec: ClusterSpec, counts: dict[str, int]) -> str:
        if not self.status:
            self._before, self._new = dict.fromkeys(counts, 0), set()
            self.settings = {group.name: group_settings(spec, group) for group in spec.groups}
        try:
            return super().create(spec, counts)
        finally:
            self._new |= {n.instance_id for n in self.nodes} if self.status == "Creating" else set()

    def add(self, name: str, group: str, amount: int, token: str) -> tuple[str, ...]:
        raise InvalidRequest("BatchAddClusterNodes needs continuous provisioning", operation="BatchAddClusterNodes")

    def set_count(self, name: str, group: str, count: int, settings: Mapping[str, Any]) -> None:
        if self._ours and self.status not in {"InService", ""}:
            self.overlaps.append((group, count))
        lost = self._calling("set_count", group, count)
        self._exists(name)
        if self.status != "InService":
            raise Conflict(f"the cluster is {self.status}")
        if group not in self.groups:
            raise NotFound(f"there is no group {group}")
        assert settings == self.settings[group], "something else than the count would change"
        live = self.groups[group].target
        self.updates.append((group, live, count))
        if count < live:
            victims = self.random.sample([n for n in self.nodes if n.group == group], live - count)
            self.killed += [n.instance_id or "" for n in victims]
        self._grow(group, count)
        self._ours = True
        self._answer(lost)

    def delete_nodes(self, name: str, instance_ids: Sequence[str], logical_ids: Sequence[str] = ()) -> BatchAnswer:
        assert not logical_ids, "a legacy cluster has no logical ids"
        self._idle("BatchDeleteClusterNodes")
        return super().delete_nodes(name, instance_ids)

    def delete_cluster(self, arn: str) -> None:
        if self.status not in {"InService", "Failed", ""}:
            raise Conflict(f"the cluster is {self.status}")
        super().delete_cluster(arn)

    # Parts -----------------------------------------------------------------------------------------------------
    def _repair(self, operation: str, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        self._idle(operation)
        return super()._repair(operation, name, instance_ids)

    def _idle(self, operation: str) -> None:
        if self.status != "InService":
            raise InvalidRequest(f"cluster {self.name} is {self.status}", operation=operation)

    def _grow(self, group: str, count: int) -> None:
        self._before = {each.name: each.target for each in self.groups.values()}
        there = {n.instance_id for n in self.nodes}
        self._launch(group, max(0, count - self.groups[group].target))
        self._new = {n.instance_id for n in self.nodes} - there
        self.failure, self.status = "", "Updating"

    def _fresh(self, group: str) -> Node:
        return replace(super()._fresh(group), logical_id=None)


def legacy_spec(group: GroupSpec | None = None, **changes: Any) -> ClusterSpec:
    """A controller and five workers under a training plan, in stages of three, four and five."""
    return cluster_spec(group, provisioning_mode="legacy", **changes)


def legacy_of(world: World) -> LegacyCluster:
    assert isinstance(world.cluster, LegacyCluster)
    return world.cluster


def empty_account(spec: ClusterSpec | None = None, **changes: Any) -> World:
    """No cluster yet."""
    return account(World(spec or legacy_spec(), policy(**changes), made_of=LegacyCluster))


def house(size: int = 20, mode: Mode = Mode.ACT, ladder: tuple[Rung, ...] = LADDER, **changes: Any) -> World:
    """A legacy cluster of `size` Running workers and a controller, created by us and verified."""
    spec = legacy_spec(samples.group(count=size))
    world = account(World(spec, policy(mode, ladder, **changes), made_of=LegacyCluster))
    cluster = legacy_of(world)
    cluster.seed("controller", 1, "Controller", samples.CPU)
    cluster.seed("workers", size)
    cluster.node_recovery = "None"
    cluster.settings = {group.name: group_settings(spec, group) for group in spec.groups}
    cluster.groups["workers"] = replace(cluster.groups["workers"], training_plan_arn=samples.PLAN)
    cluster.highest["workers"] = size
    world.runs.put(samples.run(plan_in_use_before={samples.PLAN: 0}, status="done"))
    return world
