"""What CreateCluster and UpdateCluster refuse beyond the service model: the rules between members. Pure.

Imports this package's core and state. The first rule that is broken is answered, as a ValidationException.
"""

from typing import Any

from simulator.hyperpod.core import bad_request
from simulator.hyperpod.state import Cluster, Group


def node_type(spec: dict[str, Any]) -> str:
    """Controller, Login or Compute."""
    return str(spec.get("SlurmConfig", {}).get("NodeType", "Compute"))


def types_of(spec: dict[str, Any]) -> tuple[str, ...]:
    """Instance types of a group specification in order of preference."""
    if "InstanceType" in spec:
        return (str(spec["InstanceType"]),)
    return tuple(spec.get("InstanceRequirements", {}).get("InstanceTypes", ()))


def check_create(request: dict[str, Any]) -> None:
    """Raise for the first rule that a CreateCluster request breaks."""
    specs = request.get("InstanceGroups", [])
    if not specs:
        raise bad_request("At least one instance group must be specified.")
    continuous = request.get("NodeProvisioningMode") == "Continuous"
    orchestrator = request.get("Orchestrator", {})
    if "Eks" in orchestrator:
        raise bad_request(
            "Exactly one of Eks and Slurm can be specified in Orchestrator."
            if "Slurm" in orchestrator
            else "The EKS orchestrator is not part of this simulator; use Slurm."
        )
    if continuous and "SlurmConfigStrategy" in orchestrator.get("Slurm", {}):
        raise bad_request("SlurmConfigStrategy cannot be used with NodeProvisioningMode Continuous.")
    _check_groups(request["ClusterName"], specs, continuous, has_vpc="VpcConfig" in request)
    controllers = [s for s in specs if node_type(s) == "Controller"]
    if continuous or any("SlurmConfig" in s for s in specs):
        if len(controllers) > 1:
            raise bad_request(
                f"{len(controllers)} Controller Groups found: SlurmConfig for InstanceGroups may only have one "
                "Controller Group."
            )
        if not controllers or controllers[0]["InstanceCount"] < 1:
            raise bad_request(f"Cluster {request['ClusterName']} has no InstanceGroup with Controller node type.")


def check_update(cluster: Cluster, request: dict[str, Any]) -> None:
    """Raise for the first rule that an UpdateCluster request breaks on this cluster."""
    specs = request.get("InstanceGroups", [])
    doomed = request.get("InstanceGroupsToDelete", [])
    mode = request.get("NodeProvisioningMode")
    if mode == "Continuous" and not cluster.continuous:
        raise bad_request("NodeProvisioningMode of an existing cluster cannot be changed.")
    _check_groups(cluster.name, specs, cluster.continuous, has_vpc="VpcConfig" in cluster.request)
    for spec in specs:
        if spec["InstanceGroupName"] in doomed:
            raise bad_request(f"Instance group {spec['InstanceGroupName']} cannot be both updated and deleted.")
        group = cluster.groups.get(spec["InstanceGroupName"])
        if group is None:
            _check_new_group(spec)
        else:
            _check_changed_group(cluster, group, spec)
    for name in doomed:
        if name not in cluster.groups:
            raise bad_request(f"Instance group {name} does not exist in cluster {cluster.name}.")
        if cluster.groups[name].node_type == "Controller":
            raise bad_request(f"Instance group {name} holds the Slurm controller and cannot be deleted.")
    new = {s["InstanceGroupName"] for s in specs}
    if doomed and not (set(cluster.groups) - set(doomed)) | new:
        raise bad_request("At least one instance group must remain in the cluster.")


def _check_new_group(spec: dict[str, Any]) -> None:
    if spec["InstanceCount"] < 1:
        raise bad_request(f"InstanceCount of the new instance group {spec['InstanceGroupName']} must be at least 1.")
    if node_type(spec) == "Controller":
        raise bad_request(
            "2 Controller Groups found: SlurmConfig for InstanceGroups may only have one Controller Group."
        )


def _check_changed_group(cluster: Cluster, group: Group, spec: dict[str, Any]) -> None:
    for key in ("InstanceType", "InstanceRequirements", "ExecutionRole", "OverrideVpcConfig", "SlurmConfig"):
        if spec.get(key) != group.spec.get(key):
            raise bad_request(f"{key} of instance group {group.name} cannot be changed.")
    if spec.get("ThreadsPerCore", 1) != group.spec.get("ThreadsPerCore", 1):
        raise bad_request(f"ThreadsPerCore of instance group {group.name} cannot be changed.")
    if group.node_type == "Controller" and spec["InstanceCount"] < 1:
        raise bad_request(f"Cluster {cluster.name} has no InstanceGroup with Controller node type.")


def _check_groups(cluster: str, specs: list[dict[str, Any]], continuous: bool, *, has_vpc: bool) -> None:
    names = [s["InstanceGroupName"] for s in specs]
    for name in names:
        if names.count(name) > 1:
            raise bad_request(f"Instance group name {name} is used more than once.")
    for spec in specs:
        name, count = spec["InstanceGroupName"], spec["InstanceCount"]
        if ("InstanceType" in spec) == ("InstanceRequirements" in spec):
            raise bad_request(f"Instance group {name} needs exactly one of InstanceType and InstanceRequirements.")
        if "MinInstanceCount" in spec:
            if not continuous:
                raise bad_request("MinInstanceCount can only be used with NodeProvisioningMode Continuous.")
            if spec["MinInstanceCount"] > count:
                raise bad_request(f"MinInstanceCount of instance group {name} cannot exceed its InstanceCount.")
        if "OverrideVpcConfig" in spec and not has_vpc:
            raise bad_request(f"OverrideVpcConfig of instance group {name} needs VpcConfig at the cluster level.")
        slurm = spec.get("SlurmConfig")
        if continuous and slurm is None:
            raise bad_request(f"Instance group {name} needs SlurmConfig with NodeProvisioningMode Continuous.")
        if slurm and slurm.get("PartitionNames") and slurm["NodeType"] != "Compute":
            raise bad_request("Partitions can only be assigned to Compute node types")
        if slurm and slurm["NodeType"] == "Controller" and "TrainingPlanArn" in spec:
            raise bad_request(f"A training plan cannot be used for the controller group {name}.")
