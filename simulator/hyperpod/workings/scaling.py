"""Growing and shrinking instance groups, the scaling operations that this makes, and the minimum-count machine.

Imports this package's core, launches and state.
"""

from typing import Any

from simulator.hyperpod.core import Core, bad_request
from simulator.hyperpod.state import Cluster, Group, Node, Operation
from simulator.hyperpod.views import current_count
from simulator.hyperpod.workings.launches import Launches
from simulator.service import ServiceError

LIMIT = (
    "The account-level service limit '{name}' is {limit} Instances, with current utilization of {used} Instances and a "
    "request delta of {delta} Instances. Please use AWS Service Quotas to request an increase for this quota. If AWS "
    "Service Quotas is not available, contact AWS support to request an increase for this quota."
)


class Scaling:
    """Changes how many nodes groups have."""

    def __init__(self, core: Core, launches: Launches) -> None:
        self.core = core
        self.launches = launches

    def check_quota(self, cluster_name: str, wanted: dict[str, int]) -> None:
        """Refuse synchronously when `wanted` more instances per type would pass a quota: ResourceLimitExceeded."""
        quotas = self.core.scenario.quotas
        per_type: dict[str, int] = {}
        per_cluster: dict[str, int] = {}
        for cluster in self.core.clusters.values():
            for group in cluster.groups.values():
                kind = group.instance_types[0]
                per_type[kind] = per_type.get(kind, 0) + group.target
                per_cluster[cluster.name] = per_cluster.get(cluster.name, 0) + group.target
        delta = sum(wanted.values())
        checks = [
            (f"{kind} for cluster usage", quotas.cluster_usage.get(kind, 0), per_type.get(kind, 0), more)
            for kind, more in wanted.items()
        ]
        one = "Maximum number instances allowed per SageMaker HyperPod cluster"
        checks.append((one, quotas.max_instances_per_cluster, per_cluster.get(cluster_name, 0), delta))
        every = "Total number of instances allowed across SageMaker HyperPod clusters"
        checks.append((every, quotas.total_instances, sum(per_cluster.values()), delta))
        for name, limit, used, more in checks:
            if more > 0 and used + more > limit:
                raise ServiceError("ResourceLimitExceeded", LIMIT.format(name=name, limit=limit, used=used, delta=more))

    def pick_subnets(self, cluster_subnets: tuple[str, ...], spec: dict[str, Any]) -> tuple[str, ...]:
        """Where a group's nodes may stand: its own subnets, else the single one that the cluster settled on."""
        own = spec.get("OverrideVpcConfig", {}).get("Subnets")
        subnets = tuple(own) if own else cluster_subnets
        for subnet in subnets:
            if subnet not in self.core.subnets:
                raise bad_request(f"The subnet ID '{subnet}' does not exist.")
        return subnets

    def add(
        self,
        cluster: Cluster,
        group: Group,
        count: int,
        *,
        first_call: bool = False,
        zones: tuple[str, ...] = (),
    ) -> list[Node]:
        """Make `count` logical nodes and launch them, if the controller is there to launch them for."""
        core = self.core
        subnets = [s for s in group.subnet_ids if not zones or core.subnets[s].az in zones]
        nodes = []
        for _ in range(count):
            index = group.made_nodes
            subnet = subnets[int(core.draw((0, len(subnets) - 0.001), "subnet", group.name, index))]
            node = Node(
                core.ids.uuid(),
                group.name,
                index,
                group.instance_types[0],
                core.now,
                subnet,
                first_call,
                zones,
            )
            node.image = group.image
            node.busy = "launch"
            group.made_nodes += 1
            cluster.nodes[node.logical_id] = node
            nodes.append(node)
        if self._may_launch(cluster, group):
            for node in nodes:
                self.launches.start(cluster, node)
        return nodes

    def launch_waiting(self, cluster: Cluster) -> None:
        """Start the nodes that waited for the controller."""
        for node in list(cluster.nodes.values()):
            if node.busy == "launch" and node.epoch == 0:
                self.launches.start(cluster, node)

    def remove(self, cluster: Cluster, node: Node) -> None:
        """Terminate a node for good. The bill stops now, its capacity is free when it is gone."""
        core = self.core
        node.epoch += 1
        node.busy = "delete"
        core.stop_charge(node)
        if node.instance_id is None:
            self._gone(cluster, node)
            return
        core.set_status(node, "ShuttingDown")
        core.events.cluster_event(
            cluster,
            f"Instance {node.instance_id} termination started in Cluster {cluster.name} and IG {node.group}",
            group=node.group,
            instance_id=node.instance_id,
            metadata={"Instance": {"NodeLogicalId": node.logical_id}},
            chatter=True,
        )
        stuck = core.faults.stuck("ShuttingDown", core.now, cluster, node)
        if stuck is None:
            return
        seconds = core.draw(core.scenario.timing.terminate, "terminate", node.logical_id) + stuck
        core.later(cluster, node, seconds, self._gone)

    def shrink(self, cluster: Cluster, group: Group, count: int) -> list[Node]:
        """Terminate `count` nodes of the group chosen at random, whatever runs on them."""
        victims = self.core.ids.random.sample(cluster.members(group.name), count)
        for node in victims:
            self.remove(cluster, node)
        return victims

    def set_target(self, cluster: Cluster, group: Group, target: int) -> None:
        """Set the absolute target and grow or shrink to it."""
        change = target - len(cluster.members(group.name))
        group.target = target
        self.core.faults.note_target(self.core.now, cluster, group)
        if change > 0:
            self.add(cluster, group, change)
        elif change < 0:
            self.shrink(cluster, group, -change)

    def snapshot(self, cluster: Cluster, group: Group) -> dict[str, int]:
        """Counts as scaling operations tell them."""
        return {
            "CurrentCount": current_count(cluster, group, self.core.quirks.current_count),
            "TargetCount": group.target,
            "MinCount": group.minimum,
        }

    def begin(self, cluster: Cluster, before: dict[str, dict[str, int]]) -> Operation | None:
        """Record a scaling operation for groups whose counts changed since `before`; older ones are superseded."""
        if not cluster.continuous:
            return None
        details: list[dict[str, Any]] = []
        for name, original in before.items():
            group = cluster.groups.get(name)
            if group is None or (group.target, group.minimum) == (
                original["TargetCount"],
                original["MinCount"],
            ):
                continue
            desired = {"TargetCount": group.target, "MinCount": group.minimum}
            details.append({"InstanceGroupName": name, "Original": original, "Desired": desired})
        if not details:
            return None
        names = {d["InstanceGroupName"] for d in details}
        for older in cluster.operations:
            if older.status == "InProgress" and names & {d["InstanceGroupName"] for d in older.scaling}:
                older.status = "Superseded"
        operation = Operation(self.core.ids.uuid(), "Scaling", self.core.now, scaling=details)
        cluster.operations.append(operation)
        for d in details:
            group = cluster.groups[d["InstanceGroupName"]]
            counts = {"InstanceCount": d["Original"]["CurrentCount"], **d["Desired"]}
            self.core.events.cluster_event(
                cluster,
                f"InstanceGroup {group.name} Scaling started successfully in Cluster {cluster.name}",
                group=group.name,
                metadata={"InstanceGroupScaling": counts},
                operation=operation,
            )
        self.spurious_warn(cluster)
        self.settle(cluster)
        return operation

    def settle(self, cluster: Cluster) -> None:
        """Close scaling operations whose groups have reached their targets."""
        for operation in cluster.operations:
            if operation.status != "InProgress" or operation.kind != "Scaling":
                continue
            names = [d["InstanceGroupName"] for d in operation.scaling]
            groups = [cluster.groups[n] for n in names if n in cluster.groups]
            leaving = any(n.busy == "delete" and n.group in names for n in cluster.nodes.values())
            if not leaving and all(cluster.running(g.name) == g.target for g in groups):
                operation.status = "Done"
                for group in groups:
                    self.core.events.cluster_event(
                        cluster,
                        f"InstanceGroup {group.name} Scaling completed successfully in Cluster {cluster.name}",
                        group=group.name,
                        metadata={
                            "InstanceGroupScaling": {
                                "InstanceCount": group.target,
                                "TargetCount": group.target,
                            }
                        },
                        operation=operation,
                    )

    def spurious_warn(self, cluster: Cluster) -> None:
        """The harmless warning with the misleading failure message that every scaling brings."""
        if not self.core.quirks.spurious_warn:
            return
        total = sum(1 for n in cluster.nodes.values() if n.busy != "delete")
        ready = sum(1 for n in cluster.nodes.values() if n.status == "Running")
        self.core.events.cluster_event(
            cluster,
            f"1 node(s) lost orchestration-ready status. Current: {ready}/{total} orchestration-ready across "
            f"{len(cluster.groups)} instance group(s).",
            level="Warn",
            metadata={"Cluster": {"FailureMessage": "One or more instances failed to join the cluster."}},
        )

    def watch_minimum(self, cluster: Cluster, group: Group) -> None:
        """Hold the group back until it has its minimum; roll it back when that takes too long."""
        group.minimum_epoch += 1
        epoch = group.minimum_epoch
        group.waits_for_minimum = self._current(cluster, group) < group.minimum
        if not group.waits_for_minimum:
            return
        if group.status == "InService":
            group.status = "Updating"

        def expire() -> None:
            alive = self.core.clusters.get(cluster.name) is cluster and cluster.groups.get(group.name) is group
            if alive and group.minimum_epoch == epoch and group.waits_for_minimum:
                self._roll_back_minimum(cluster, group)

        self.core.timeline.after(self.core.scenario.timing.min_count_timeout, expire)

    def check_minimum(self, cluster: Cluster, group: Group) -> None:
        """Release a group that has reached its minimum."""
        if group.waits_for_minimum and self._current(cluster, group) >= group.minimum:
            group.waits_for_minimum = False
            self.core.events.cluster_event(
                cluster,
                f"InstanceGroup {group.name} minimum capacity reached in Cluster {cluster.name}",
                group=group.name,
            )

    def _roll_back_minimum(self, cluster: Cluster, group: Group) -> None:
        """Back to the last InService counts (0 and 0 for a new group): unhealthy nodes go first, then the newest."""
        target, minimum = group.settled
        group.waits_for_minimum = False
        group.minimum = minimum
        before = {group.name: self.snapshot(cluster, group)}
        self.core.events.cluster_event(
            cluster,
            f"InstanceGroup {group.name} rollback initiated in Cluster {cluster.name}: minimum capacity not reached",
            level="Error",
            group=group.name,
            metadata={"InstanceGroup": {"FailureMessage": "Minimum capacity was not reached in time."}},
        )
        members = cluster.members(group.name)
        members.sort(key=lambda n: (n.status == "Running" and n.health == "Healthy", -n.index))
        for node in members[: max(0, len(members) - target)]:
            self.remove(cluster, node)
        group.target = target
        group.status = "InService"
        self.begin(cluster, before)

    def _current(self, cluster: Cluster, group: Group) -> int:
        return current_count(cluster, group, "running")

    def _may_launch(self, cluster: Cluster, group: Group) -> bool:
        if not cluster.continuous or group.node_type == "Controller":
            return True
        return any(cluster.running(g.name) for g in cluster.groups.values() if g.node_type == "Controller")

    def _gone(self, cluster: Cluster, node: Node) -> None:
        self.core.release(node)
        del cluster.nodes[node.logical_id]
        group = cluster.groups.get(node.group)
        if group and group.status == "Deleting" and not any(n.group == group.name for n in cluster.nodes.values()):
            del cluster.groups[group.name]
        if cluster.status == "Deleting" and not cluster.nodes:
            self.core.clusters.pop(cluster.name, None)
        self.settle(cluster)
        if self.launches.outcome and cluster.name in self.core.clusters:
            self.launches.outcome.gone(cluster)
