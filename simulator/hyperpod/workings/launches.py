"""The launch loop of one logical node: capacity, EC2, lifecycle script, Running, or a failure and another attempt.

Imports this package's core and state. Every attempt has a new instance id. In Continuous mode a failed launch never
fails the cluster (a controller's may); what a failure means is decided by the `Outcome` that owns the cluster.
"""

from datetime import timedelta
from typing import Any, Protocol

from simulator.hyperpod.core import Core
from simulator.hyperpod.ground.capacity import Hold, Lease
from simulator.hyperpod.state import Cluster, Group, Node
from simulator.scenario import Fault

CAPACITY = "We currently do not have sufficient capacity to launch new {type} instances. Please try again."
EFA = (
    "EFA health checks did not run successfully. Ensure that your VPC and security groups are properly configured "
    "before attempting to create a new cluster."
)
SCRIPT = (
    "Lifecycle scripts did not run successfully. Ensure the scripts exist in provided S3 path, are accessible, and run "
    "without errors. Please see CloudWatch logs for lifecycle script execution details."
)


class Outcome(Protocol):
    """Who is told how launches end."""

    def launched(self, cluster: Cluster, node: Node) -> None:
        """The node is Running."""
        ...

    def failed(self, cluster: Cluster, node: Node, reason: str) -> bool:
        """A launch failed ('capacity', 'efa', 'lifecycle'). True: try again after the back-off."""
        ...

    def gone(self, cluster: Cluster) -> None:
        """A node has been terminated and forgotten."""
        ...


