"""The status machines of clusters and their groups, Continuous and legacy: creation, update, deletion, roll-back.

Imports this package's core, launches, scaling, state and rules. Callers have validated the request's shape.
"""

from typing import Any

from simulator.hyperpod.core import Core
from simulator.hyperpod.state import Cluster, Group, Node
from simulator.hyperpod.workings import rules
from simulator.hyperpod.workings.launches import Launches
from simulator.hyperpod.workings.scaling import Scaling
from simulator.service import ServiceError

NOT_READY = "Cluster creation failed: controller and login nodes did not become ready within the expected time"


class Clusters:
    """Owns what a launch's success or failure means for its cluster (`launches.Outcome`)."""

    def __init__(self, core: Core, launches: Launches, scaling: Scaling) -> None:
        self.core = core
        self.launches = launches
        self.scaling = scaling
        launches.outcome = self

    def create(self, request: dict[str, Any]) -> Cluster:
        """Accept CreateCluster: everything else happens later."""
        core, name = self.core, request["ClusterName"]
        rules.check_create(request)
        if name in core.clusters:
            raise ServiceError("ResourceInUse", f"Cluster with name {name} already exists.")
        cluster_subnets = tuple(request.get("VpcConfig", {}).get("Subnets", ()))
        chosen = self._one_subnet(cluster_subnets)
        subnets = {g["InstanceGroupName"]: self.scaling.pick_subnets(chosen, g) for g in request["InstanceGroups"]}
        wanted: dict[str, int] = {}
        for spec in request["InstanceGroups"]:
            kind = rules.types_of(spec)[0]
            wanted[kind] = wanted.get(kind, 0) + spec["InstanceCount"]
        self.scaling.check_quota(name, wanted)
        cluster_id = core.ids.cluster()
        arn = f"arn:aws:sagemaker:{core.scenario.region}:{core.scenario.account}:cluster/{cluster_id}"
        cluster = Cluster(cluster_id, arn, name, core.now, request, request.get("NodeProvisioningMode") == "Continuous")
        cluster.node_recovery = request.get("NodeRecovery", "Automatic")
        cluster.tags = {t["Key"]: t["Value"] for t in request.get("Tags", [])}
        core.clusters[name] = cluster
        core.events.state_change(cluster)
        core.events.cluster_event(cluster, f"Cluster {name} Creation started successfully", chatter=True)
        specs = sorted(request["InstanceGroups"], key=lambda g: rules.node_type(g) != "Controller")
        for spec in specs:
            group = self._new_group(cluster, spec, subnets[spec["InstanceGroupName"]])
            core.faults.note_target(core.now, cluster, group)
            self.scaling.add(cluster, group, group.target, first_call=True)
            if cluster.continuous and group.node_type == "Compute":
                self.scaling.watch_minimum(cluster, group)
        order = [g["InstanceGroupName"] for g in request["InstanceGroups"]]
        cluster.groups = {n: cluster.groups[n] for n in order}
        self._advance(cluster)
        return cluster

    def update(self, cluster: Cluster, request: dict[str, Any]) -> None:
        """Accept UpdateCluster: absolute counts and whole specifications for the groups that are listed."""
        self._refuse_while_busy(cluster, "UpdateCluster")
        rules.check_update(cluster, request)
        specs = request.get("InstanceGroups", [])
        chosen = self._one_subnet(tuple(cluster.request.get("VpcConfig", {}).get("Subnets", ())))
        wanted: dict[str, int] = {}
        for spec in specs:
            current = cluster.groups.get(spec["InstanceGroupName"])
            kind = rules.types_of(spec)[0]
            wanted[kind] = wanted.get(kind, 0) + spec["InstanceCount"] - (current.target if current else 0)
        self.scaling.check_quota(cluster.name, {k: v for k, v in wanted.items() if v > 0})
        subnets = {s["InstanceGroupName"]: self.scaling.pick_subnets(chosen, s) for s in specs}
        cluster.node_recovery = request.get("NodeRecovery", cluster.node_recovery)
        before = {n: self.scaling.snapshot(cluster, g) for n, g in cluster.groups.items()}
        resized = False
        if not cluster.continuous:  # what a roll-back returns to: deleted nodes do not come back with it
            for known in cluster.groups.values():
                known.settled = (known.target, known.minimum)
        for spec in specs:
            name = spec["InstanceGroupName"]
            group = cluster.groups.get(name)
            if group is None:
                group = self._new_group(cluster, spec, subnets[name])
                before[name] = {"CurrentCount": 0, "TargetCount": 0, "MinCount": 0}
            else:
                group.spec = spec
            minimum = spec.get("MinInstanceCount", min(group.minimum, spec["InstanceCount"]))
            resized |= group.target != spec["InstanceCount"] or len(cluster.members(name)) != spec["InstanceCount"]
            self.scaling.set_target(cluster, group, spec["InstanceCount"])
            if cluster.continuous and (minimum != group.minimum or group.status == "Creating"):
                group.minimum = minimum
                self.scaling.watch_minimum(cluster, group)
        for name in request.get("InstanceGroupsToDelete", []):
            resized = True
            self._delete_group(cluster, cluster.groups[name])
        self.scaling.begin(cluster, before)
        if not cluster.continuous and resized:
            for spec in specs:
                cluster.groups[spec["InstanceGroupName"]].status = "Updating"
            cluster.failure = ""
            self._set_status(cluster, "Updating")
        self._advance(cluster)

    def delete(self, cluster: Cluster) -> None:
        """Accept DeleteCluster. Customer file systems are not touched."""
        if cluster.continuous:
            if cluster.status in ("Deleting", "SystemUpdating"):
                self._conflict(cluster, "DeleteCluster")
        elif cluster.status not in ("InService", "Failed"):
            self._conflict(cluster, "DeleteCluster")
        cluster.epoch += 1
        for group in cluster.groups.values():
            group.minimum_epoch += 1
        self._set_status(cluster, "Deleting")
        for node in list(cluster.nodes.values()):
            if node.busy != "delete":
                self.scaling.remove(cluster, node)
        if not cluster.nodes:
            self.core.timeline.after(1.0, lambda: self._forget(cluster))

    def launched(self, cluster: Cluster, node: Node) -> None:
        """A node is Running: the controller lets the others start, groups and cluster may become InService."""
        group = cluster.groups[node.group]
        if cluster.continuous and group.node_type == "Controller":
            self.scaling.launch_waiting(cluster)
        self.scaling.check_minimum(cluster, group)
        self._advance(cluster)
        self.scaling.settle(cluster)

    def failed(self, cluster: Cluster, node: Node, reason: str) -> bool:
        """Continuous: only a controller's non-retryable failure counts. Legacy: all or nothing."""
        group = cluster.groups[node.group]
        if node.busy == "replace" or cluster.status in ("Deleting", "RollingBack", "Failed"):
            return cluster.status not in ("Deleting", "RollingBack", "Failed")
        if not cluster.continuous:
            self._roll_back(cluster, node)
            return False
        if group.node_type == "Controller" and cluster.status == "Creating" and reason in ("capacity", "lifecycle"):
            self._fail(cluster, node.message)
            return False
        return True

    def gone(self, cluster: Cluster) -> None:
        """A node is gone: a scale-down or a roll-back may be complete."""
        self._advance(cluster)

    def _new_group(self, cluster: Cluster, spec: dict[str, Any], subnets: tuple[str, ...]) -> Group:
        floor = 1 if cluster.continuous and rules.node_type(spec) in ("Controller", "Login") else 0
        minimum = spec.get("MinInstanceCount", min(floor, spec["InstanceCount"]))
        group = Group(spec["InstanceGroupName"], spec, spec["InstanceCount"], minimum, subnet_ids=subnets)
        cluster.groups[group.name] = group
        return group

    def _advance(self, cluster: Cluster) -> None:
        """Move groups and cluster on to InService where they have what they need."""
        if cluster.status in ("Deleting", "Failed", "SystemUpdating"):
            return
        if cluster.continuous:
            self._advance_continuous(cluster)
        else:
            self._advance_legacy(cluster)

    def _advance_continuous(self, cluster: Cluster) -> None:
        groups = list(cluster.groups.values())
        kinds = {"Controller": False, "Login": not any(g.node_type == "Login" for g in groups)}
        for group in groups:
            if group.node_type in kinds:
                kinds[group.node_type] |= cluster.running(group.name) > 0
        ready = all(kinds.values())
        for group in groups:
            if group.status not in ("Creating", "Updating") or group.waits_for_minimum:
                continue
            if group.node_type == "Compute" and not (ready or cluster.status == "InService"):
                continue
            if group.node_type != "Compute" and not cluster.running(group.name):
                continue
            group.status = "InService"
        for group in groups:
            if group.status == "InService":
                group.settled = (group.target, group.minimum)
        if ready and cluster.status == "Creating":
            self._set_status(cluster, "InService")
            self.core.events.cluster_event(cluster, f"Cluster {cluster.name} Creation completed successfully")

    def _advance_legacy(self, cluster: Cluster) -> None:
        if cluster.status not in ("Creating", "Updating"):
            return
        if any(n.status != "Running" for n in cluster.nodes.values()):
            return
        if any(cluster.running(g.name) != g.target for g in cluster.groups.values() if g.status != "Deleting"):
            return
        for group in cluster.groups.values():
            group.status = "InService"
            group.settled = (group.target, group.minimum)
        self._set_status(cluster, "InService")

    def _fail(self, cluster: Cluster, message: str) -> None:
        """Continuous creation that cannot go on."""
        cluster.failure = message
        for group in cluster.groups.values():
            group.status = "Failed"
            group.minimum_epoch += 1
        self._set_status(cluster, "Failed")
        self.core.events.cluster_event(
            cluster, NOT_READY, level="Error", metadata={"Cluster": {"FailureMessage": message}}
        )
        for node in list(cluster.nodes.values()):
            if node.busy != "delete":
                self.scaling.remove(cluster, node)

    def _roll_back(self, cluster: Cluster, failed: Node) -> None:
        """Legacy: undo the whole creation or update because one node failed."""
        creating = cluster.status == "Creating"
        cluster.failure = failed.message
        self._set_status(cluster, "RollingBack")
        epoch = cluster.epoch
        for group in cluster.groups.values():
            target = 0 if creating else group.settled[0]
            surplus = cluster.members(group.name)
            surplus.sort(key=lambda n: -n.index)  # the newest: those that this operation brought
            for node in surplus[: max(0, len(surplus) - target)]:
                self.scaling.remove(cluster, node)
            if not creating:
                group.target = target

        def finish() -> None:
            if self.core.clusters.get(cluster.name) is not cluster or cluster.epoch != epoch:
                return
            for name in [n for n, g in cluster.groups.items() if not creating and not g.settled[0] and not g.target]:
                if len(cluster.groups) > 1 and cluster.groups[name].status == "Creating":
                    del cluster.groups[name]
            for group in cluster.groups.values():
                group.status = "Failed" if creating else "InService"
            self._set_status(cluster, "Failed" if creating else "InService")

        self.core.timeline.after(self.core.scenario.timing.rollback, finish)

    def _delete_group(self, cluster: Cluster, group: Group) -> None:
        group.status = "Deleting"
        group.minimum_epoch += 1
        members = cluster.members(group.name)
        group.target = 0
        for node in members:
            self.scaling.remove(cluster, node)
        if not any(n.group == group.name for n in cluster.nodes.values()):
            cluster.groups.pop(group.name, None)

    def _forget(self, cluster: Cluster) -> None:
        if self.core.clusters.get(cluster.name) is cluster:
            del self.core.clusters[cluster.name]

    def _refuse_while_busy(self, cluster: Cluster, operation: str) -> None:
        allowed = ("InService", "Creating") if cluster.continuous else ("InService",)
        if cluster.status not in allowed:
            self._conflict(cluster, operation)

    def _conflict(self, cluster: Cluster, operation: str) -> None:
        raise ServiceError(
            "ConflictException",
            f"{operation} cannot run on cluster {cluster.name} in status {cluster.status}: another operation is under "
            "way, or the status does not allow it.",
        )

    def _set_status(self, cluster: Cluster, status: str) -> None:
        if cluster.status != status:
            cluster.status = status
            self.core.events.state_change(cluster)

    def _one_subnet(self, subnets: tuple[str, ...]) -> tuple[str, ...]:
        """HyperPod settles on one of the cluster's subnets; every group without its own inherits that AZ."""
        if not subnets:
            return tuple(self.core.subnets)[:1]
        return (subnets[int(self.core.draw((0, len(subnets) - 0.001), "subnet", *subnets))],)
