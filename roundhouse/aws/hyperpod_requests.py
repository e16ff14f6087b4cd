"""CreateCluster's request from a ClusterSpec. Pure: no AWS call.

Checked in the tests against the service model. The discounted groups' ARN and subnets are in this first request on
purpose: a discount that is missing from the first call is lost for the whole cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roundhouse.build.spec import ClusterSpec, DiscountKind, GroupSpec
from roundhouse.errors import BadInput

CONTINUOUS = "continuous"


def create_cluster(spec: ClusterSpec, counts: Mapping[str, int]) -> dict[str, Any]:
    """The request for `spec` with `counts` nodes per group (a group not named gets 0).

    Raises BadInput for a group that the spec does not have and for a negative count.
    """
    unknown = sorted(set(counts) - {group.name for group in spec.groups})
    if unknown:
        raise BadInput(
            f"cluster {spec.cluster} has no group {', '.join(unknown)}: use the names of its environment file"
        )
    negative = sorted(name for name, count in counts.items() if count < 0)
    if negative:
        raise BadInput(f"cluster {spec.cluster}: the count of {', '.join(negative)} is below 0")
    request: dict[str, Any] = {
        "ClusterName": spec.cluster,
        "InstanceGroups": [_group(spec, group, counts.get(group.name, 0)) for group in spec.groups],
        "VpcConfig": _vpc(spec),
        "NodeRecovery": spec.node_recovery,
        "Orchestrator": {"Slurm": {}},
    }
    if spec.provisioning_mode == CONTINUOUS:
        request["NodeProvisioningMode"] = "Continuous"
    if spec.tags:
        request["Tags"] = [{"Key": key, "Value": value} for key, value in spec.tags]
    return request


def _group(spec: ClusterSpec, group: GroupSpec, count: int) -> dict[str, Any]:
    compute = group.role == "Compute"
    slurm: dict[str, Any] = {"NodeType": group.role}
    if compute and group.partition:
        slurm["PartitionNames"] = [group.partition]
    request: dict[str, Any] = {
        "InstanceGroupName": group.name,
        "InstanceType": group.instance_type,
        "InstanceCount": count,
        "ExecutionRole": group.execution_role_arn,
        "LifeCycleConfig": {"SourceS3Uri": group.lifecycle_s3_uri, "OnCreate": group.lifecycle_script},
        "ThreadsPerCore": group.threads_per_core,
        "SlurmConfig": slurm,
    }
    # 0, or HyperPod sets the whole group back to nothing when a minimum is not reached within three hours. Controller
    # and login groups keep the service's own default of 1: without them there is no cluster.
    if compute and spec.provisioning_mode == CONTINUOUS:
        request["MinInstanceCount"] = 0
    if group.discount.kind is DiscountKind.TRAINING_PLAN and group.discount.training_plan_arn:
        request["TrainingPlanArn"] = group.discount.training_plan_arn
    if group.discount.kind is not DiscountKind.NONE:
        request["OverrideVpcConfig"] = _vpc(spec)  # pinned: HyperPod would choose one of the cluster's subnets itself
    storage = _storage(spec, group)
    if storage:
        request["InstanceStorageConfigs"] = storage
    return request


def _storage(spec: ClusterSpec, group: GroupSpec) -> list[dict[str, Any]]:
    volumes: list[dict[str, Any]] = []
    if group.ebs_gib:
        volumes.append({"EbsVolumeConfig": {"VolumeSizeInGB": group.ebs_gib}})
    for dns_name, mount_name, mount_path in spec.file_system_mounts:
        mount = {"DnsName": dns_name, "MountName": mount_name, "MountPath": mount_path}
        volumes.append({"FsxLustreConfig": mount})
    return volumes


def _vpc(spec: ClusterSpec) -> dict[str, list[str]]:
    return {"SecurityGroupIds": list(spec.security_group_ids), "Subnets": list(spec.subnet_ids)}
