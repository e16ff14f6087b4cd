"""A cluster that lives: nodes break and boot, HyperPod finds out and repairs by itself, colleagues act by hand.

The truth is kept here: what is broken, who took which node and when. Only tests and judges read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from roundhouse.errors import RoundhouseError, Unavailable
from roundhouse.line.state import Cluster, ClusterEvent, Node, NodeStatus
from roundhouse.ports import BatchAnswer
from tests.steps.world import CountedCluster

if TYPE_CHECKING:
    from tests.histories.house import House

STANDS = frozenset({NodeStatus.RUNNING, NodeStatus.FAILURE})


@dataclass(frozen=True)
class Taken:
    """A node that was really taken away: by us (then under `incident_id`) or by others."""

    at: datetime
    operation: str
    instance_id: str
    group: str
    by: str  # "us" | "hyperpod" | "colleague"
    incident_id: str = ""
    canary: bool = False


class LivingCluster(CountedCluster):
    """HyperPod with a life of its own."""

    def __init__(self, house: House, name: str) -> None:
        super().__init__(house.clock, name)
        self.house = house
        self.faults: dict[str, str] = {}  # instance -> soft (a reboot heals it) | hard (only another instance does)
        self.reported: set[str] = set()  # instances that HyperPod has said to be unhealthy
        self.taken: list[Taken] = []
        self.by = ""  # who acts now, while somebody does
        self.short_until: datetime | None = None
        self.stale_until: datetime | None = None
        self.away_until: datetime | None = None
        self.by_hand = 0  # what colleagues did to the count
        self.omitted = ""  # an instance that the next list leaves out
        self._old: Cluster | None = None
        self._event_failures: list[RoundhouseError] = []
        self._empty = 0

    # What happens ----------------------------------------------------------------------------------------------
    def break_node(self, instance_id: str, fault: str) -> None:
        self.faults[instance_id] = fault

    def found_out(self, instance_id: str) -> None:
        """HyperPod notices a fault: it marks the node, tells, and repairs it if it is to."""
        node = self.by_id(instance_id)
        if node is None or node.status not in STANDS or instance_id not in self.faults:
            return
        dice = self.house.dice("found_out")
        if dice.random() < 0.6:
            self.set_status(instance_id, NodeStatus.FAILURE, "NvidiaErrorTerminate")
        repairs = self.node_recovery == "Automatic" and dice.random() < 0.6
        announced = repairs and dice.random() < 0.5
        self.reported.add(instance_id)
        self.house.bus.health(instance_id, "Unhealthy", "Replace" if announced else "None")
        if repairs:
            self.house.later(dice.choice((20, 60, 150, 600)), lambda: self.repair_itself(instance_id))

    def repair_itself(self, instance_id: str) -> None:
        """HyperPod's own agent: it may have been switched off, or somebody else may have been faster."""
        node, fault = self.by_id(instance_id), self.faults.get(instance_id)
        if node is None or node.status not in STANDS or not fault or self.node_recovery != "Automatic":
            return
        if self.status != "InService" or self.groups[node.group].role == "Controller":
            return
        operation = "reboot" if fault == "soft" and self.house.dice("own").random() < 0.6 else "replace"
        self.act(operation, node, "hyperpod")

    def act(self, operation: str, node: Node, by: str) -> None:
        """Somebody else than we takes a node."""
        self.by = by
        try:
            if operation == "replace":
                self._told_replacement(node)
            self._repaired(operation, node)
        finally:
            self.by = ""

    def delete_by_hand(self, node: Node) -> None:
        self.nodes[self.nodes.index(node)] = replace(node, status=NodeStatus.SHUTTING_DOWN)
        self._raise_target(node.group, -1)
        self.by_hand -= 1
        self.house.later(60, lambda: self._vanish(node.instance_id))

    def add_by_hand(self, group: str) -> None:
        self.by_hand += 1
        self._launch(group, 1)

    # What is seen of it ----------------------------------------------------------------------------------------
    def cluster(self, name: str) -> Cluster:
        now = self.clock.now()
        if self.away_until is not None and now < self.away_until:
            raise Unavailable("time-out")
        seen = super().cluster(name)
        if self._empty:
            self._empty -= 1
            seen = replace(seen, nodes=())
        elif self.stale_until is not None and now < self.stale_until and self._old is not None:
            seen = replace(seen, nodes=self._old.nodes)  # ListClusterNodes lags behind DescribeCluster
        else:
            self._old = seen
        if self.omitted:
            seen = replace(seen, nodes=tuple(n for n in seen.nodes if n.instance_id != self.omitted))
            self.omitted = ""
        self.house.judge.shown(seen)
        return seen

    def events(self, name: str, after: datetime, group: str | None = None) -> Sequence[ClusterEvent]:
        if self.away_until is not None and self.clock.now() < self.away_until:
            raise Unavailable("time-out")
        if self._event_failures:
            raise self._event_failures.pop(0)
        return super().events(name, after, group)

    def fail_next_events(self, error: RoundhouseError) -> None:
        self._event_failures.append(error)

    def show_nothing(self, times: int) -> None:
        self._empty += times

    # Our calls, and what they do -------------------------------------------------------------------------------
    def _calling(self, operation: str, *arguments: Any) -> RoundhouseError | None:
        self.house.judge.calling(operation, arguments)
        return super()._calling(operation, *arguments)

    def _repair(self, operation: str, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        self.by = "us"
        try:
            return super()._repair(operation, name, instance_ids)
        finally:
            self.by = ""

    def delete_nodes(self, name: str, instance_ids: Sequence[str], logical_ids: Sequence[str] = ()) -> BatchAnswer:
        before = {n.instance_id: n for n in self.nodes if n.instance_id in instance_ids}
        try:
            return super().delete_nodes(name, instance_ids, logical_ids)
        finally:
            for instance_id, node in before.items():
                now = self.by_id(instance_id or "")
                if now and now.status is NodeStatus.SHUTTING_DOWN and node.status is not NodeStatus.SHUTTING_DOWN:
                    self._note("delete_restore", node, "us")
                    self.house.later(60, lambda gone=instance_id: self._vanish(gone))

    def add(self, name: str, group: str, amount: int, token: str) -> tuple[str, ...]:
        self.by = "us"
        try:
            return super().add(name, group, amount, token)
        finally:
            self.by = ""

    def _repaired(self, operation: str, node: Node) -> None:
        at = self.nodes.index(node)
        super()._repaired(operation, node)
        self._note(operation, node, self.by or "colleague")
        self._boot(self.nodes[at], operation)

    def _launch(self, group: str, amount: int) -> tuple[str, ...]:
        if self.by == "us":
            self.house.judge.launching(group, amount)
        before = len(self.nodes)
        logical_ids = super()._launch(group, amount)
        for node in self.nodes[before:]:
            self._boot(node, "launch")
        return logical_ids

    # Parts -----------------------------------------------------------------------------------------------------
    def _note(self, operation: str, node: Node, by: str) -> None:
        taken = Taken(self.clock.now(), operation, node.instance_id or "", node.group, by)
        self.taken.append(self.house.judge.named(taken) if by == "us" else taken)

    def _boot(self, node: Node, operation: str) -> None:
        instance_id = node.instance_id or ""
        dice = self.house.dice("boot")
        seconds = dice.choice((60, 90, 150)) if operation == "reboot" else dice.choice((120, 300, 600))
        if operation != "reboot" and dice.random() < 0.08:
            self.faults[instance_id] = "hard"  # the new one is no better
        self.house.later(seconds, lambda: self._up(instance_id, operation))

    def _up(self, instance_id: str, operation: str) -> None:
        node = self.by_id(instance_id)
        if node is None or node.status is not NodeStatus.PENDING:
            return
        if operation != "reboot" and self.short_until is not None and self.clock.now() < self.short_until:
            failure = "We currently do not have sufficient capacity in the Availability Zone you requested."
            ids = {"group": node.group, "logical_id": node.logical_id}
            self.tell("Failed to provision EC2 Instance", level="Error", failure=failure, **ids)
            self.house.later(300, lambda: self._up(instance_id, operation))
            return
        self.nodes[self.nodes.index(node)] = replace(node, status=NodeStatus.RUNNING)
        self.house.slurm.of(node).silent = False
        if self.faults.get(instance_id) == "soft":
            del self.faults[instance_id]
        if instance_id in self.faults:
            self.house.later(self.house.dice("relapse").choice((5, 30, 90)), lambda: self.found_out(instance_id))
        elif instance_id in self.reported and self.house.dice("well").random() < 0.7:
            self.house.bus.health(instance_id, "Healthy")

    def _vanish(self, instance_id: str | None) -> None:
        self.nodes = [n for n in self.nodes if n.instance_id != instance_id or n.status is not NodeStatus.SHUTTING_DOWN]

    def _told_replacement(self, node: Node) -> None:
        where = f"in Cluster {self.name} and IG {node.group}"
        text = f"Instance {node.instance_id} is starting as part of instance replacement {where}"
        event = self.tell(text, group=node.group, instance_id=node.instance_id, logical_id=node.logical_id)
        self.house.bus.cluster_event(event)
