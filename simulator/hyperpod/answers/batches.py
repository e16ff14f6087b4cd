"""The Batch* operations: add, delete, reboot and replace nodes, with their partial answers.

Imports this package's core, repair, scaling and state. A 200 answer means accepted, not done.
"""

from datetime import timedelta
from typing import Any

from simulator.hyperpod.core import Core, bad_request
from simulator.hyperpod.state import Cluster, Group, Node
from simulator.hyperpod.workings.repair import Repair
from simulator.hyperpod.workings.scaling import Scaling
from simulator.service import Caller

Params = dict[str, Any]
Refusal = tuple[str, str]


class Batches:
    """Each public method answers the operation of its name."""

    def __init__(self, core: Core, scaling: Scaling, repair: Repair) -> None:
        self.core = core
        self.scaling = scaling
        self.repair = repair

    def batch_add(self, p: Params, caller: Caller) -> Params:
        """Increment target counts. The same client token and parameters within 8 h: the same nodes, as they are now."""
        core, cluster = self.core, self.core.find(p["ClusterName"], caller)
        if not cluster.continuous:
            raise bad_request("BatchAddClusterNodes needs a cluster with NodeProvisioningMode Continuous.")
        specs, token = p["NodesToAdd"], p.get("ClientToken")
        if sum(s["IncrementTargetCountBy"] for s in specs) > 50:
            raise bad_request("At most 50 nodes can be added in a single request.")
        replay = self._replay(cluster, token, specs)
        if replay:
            return replay
        if cluster.status not in ("InService", "Creating"):
            raise bad_request(f"Cluster {cluster.name} is in status {cluster.status}; nodes cannot be added.")
        accepted: list[tuple[Group, Params]] = []
        failed: list[Params] = []
        for spec in specs:
            refusal = self._add_refusal(cluster, spec)
            if refusal:
                failed.append(_add_failure(spec, refusal))
            else:
                accepted.append((cluster.groups[spec["InstanceGroupName"]], spec))
        wanted: dict[str, int] = {}
        for group, spec in accepted:
            kind = group.instance_types[0]
            wanted[kind] = wanted.get(kind, 0) + spec["IncrementTargetCountBy"]
        self.scaling.check_quota(cluster.name, wanted)
        before = {g.name: self.scaling.snapshot(cluster, g) for g, _ in accepted}
        added: list[Params] = []
        for group, spec in accepted:
            group.target += spec["IncrementTargetCountBy"]
            core.faults.note_target(core.now, cluster, group)
            zones = tuple(spec.get("AvailabilityZones", ()))
            for node in self.scaling.add(cluster, group, spec["IncrementTargetCountBy"], zones=zones):
                added.append({"NodeLogicalId": node.logical_id, "InstanceGroupName": group.name, "Status": "Pending"})
        self.scaling.begin(cluster, before)
        answer = {"Successful": added, "Failed": failed}
        if token:
            cluster.tokens[token] = (core.now, specs, answer)
        return answer

    def batch_delete(self, p: Params, caller: Caller) -> Params:
        """Delete nodes for good; target counts go down. 400 when every single id is refused."""
        cluster = self.core.find(p["ClusterName"], caller)
        _check_ids(cluster, p, 50)
        if cluster.status in ("Updating", "SystemUpdating", "RollingBack", "Deleting") or (
            not cluster.continuous and cluster.status == "Creating"
        ):
            raise bad_request(f"Cluster {cluster.name} is in status {cluster.status}; nodes cannot be deleted.")
        answer: Params = {}
        victims: dict[str, Node] = {}
        for wanted, node, suffix, key in self._each(cluster, p):
            refusal = self._delete_refusal(cluster, node)
            if refusal is None and node is not None:
                victims[node.logical_id] = node
                answer.setdefault(f"Successful{suffix}", []).append(wanted)
            elif refusal:
                entry = {key: wanted, "Code": refusal[0], "Message": refusal[1]}
                answer.setdefault(f"Failed{suffix}", []).append(entry)
        if not victims:
            reasons = [f"{e['Code']}: {e['Message']}" for k, v in answer.items() if k.startswith("Failed") for e in v]
            raise bad_request("None of the nodes can be deleted. " + " ".join(reasons))
        names = {n.group for n in victims.values()}
        before = {name: self.scaling.snapshot(cluster, cluster.groups[name]) for name in sorted(names)}
        for node in victims.values():
            cluster.groups[node.group].target -= 1
            self.scaling.remove(cluster, node)
        self.scaling.begin(cluster, before)
        return answer

    def batch_reboot(self, p: Params, caller: Caller) -> Params:
        """Restart nodes in place."""
        return self._repair(p, caller, "BatchRebootClusterNodes")

    def batch_replace(self, p: Params, caller: Caller) -> Params:
        """Give nodes new instances; a controller is refused."""
        return self._repair(p, caller, "BatchReplaceClusterNodes")

    def _repair(self, p: Params, caller: Caller, operation: str) -> Params:
        cluster = self.core.find(p["ClusterName"], caller)
        _check_ids(cluster, p, 25)
        if cluster.status != "InService":
            raise bad_request(f"Cluster {cluster.name} is in status {cluster.status}; it must be InService.")
        answer: Params = {"Failed": []} if "NodeIds" in p else {}
        replace = operation == "BatchReplaceClusterNodes"
        for wanted, node, suffix, key in self._each(cluster, p):
            refusal = self._repair_refusal(cluster, node, operation)
            if refusal is None and node is not None:
                (self.repair.replace if replace else self.repair.reboot)(cluster, node)
                answer.setdefault(f"Successful{suffix}", []).append(wanted)
            elif refusal:
                entry = {key: wanted, "ErrorCode": refusal[0], "Message": refusal[1]}
                answer.setdefault(f"Failed{suffix}", []).append(entry)
        return answer

    def _each(self, cluster: Cluster, p: Params) -> list[tuple[str, Node | None, str, str]]:
        """(id asked for, node, suffix of the answer's members, member that names the id) for both kinds of id."""
        ids = [(i, cluster.by_instance(i), "", "NodeId") for i in dict.fromkeys(p.get("NodeIds", []))]
        logical = dict.fromkeys(p.get("NodeLogicalIds", []))
        return ids + [(i, cluster.nodes.get(i), "NodeLogicalIds", "NodeLogicalId") for i in logical]

    def _replay(self, cluster: Cluster, token: str | None, specs: list[Params]) -> Params | None:
        """The earlier answer to a token that still lives, with the nodes' latest status."""
        if token not in cluster.tokens:
            return None
        made, request, answer = cluster.tokens[token]
        if self.core.now >= made + timedelta(seconds=self.core.scenario.timing.client_token):
            return None
        if request != specs:
            raise bad_request(f"ClientToken {token} was used with other parameters.")
        again = []
        for entry in answer["Successful"]:
            node = cluster.nodes.get(entry["NodeLogicalId"])
            again.append(entry | {"Status": node.status if node else "NotFound"})
        return {"Successful": again, "Failed": answer["Failed"]}

    def _add_refusal(self, cluster: Cluster, spec: Params) -> Refusal | None:
        name = spec["InstanceGroupName"]
        group = cluster.groups.get(name)
        if group is None:
            return "InstanceGroupNotFound", f"Instance group {name} does not exist."
        if group.waits_for_minimum or group.status in ("Failed", "Deleting", "SystemUpdating"):
            return "InvalidInstanceGroupStatus", f"Instance group {name} is in status {group.status}."
        zones = spec.get("AvailabilityZones")
        if zones and not any(self.core.subnets[s].az in zones for s in group.subnet_ids):
            return (
                "IncompatibleAvailabilityZones",
                f"No subnet of instance group {name} is in {', '.join(zones)}.",
            )
        types = spec.get("InstanceTypes")
        if types and not set(types) <= set(group.instance_types):
            return "IncompatibleInstanceTypes", f"Instance group {name} does not allow {', '.join(types)}."
        return None

    def _delete_refusal(self, cluster: Cluster, node: Node | None) -> Refusal | None:
        if node is None:
            return "NodeIdNotFound", "The node does not exist in the cluster."
        group = cluster.groups[node.group]
        if group.node_type == "Controller":
            return "NodeIdInUse", "The node is the Slurm controller and cannot be deleted."
        if node.busy == "delete":
            return "InvalidNodeStatus", "The node is already shutting down."
        if group.waits_for_minimum:
            return "InvalidNodeStatus", f"Instance group {group.name} waits for its minimum capacity."
        return None

    def _repair_refusal(self, cluster: Cluster, node: Node | None, operation: str) -> Refusal | None:
        if node is None:
            return "InstanceIdNotFound", "The instance does not exist in the cluster."
        if operation == "BatchReplaceClusterNodes" and cluster.groups[node.group].node_type == "Controller":
            return "InvalidInstanceStatus", "The instance is the Slurm controller and cannot be replaced."
        if node.busy in ("reboot", "replace", "software", "health-check"):
            return "InstanceIdInUse", "Another operation is already in progress for this node."
        if node.status != "Running":
            return "InvalidInstanceStatus", f"The instance is in status {node.status}."
        if self.core.faults.node_error(operation, self.core.now, cluster, node):
            return "InternalServerError", "An internal error occurred while processing this node."
        return None


def _add_failure(spec: Params, refusal: Refusal) -> Params:
    kept = {k: spec[k] for k in ("InstanceGroupName", "AvailabilityZones", "InstanceTypes") if k in spec}
    count = spec["IncrementTargetCountBy"]
    return kept | {"ErrorCode": refusal[0], "FailedCount": count, "Message": refusal[1]}


def _check_ids(cluster: Cluster, p: Params, limit: int) -> None:
    ids = len(p.get("NodeIds", [])) + len(p.get("NodeLogicalIds", []))
    if not ids:
        raise bad_request("At least one of NodeIds and NodeLogicalIds must be given.")
    if ids > limit:
        raise bad_request(f"At most {limit} nodes can be named in a single request.")
    if "NodeLogicalIds" in p and not cluster.continuous:
        raise bad_request("NodeLogicalIds need a cluster with NodeProvisioningMode Continuous.")
