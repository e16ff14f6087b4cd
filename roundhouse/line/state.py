"""Live state as the line sees it: nodes, groups, clusters. Pure; adapters fill these from DescribeCluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class NodeStatus(StrEnum):
    """HyperPod's node statuses (late 2026), plus UNKNOWN for one we have never seen."""

    PENDING = "Pending"
    DEEP_HEALTH_CHECK = "DeepHealthCheckInProgress"
    RUNNING = "Running"
    FAILURE = "Failure"
    SHUTTING_DOWN = "ShuttingDown"
    SYSTEM_UPDATING = "SystemUpdating"
    NOT_FOUND = "NotFound"
    UNKNOWN = "Unknown"

    @classmethod
    def parse(cls, text: str) -> NodeStatus:
        """The status called `text`; UNKNOWN for a name that is not in our list."""
        try:
            return cls(text)
        except ValueError:
            return cls.UNKNOWN


_UPDATING = frozenset({"InProgress", "RollbackInProgress"})  # of a group's SoftwareUpdateStatus
GONE = "Gone"  # our word for the status of a cluster that does not exist (any more)


@dataclass(frozen=True, slots=True)
class Node:
    """One node as HyperPod lists it now. `instance_id` is None while no instance stands behind a logical id."""

    instance_id: str | None
    logical_id: str | None
    group: str
    status: NodeStatus
    message: str = ""
    instance_type: str = ""
    hostname: str | None = None  # PrivateDnsHostname; survives a replacement, so never an identity
    launched_at: datetime | None = None
    updated_at: datetime | None = None  # when its software was last updated: the root volume is another since


@dataclass(frozen=True, slots=True)
class Group:
    """Counts of one instance group. `role` is Controller, Login or Compute."""

    name: str
    instance_type: str
    current: int
    target: int
    role: str = "Compute"
    status: str = "InService"
    training_plan_arn: str | None = None
    software_update: str = ""  # SoftwareUpdateStatus: Pending, InProgress, RollbackInProgress, …
    # As DescribeCluster tells it, in the words of a request and without counts: UpdateCluster wants all of it again.
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """One node in the controller agent's snapshot. `state` is Slurm's own compound text, e.g. `DOWN+DRAIN`.

    `instance_id` is what the agent found behind the name when it looked; None when it does not know. `untold`, of kept
    snapshots: what is wrong with it was expected at the time, and is told again by the next snapshot if it lasts.
    """

    name: str
    state: str
    reason: str = ""
    jobs: tuple[int, ...] = ()
    instance_id: str | None = None
    untold: bool = False


@dataclass(frozen=True, slots=True)
class SlurmSnapshot:
    """What the controller agent last reported. `sequence` grows by one a report; nodes by Slurm name."""

    sequence: int
    taken_at: datetime
    nodes: dict[str, SlurmNode] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """One HyperPod cluster event. `reservation_arn` and `failure` come from whichever metadata subtree holds them."""

    event_id: str
    at: datetime
    level: str  # Info | Warn | Error | ""
    resource_type: str
    description: str
    group: str | None = None
    instance_id: str | None = None
    logical_id: str | None = None
    failure: str = ""
    reservation_arn: str | None = None
    lifecycle_state: str | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """All automatic action stopped by a person."""

    by: str
    why: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as read just now. `slurm` is None when there is no snapshot, or none young enough: unknown.

    `continuous` is its provisioning mode; a legacy cluster has neither logical ids nor cluster events.
    """

    name: str
    arn: str
    status: str
    node_recovery: str  # Automatic | None
    groups: dict[str, Group]
    nodes: tuple[Node, ...]
    read_at: datetime
    slurm: SlurmSnapshot | None = None
    failure: str = ""  # HyperPod's FailureMessage for the cluster as a whole
    continuous: bool = True

    def by_instance(self, instance_id: str) -> Node | None:
        """The node that instance stands behind now, or None."""
        return next((node for node in self.nodes if node.instance_id == instance_id), None)

    def by_logical(self, logical_id: str) -> Node | None:
        """The node of that logical id now, or None (it may be between two launch attempts)."""
        return next((node for node in self.nodes if node.logical_id == logical_id), None)

    def by_hostname(self, name: str) -> Node | None:
        """The node that carries that Slurm name now: good for finding an instance, never for identifying one."""
        return next((node for node in self.nodes if node.hostname and node.hostname.split(".")[0] == name), None)

    def role(self, group: str | None) -> str:
        """Controller, Login or Compute; Compute for a group we do not know."""
        known = self.groups.get(group) if group else None
        return known.role if known else "Compute"

    def running(self, group: str) -> int:
        """How many nodes of `group` are Running: the only count a stage may trust."""
        return sum(1 for node in self.nodes if node.group == group and node.status is NodeStatus.RUNNING)

    def patching(self, group: str | None) -> str:
        """How HyperPod patches the whole cluster or that group now, in words; "" when it does not, or does elsewhere.

        A group not known (None) is patched when any is.
        """
        if self.status == "SystemUpdating":
            return "the cluster is SystemUpdating"
        for each in self.groups.values():
            if group not in {None, each.name}:
                continue
            if each.status == "SystemUpdating" or each.software_update in _UPDATING:
                state = each.software_update if each.software_update in _UPDATING else each.status
                return f"group {each.name} is being updated ({state})"
        nodes = [n for n in self.nodes if n.status is NodeStatus.SYSTEM_UPDATING and group in {None, n.group}]
        return f"{len(nodes)} nodes of {nodes[0].group} are SystemUpdating" if nodes else ""

    def controllers(self) -> list[Node] | None:
        """The controller nodes that are listed; None when no group is known to be the controller's."""
        names = {g.name for g in self.groups.values() if g.role == "Controller" and g.target > 0}
        return [node for node in self.nodes if node.group in names] if names else None

    @property
    def controller_away(self) -> str:
        """Why nobody controls Slurm now, in words; "" while a controller is Running, or when that is not known."""
        listed = self.controllers()
        if listed is None or not self.nodes or any(node.status is NodeStatus.RUNNING for node in listed):
            return ""
        if not listed:
            return "the controller is not listed"
        return f"the controller {listed[0].instance_id or listed[0].logical_id} is {listed[0].status}"

    @property
    def controller_lost(self) -> bool:
        """True when the controller is not merely coming back: in Failure, or not there at all."""
        away = self.controllers() or []
        return bool(self.controller_away) and all(node.status is NodeStatus.FAILURE for node in away)