class Launches:
    """Starts nodes, and starts them again."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.outcome: Outcome | None = None

    def start(self, cluster: Cluster, node: Node, budget: float | None = None) -> None:
        """Begin launching; `budget` seconds until Running, or as the scenario's timing says."""
        core = self.core
        node.epoch += 1
        node.attempts += 1
        node.instance_id, node.provisioned, node.vanished = None, False, False
        node.busy = node.busy if node.busy == "replace" else "launch"
        core.set_status(node, "Pending")
        stuck = core.faults.stuck("Pending", core.now, cluster, node)
        if stuck is None:
            return
        if budget is None:
            group = cluster.groups[node.group]
            timing = core.scenario.timing
            span = timing.controller_launch if group.node_type == "Controller" else timing.worker_launch
            budget = core.draw(span, "launch", node.group, node.index, node.attempts)
        total = budget
        wait = min(core.scenario.timing.capacity_decision, total) + stuck
        core.later(cluster, node, wait, lambda c, n: self._decide(c, n, total - wait + stuck))

    def _decide(self, cluster: Cluster, node: Node, remaining: float) -> None:
        """Capacity is granted, refused, or held back until a plan's block starts."""
        core, group = self.core, cluster.groups[node.group]
        az_id = core.subnets[node.subnet_id].az_id
        fault = core.faults.launch("capacity_shortage", core.now, cluster, node, az_id) or self._replacement_fault(
            cluster, node, "capacity"
        )
        lease = None if fault else self._lease(cluster, group, node, az_id)
        if isinstance(lease, Hold):
            self._note(
                cluster,
                node,
                f"Training plan of InstanceGroup {group.name} is Scheduled, waiting for its start",
            )
            core.later(cluster, node, (lease.until - core.now).total_seconds(), self.start)
            return
        node.instance_id = core.ids.hexadecimal("i")
        node.launch_time = core.now
        node.launches.append(
            {
                "instance_id": node.instance_id,
                "time": core.now.isoformat(),
                "outcome": "launching",
                "capacity": None,
            }
        )
        if lease is None:
            node.instance_type = group.instance_types[0]
            message = (fault.message if fault else None) or CAPACITY.format(type=node.instance_type)
            self._fail(cluster, node, "capacity", message)
            return
        node.lease = lease
        node.launches[-1]["capacity"] = lease.kind
        if lease.reserved and node.first_call:
            cluster.latch_open = True
        if node.address is None:
            self._give_address(node)
        self._tell_capacity(cluster, node, lease)
        self._note(cluster, node, f"Created ENI for Instance {node.instance_id} in InstanceGroup {group.name}")
        script = core.draw(core.scenario.timing.lifecycle, "script", node.group, node.index, node.attempts)
        core.later(cluster, node, max(0.0, remaining - script), lambda c, n: self._provisioned(c, n, script))

    def _provisioned(self, cluster: Cluster, node: Node, script: float) -> None:
        """The instance exists: EFA is checked, then the lifecycle script starts, and with it the bill."""
        core = self.core
        fault = core.faults.launch("efa_failure", core.now, cluster, node) or self._replacement_fault(
            cluster, node, "efa"
        )
        if fault:
            self._fail(cluster, node, "efa", fault.message or EFA)
            return
        node.provisioned = True
        self._note(cluster, node, f"EC2 Instance {node.instance_id} provisioned in InstanceGroup {node.group}")
        assert node.lease is not None
        latched = core.scenario.first_call_latch and node.lease.kind == "reserved" and not cluster.latch_open
        node.charge = core.meter.begin(
            core.now,
            node.lease,
            latched=latched,
            discounted=core.capacity.discounted(node.instance_type),
            instance_id=node.instance_id,
            cluster=cluster.name,
            group=node.group,
            tags=dict(cluster.tags),
        )
        self._script_event(cluster, node, "Started", "Info")
        self._script_log(cluster, node, "Running lifecycle script on_create.sh")
        hung = core.faults.launch("hung_script", core.now, cluster, node)
        failing = core.faults.launch("lifecycle_failure", core.now, cluster, node) or self._replacement_fault(
            cluster, node, "lifecycle"
        )
        if hung:
            core.later(cluster, node, core.scenario.timing.hang_timeout, lambda c, n: self._script_failed(c, n, hung))
        elif failing:
            core.later(cluster, node, script, lambda c, n: self._script_failed(c, n, failing))
        else:
            core.later(cluster, node, script, self._ready)

    def _ready(self, cluster: Cluster, node: Node) -> None:
        core = self.core
        replaced, node.replaced_from = node.replaced_from, None
        node.busy, node.attempts = None, 0
        node.boots += 1
        node.launches[-1]["outcome"] = "running"
        if not core.quirks.sticky_message:
            node.message = ""
        core.set_status(node, "Running")
        self._script_event(cluster, node, "Succeeded", "Info")
        self._script_log(cluster, node, "Lifecycle script finished with exit code 0")
        if replaced:
            core.events.cluster_event(
                cluster,
                f"Instance {node.instance_id} Creation completed successfully as part of instance replacement in "
                f"Cluster {cluster.name} and IG {node.group}",
                group=node.group,
                instance_id=node.instance_id,
                metadata={"Instance": {"NodeLogicalId": node.logical_id}},
            )
        else:
            self._note(cluster, node, f"Instance {node.instance_id} creation completed in Cluster {cluster.name}")
        if self.outcome:
            self.outcome.launched(cluster, node)

    def _script_failed(self, cluster: Cluster, node: Node, fault: Fault) -> None:
        self._script_event(cluster, node, "Failed", "Error")
        self._script_log(cluster, node, fault.message or "Lifecycle script failed with exit code 1")
        self._fail(cluster, node, "lifecycle", SCRIPT, twins=False)

    def _fail(self, cluster: Cluster, node: Node, reason: str, message: str, *, twins: bool = True) -> None:
        """End this attempt: events, capacity back, a Failure to be seen for a while, then another attempt or not."""
        core, timing = self.core, self.core.scenario.timing
        node.launches[-1]["outcome"] = reason
        if twins:
            self._twin_events(cluster, node, message)
        core.release(node)
        node.message, node.provisioned = message, False
        core.set_status(node, "Failure")
        retry = self.outcome.failed(cluster, node, reason) if self.outcome else True
        if not retry:
            return
        backoff = min(timing.retry_backoff * 2 ** (node.attempts - 1), timing.retry_backoff_max)
        core.later(cluster, node, min(timing.failure_visible, backoff), self._vanish)
        core.later(cluster, node, backoff, self.start)

    def _vanish(self, cluster: Cluster, node: Node) -> None:
        node.instance_id, node.vanished = None, True
        self.core.set_status(node, "Pending")

    def _lease(self, cluster: Cluster, group: Group, node: Node, az_id: str) -> Lease | Hold | None:
        for instance_type in group.instance_types:
            lease = self.core.capacity.take(self.core.now, az_id, instance_type, group.plan_arn)
            if lease is not None:
                node.instance_type = instance_type
                return lease
        return None

    def _replacement_fault(self, cluster: Cluster, node: Node, reason: str) -> Fault | None:
        """A fault that only hits launches that are part of a replacement."""
        if node.busy != "replace":
            return None
        for armed in self.core.faults.armed:
            if armed.fault.kind == "replacement_failure" and (armed.fault.reason or "capacity") == reason:
                return self.core.faults.launch("replacement_failure", self.core.now, cluster, node)
        return None

    def _give_address(self, node: Node) -> None:
        core = self.core
        node.address = core.ids.address(core.subnets[node.subnet_id].cidr)
        node.hostname = f"ip-{node.address.replace('.', '-')}.{core.scenario.region}.compute.internal"

    def _tell_capacity(self, cluster: Cluster, node: Node, lease: Lease) -> None:
        """The only signal that tells which kind of capacity a node got."""
        metadata: dict[str, Any] = {"NodeLogicalId": node.logical_id}
        where = f"Cluster {cluster.name} and IG {node.group}"
        if lease.reserved:
            scenario, cr = self.core.scenario, lease.reserved.cr_id
            arn = f"arn:aws:ec2:{scenario.region}:{scenario.account}:capacity-reservation/{cr}"
            metadata["CapacityReservation"] = {"Arn": arn, "Type": "ODCR"}
            text = f"Found CapacityReservation ID {cr} for {where}, using reserved capacity"
            level = "Info"
        else:
            text = f"No CapacityReservation found for {where}, using on-demand pool"
            level = "Warn"
        self.core.events.cluster_event(
            cluster, text, level=level, group=node.group, resource="Instance", metadata={"Instance": metadata}
        )

    def _twin_events(self, cluster: Cluster, node: Node, message: str) -> None:
        """One failure is told twice, about a second apart, under two event ids."""
        metadata = {"Instance": {"FailureMessage": message, "NodeLogicalId": node.logical_id}}
        where = f"in Cluster {cluster.name} and InstanceGroup {node.group}"
        events, group, instance_id = self.core.events, node.group, node.instance_id
        events.cluster_event(
            cluster,
            f"Failed to provision EC2 Instance {where}",
            level="Error",
            group=group,
            resource="Instance",
            metadata=metadata,
        )

        def second() -> None:
            events.cluster_event(
                cluster,
                f"Instance creation {where} failed",
                level="Error",
                group=group,
                instance_id=instance_id,
                metadata=metadata,
            )

        self.core.timeline.at(self.core.now + timedelta(seconds=1), second)

    def _script_event(self, cluster: Cluster, node: Node, state: str, level: str) -> None:
        if state == "Failed":
            text = (
                f"Instance lifecycle script execution for EC2 Instance {node.instance_id} has Failed. "
                f"To view lifecycle script logs, visit log group {cluster.log_group}"
            )
        else:
            text = f"Instance lifecycle script execution for EC2InstanceId {node.instance_id} has {state}"
        self.core.events.cluster_event(
            cluster,
            text,
            level=level,
            group=node.group,
            instance_id=node.instance_id,
            metadata={"Instance": {"LcsExecutionState": state, "NodeLogicalId": node.logical_id}},
            chatter=state != "Failed",
        )

    def _script_log(self, cluster: Cluster, node: Node, message: str) -> None:
        self.core.events.log(cluster, f"LifecycleConfig/{node.group}/{node.instance_id}", message)

    def _note(self, cluster: Cluster, node: Node, text: str) -> None:
        """One of the many Info events of a launch."""
        self.core.events.cluster_event(
            cluster,
            text,
            group=node.group,
            instance_id=node.instance_id,
            resource="Instance",
            metadata={"Instance": {"NodeLogicalId": node.logical_id}},
            chatter=True,
        )
