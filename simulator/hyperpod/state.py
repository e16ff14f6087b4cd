"""What a simulated account remembers about its clusters. Plain data; imports the standard library only."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from simulator.hyperpod.ground.capacity import Lease
from simulator.hyperpod.ground.meter import Charge


@dataclass
class Ailment:
    """What is wrong with an instance, and how the health agent will tell it."""

    fault: str
    repair_action: str
    """What the health event says HyperPod will do: None, Reboot or Replace."""
    fixed_by: str
    """What mends it: 'reboot' or 'replace'."""
    since: str
    tell_event: bool
    tell_log: bool
    record: dict[str, Any] | None = None
    told: bool = False


@dataclass
class Node:
    """One logical node. The logical id, host name and address stay; instance ids come and go."""

    logical_id: str
    group: str
    index: int
    """0-based number of the node in its group, in order of creation; faults name nodes by it."""
    instance_type: str
    created: datetime
    subnet_id: str
    first_call: bool
    """Asked for by the CreateCluster call itself: what the first-call latch looks at."""
    az_filter: tuple[str, ...] = ()
    instance_id: str | None = None
    status: str = "Pending"
    message: str = ""
    launch_time: datetime | None = None
    address: str | None = None
    hostname: str | None = None
    provisioned: bool = False
    vanished: bool = False
    lease: Lease | None = None
    charge: Charge | None = None
    attempts: int = 0
    """Launches tried for the present instance; earlier instances are not counted."""
    launches: list[dict[str, Any]] = field(default_factory=list)
    """Every launch attempt: instance id, time, outcome."""
    busy: str | None = None
    """The operation under way: 'launch', 'reboot', 'replace', 'delete', 'software', 'health-check'."""
    replaced_from: str | None = None
    wiped: int = 0
    """How often all volumes of this logical node were destroyed by a replacement."""
    boots: int = 0
    ailment: Ailment | None = None
    image: str = "1.0.0"
    health: str = "Healthy"
    epoch: int = 0
    """Raised whenever something else takes the node over: timers of an older epoch do nothing."""
    shown_status: str = "Pending"
    changed: datetime | None = None


@dataclass
class Group:
    """An instance group: its specification as last sent, and where it stands."""

    name: str
    spec: dict[str, Any]
    target: int
    minimum: int
    status: str = "Creating"
    subnet_ids: tuple[str, ...] = ()
    made_nodes: int = 0
    settled: tuple[int, int] = (0, 0)
    """(target, minimum) when the group was last InService: what a roll-back returns to."""
    minimum_epoch: int = 0
    waits_for_minimum: bool = False
    image: str = "1.0.0"
    software: str | None = None

    @property
    def node_type(self) -> str:
        """Controller, Login or Compute; a legacy group without SlurmConfig counts as Compute."""
        return str(self.spec.get("SlurmConfig", {}).get("NodeType", "Compute"))

    @property
    def plan_arn(self) -> str | None:
        return self.spec.get("TrainingPlanArn")

    @property
    def instance_types(self) -> tuple[str, ...]:
        """The types in order of preference."""
        if "InstanceType" in self.spec:
            return (str(self.spec["InstanceType"]),)
        return tuple(self.spec["InstanceRequirements"]["InstanceTypes"])


@dataclass
class Operation:
    """A scaling or health-check operation as ListClusterOperations shows it."""

    id: str
    kind: str
    created: datetime
    status: str = "InProgress"
    scaling: list[dict[str, Any]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Event:
    """A cluster event with its metadata, which EventBridge may not carry."""

    id: str
    time: datetime
    resource_type: str
    level: str
    description: str
    group: str | None
    instance_id: str | None
    metadata: dict[str, Any]
    operation_id: str | None


@dataclass
class Cluster:
    """One cluster; `id` is the 12 characters at the end of its ARN."""

    id: str
    arn: str
    name: str
    created: datetime
    request: dict[str, Any]
    continuous: bool
    status: str = "Creating"
    failure: str = ""
    node_recovery: str = "Automatic"
    groups: dict[str, Group] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    tokens: dict[str | None, tuple[datetime, Any, dict[str, Any]]] = field(default_factory=dict)
    """BatchAdd client tokens: when, with what request, and what was answered."""
    latch_open: bool = False
    """A node of the CreateCluster call has started out of a reservation: the discount is live."""
    epoch: int = 0

    @property
    def log_group(self) -> str:
        return f"/aws/sagemaker/Clusters/{self.name}/{self.id}"

    def members(self, group: str) -> list[Node]:
        """The nodes of a group that are not on their way out for good."""
        return [n for n in self.nodes.values() if n.group == group and n.busy != "delete"]

    def running(self, group: str) -> int:
        return sum(1 for n in self.members(group) if n.status == "Running")

    def by_instance(self, instance_id: str) -> Node | None:
        return next((n for n in self.nodes.values() if n.instance_id == instance_id), None)
