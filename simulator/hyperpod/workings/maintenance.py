"""Software updates and on-demand deep health checks, in their simplest faithful form.

Imports this package's core, scaling and state. All nodes are updated at once: rolling batches are not modelled.
"""

from typing import Any

from simulator.hyperpod.core import Core
from simulator.hyperpod.state import Cluster, Group, Node, Operation
from simulator.service import ServiceError


class Maintenance:
    """UpdateClusterSoftware and StartClusterHealthCheck."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def update_software(self, cluster: Cluster, request: dict[str, Any]) -> None:
        """Re-image every node of the named groups (or all); the cluster is SystemUpdating meanwhile."""
        if cluster.status != "InService":
            raise ServiceError(
                "ConflictException",
                f"Cluster {cluster.name} is {cluster.status}; it must be InService to be updated.",
            )
        versions = {
            g["InstanceGroupName"]: g.get("ImageReleaseVersion") for g in request.get("InstanceGroups", [])
        } or dict.fromkeys(cluster.groups)
        for name in versions:
            if name not in cluster.groups:
                raise ServiceError("ResourceNotFound", f"Instance group {name} was not found.")
            if cluster.groups[name].waits_for_minimum:
                raise ServiceError("ConflictException", f"Instance group {name} waits for its minimum capacity.")
        busy = [
            n.instance_id for n in cluster.nodes.values() if n.group in versions and n.busy in ("reboot", "replace")
        ]
        if busy:
            raise ServiceError("ConflictException", f"Instances {busy} of cluster {cluster.name} are being repaired.")
        cluster.status = "SystemUpdating"
        self.core.events.state_change(cluster)
        longest = 0.0
        for name, version in versions.items():
            group = cluster.groups[name]
            group.software, group.status = "InProgress", "SystemUpdating"
            group.image = version or _next(group.image)
            for node in cluster.members(name):
                if node.status != "Running":
                    continue
                node.epoch += 1
                node.busy = "software"
                self.core.set_status(node, "SystemUpdating")
                seconds = self.core.draw(self.core.scenario.timing.software_update, "software", name, node.index)
                longest = max(longest, seconds)
                self.core.later(cluster, node, seconds, self._updated)
        self.core.timeline.after(longest, lambda: self._finish(cluster, [cluster.groups[n] for n in versions]))

    def start_check(self, cluster: Cluster, request: dict[str, Any]) -> Operation:
        """Run deep health checks on running nodes; one at a time per cluster."""
        if any(o.kind == "DeepHealthCheck" and o.status == "InProgress" for o in cluster.operations):
            raise ServiceError("ConflictException", f"A deep health check already runs on cluster {cluster.name}.")
        configs = request["DeepHealthCheckConfigurations"]
        nodes: list[Node] = []
        for config in configs:
            name = config["InstanceGroupName"]
            if name not in cluster.groups:
                raise ServiceError("ResourceNotFound", f"Instance group {name} was not found.")
            wanted = config.get("InstanceIds")
            nodes += [
                n for n in cluster.members(name) if n.status == "Running" and (not wanted or n.instance_id in wanted)
            ]
        operation = Operation(self.core.ids.uuid(), "DeepHealthCheck", self.core.now, checks=configs)
        cluster.operations.append(operation)
        longest = 0.0
        for node in nodes:
            node.epoch += 1
            node.busy = "health-check"
            self.core.set_status(node, "DeepHealthCheckInProgress")
            seconds = self.core.draw(self.core.scenario.timing.health_check, "check", node.logical_id)
            longest = max(longest, seconds)
            self.core.later(cluster, node, seconds, self._checked)

        def finish() -> None:
            operation.status = "Done"

        self.core.timeline.after(longest, finish)
        return operation

    def _updated(self, cluster: Cluster, node: Node) -> None:
        node.image = cluster.groups[node.group].image
        node.boots += 1
        self._checked(cluster, node)

    def _checked(self, cluster: Cluster, node: Node) -> None:
        node.busy = None
        self.core.set_status(node, "Running")

    def _finish(self, cluster: Cluster, groups: list[Group]) -> None:
        if cluster.status != "SystemUpdating":
            return
        for group in groups:
            group.software, group.status = "Succeeded", "InService"
        cluster.status = "InService"
        self.core.events.state_change(cluster)


def _next(version: str) -> str:
    major, minor, patch = version.split(".")
    return f"{major}.{minor}.{int(patch) + 1}"
