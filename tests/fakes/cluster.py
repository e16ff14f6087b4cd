"""A HyperPod cluster in memory: `ports.ClusterReader` and `ports.ClusterWriter` over the same nodes.

Nothing moves by itself: a test calls `settle` when what was begun shall be done. It knows the rules that the line leans
on (client tokens, controllers that cannot be deleted, ids that change with a replacement, answers that get lost) and no
others; timing, capacity and bills are the simulator's business.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from roundhouse.build.spec import ClusterSpec
from roundhouse.errors import BadInput, Conflict, InUse, NotFound, RoundhouseError, Unavailable
from roundhouse.line.state import Cluster, Group, Node, NodeStatus
from roundhouse.ports import BatchAnswer, Clock, ClusterEvent

RESERVED = "Found CapacityReservation ID cr-0123456789abcdef0 for Cluster {} and IG {}, using reserved capacity"
ON_DEMAND = "No CapacityReservation found for Cluster {} and IG {}, using on-demand pool"


@dataclass(frozen=True)
class Call:
    """One call that changes: its name and the ids or counts that it named."""

    operation: str
    arguments: tuple[object, ...]


class FakeCluster:
    def __init__(self, clock: Clock, name: str = "train") -> None:
        self.clock = clock
        self.name = name
        self.arn = f"arn:aws:sagemaker:us-west-2:111122223333:cluster/{'a1b2c3d4e5f6'}"
        self.status = ""  # "" while there is no cluster
        self.node_recovery = "Automatic"
        self.groups: dict[str, Group] = {}
        self.nodes: list[Node] = []
        self.calls: list[Call] = []
        self.told: list[ClusterEvent] = []
        self.failure = ""
        self.tagged: dict[str, str] = {}
        self.on_demand: set[str] = set()  # groups whose launches miss their reservation
        self._tokens: dict[str, tuple[str, int, tuple[str, ...]]] = {}
        self._failures: list[tuple[RoundhouseError, bool]] = []
        self._read_failures: list[RoundhouseError] = []
        self._count = 0
        self._random = random.Random(3)

    # What a test does ------------------------------------------------------------------------------------------
    def seed(
        self, group: str, count: int, role: str = "Compute", instance_type: str = "ml.g6.48xlarge"
    ) -> tuple[str, ...]:
        """An InService cluster with `count` Running nodes in `group`; returns their instance ids."""
        self.status = "InService"
        self.groups[group] = Group(group, instance_type, current=count, target=count, role=role)
        fresh = [replace(self._fresh(group), status=NodeStatus.RUNNING) for _ in range(count)]
        self.nodes += fresh
        return tuple(node.instance_id or "" for node in fresh)

    def settle(self) -> None:
        """What was begun is done: pending nodes run, nodes that shut down are gone."""
        self.nodes = [
            replace(node, status=NodeStatus.RUNNING) if node.status is NodeStatus.PENDING else node
            for node in self.nodes
            if node.status is not NodeStatus.SHUTTING_DOWN
        ]
        if self.status == "Creating":
            self.status = "InService"

    def set_status(self, instance_id: str, status: NodeStatus, message: str = "") -> None:
        self.nodes[self._at(instance_id)] = replace(self.nodes[self._at(instance_id)], status=status, message=message)

    def tell(self, description: str, **members: object) -> ClusterEvent:
        """Add a cluster event of now."""
        event = ClusterEvent(
            event_id=f"00000000-0000-4000-8000-{len(self.told):012x}",
            at=self.clock.now(),
            level="Info",
            resource_type="Instance",
            description=description,
        )
        self.told.append(replace(event, **members))  # type: ignore[arg-type]
        return self.told[-1]

    def fail_next(self, error: RoundhouseError) -> None:
        """The next call that changes raises `error` and changes nothing."""
        self._failures.append((error, False))

    def lose_next_answer(self) -> None:
        """The next call that changes takes effect, and raises Unavailable."""
        self._failures.append((Unavailable("the answer was lost"), True))

    def fail_next_read(self, error: RoundhouseError) -> None:
        self._read_failures.append(error)

    # ports.ClusterReader ---------------------------------------------------------------------------------------
    def cluster(self, name: str) -> Cluster:
        self._reading(name)
        groups = {
            group.name: replace(group, current=sum(1 for n in self.nodes if n.group == group.name and n.instance_id))
            for group in self.groups.values()
        }
        nodes, now = tuple(self.nodes), self.clock.now()
        return Cluster(self.name, self.arn, self.status, self.node_recovery, groups, nodes, now, failure=self.failure)

    def events(self, name: str, after: datetime, group: str | None = None) -> Sequence[ClusterEvent]:
        self._reading(name)
        return sorted((e for e in self.told if e.at > after and group in {None, e.group}), key=lambda e: e.at)

    def event(self, name: str, event_id: str) -> ClusterEvent:
        self._reading(name)
        for event in self.told:
            if event.event_id == event_id:
                return event
        raise NotFound(f"there is no event {event_id}")

    def tags(self, arn: str) -> dict[str, str]:
        self._reading(arn)
        return dict(self.tagged)

    # ports.ClusterWriter ---------------------------------------------------------------------------------------
    def create(self, spec: ClusterSpec, counts: dict[str, int]) -> str:
        lost = self._calling("create", spec.cluster, tuple(sorted(counts.items())))
        if self.status:
            raise InUse(f"cluster {spec.cluster} exists")
        self.name, self.status, self.node_recovery = spec.cluster, "Creating", spec.node_recovery
        self.tagged = dict(spec.tags)
        for group in spec.groups:
            arn = group.discount.training_plan_arn
            self.groups[group.name] = Group(
                group.name, group.instance_type, 0, 0, role=group.role, training_plan_arn=arn
            )
            self._launch(group.name, counts.get(group.name, 0))
        self._answer(lost)
        return self.arn

    def add(self, name: str, group: str, amount: int, token: str) -> tuple[str, ...]:
        if not 1 <= amount <= 50:
            raise BadInput(f"{amount} nodes: 1 to 50 a call")
        lost = self._calling("add", group, amount, token)
        self._exists(name)
        if group not in self.groups:
            raise NotFound(f"there is no group {group}")
        if token not in self._tokens:
            self._tokens[token] = (group, amount, self._launch(group, amount))
        known_group, known_amount, ids = self._tokens[token]
        if (known_group, known_amount) != (group, amount):
            raise Conflict(f"token {token} was used for {known_amount} nodes of {known_group}")
        self._answer(lost)
        return ids

    def set_count(self, name: str, group: str, count: int, settings: Mapping[str, Any]) -> None:
        lost = self._calling("set_count", group, count)
        self._exists(name)
        if group not in self.groups:
            raise NotFound(f"there is no group {group}")
        surplus = self.groups[group].target - count
        if surplus > 0:  # HyperPod picks the victims
            members = [n for n in self.nodes if n.group == group and n.status is not NodeStatus.SHUTTING_DOWN]
            for node in self._random.sample(members, surplus):
                self.nodes[self.nodes.index(node)] = replace(node, status=NodeStatus.SHUTTING_DOWN)
                self._raise_target(group, -1)
        self._launch(group, max(0, -surplus))
        self._answer(lost)

    def delete_nodes(self, name: str, instance_ids: Sequence[str], logical_ids: Sequence[str] = ()) -> BatchAnswer:
        if not 1 <= len(instance_ids) + len(logical_ids) <= 50:
            raise BadInput("1 to 50 ids a call")
        lost = self._calling("delete_nodes", *instance_ids, *logical_ids)
        self._exists(name)
        accepted: list[str] = []
        failed: dict[str, tuple[str, str]] = {}
        for one in (*instance_ids, *logical_ids):
            found = next((n for n in self.nodes if one in {n.instance_id, n.logical_id}), None)
            if found is None:
                failed[one] = ("NodeIdNotFound", "no such node")
            elif self.groups[found.group].role == "Controller":
                failed[one] = ("NodeIdInUse", "a controller cannot be deleted")
            elif found.status is NodeStatus.SHUTTING_DOWN:
                failed[one] = ("InvalidNodeStatus", "the node is shutting down")
            else:
                self.nodes[self.nodes.index(found)] = replace(found, status=NodeStatus.SHUTTING_DOWN)
                self._raise_target(found.group, -1)
                accepted.append(one)
        self._answer(lost)
        return BatchAnswer(tuple(accepted), failed)

    def reboot(self, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        return self._repair("reboot", name, instance_ids)

    def replace(self, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        return self._repair("replace", name, instance_ids)

    def delete_cluster(self, arn: str) -> None:
        lost = self._calling("delete_cluster", arn)
        self._exists(arn)
        self.status, self.nodes, self.groups = "", [], {}
        self._answer(lost)

    # Parts -----------------------------------------------------------------------------------------------------
    def _repair(self, operation: str, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        if not 1 <= len(instance_ids) <= 25:
            raise BadInput("1 to 25 ids a call")
        lost = self._calling(operation, *instance_ids)
        self._exists(name)
        accepted: list[str] = []
        failed: dict[str, tuple[str, str]] = {}
        for one in instance_ids:
            found = next((n for n in self.nodes if n.instance_id == one), None)
            if found is None:
                failed[one] = ("InstanceIdNotFound", "no such instance")
            elif operation == "replace" and self.groups[found.group].role == "Controller":
                failed[one] = ("InvalidInstanceStatus", "a controller cannot be replaced")
            elif found.status in {NodeStatus.PENDING, NodeStatus.SHUTTING_DOWN}:
                failed[one] = ("InstanceIdInUse", "another operation is under way")
            else:
                self._repaired(operation, found)
                accepted.append(one)
        self._answer(lost)
        return BatchAnswer(tuple(accepted), failed)

    def _repaired(self, operation: str, node: Node) -> None:
        pending = replace(node, status=NodeStatus.PENDING, message="")
        if operation == "replace":  # another instance under the same logical id and host name
            fresh = self._fresh(node.group)
            pending = replace(pending, instance_id=fresh.instance_id, launched_at=fresh.launched_at)
            self._tell_capacity(pending)
        self.nodes[self.nodes.index(node)] = pending

    def _launch(self, group: str, amount: int) -> tuple[str, ...]:
        fresh = [self._fresh(group) for _ in range(amount)]
        self.nodes += fresh
        self._raise_target(group, amount)
        for node in fresh:
            self._tell_capacity(node)
        return tuple(node.logical_id or "" for node in fresh)

    def _tell_capacity(self, node: Node) -> None:
        text = ON_DEMAND if node.group in self.on_demand else RESERVED
        members = {"group": node.group, "instance_id": node.instance_id, "logical_id": node.logical_id}
        self.tell(text.format(self.name, node.group), **members)

    def _fresh(self, group: str) -> Node:
        self._count += 1
        return Node(
            instance_id=f"i-{self._count:017x}",
            logical_id=f"00000000-0000-4000-9000-{self._count:012x}",
            group=group,
            status=NodeStatus.PENDING,
            instance_type=self.groups[group].instance_type,
            hostname=f"ip-10-0-{self._count // 250}-{self._count % 250}.us-west-2.compute.internal",
            launched_at=self.clock.now(),
        )

    def _raise_target(self, group: str, by: int) -> None:
        self.groups[group] = replace(self.groups[group], target=self.groups[group].target + by)

    def _at(self, instance_id: str) -> int:
        return next(at for at, node in enumerate(self.nodes) if node.instance_id == instance_id)

    def _exists(self, name: str) -> None:
        if not self.status or name not in {self.name, self.arn}:
            raise NotFound(f"there is no cluster {name}")

    def _reading(self, name: str) -> None:
        if self._read_failures:
            raise self._read_failures.pop(0)
        self._exists(name)

    def _calling(self, operation: str, *arguments: object) -> RoundhouseError | None:
        self.calls.append(Call(operation, arguments))
        if not self._failures:
            return None
        error, after = self._failures.pop(0)
        if not after:
            raise error
        return error

    @staticmethod
    def _answer(lost: RoundhouseError | None) -> None:
        if lost is not None:
            raise lost
