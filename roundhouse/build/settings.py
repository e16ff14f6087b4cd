"""A group's settings in HyperPod's own words: what CreateCluster asks for, and UpdateCluster must send again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roundhouse.build.spec import ClusterSpec, DiscountKind, GroupSpec

# Members that a DescribeCluster group and an UpdateCluster group have in common (service model of late 2026), counts
# left out. MinInstanceCount is for continuous clusters; images are changed by UpdateClusterSoftware alone.
SETTINGS = (
    "InstanceGroupName",
    "InstanceType",
    "ExecutionRole",
    "ThreadsPerCore",
    "LifeCycleConfig",
    "InstanceStorageConfigs",
    "OnStartDeepHealthChecks",
    "TrainingPlanArn",
    "OverrideVpcConfig",
    "ScheduledUpdateConfig",
    "AutoPatchConfig",
    "CapacityRequirements",
    "SlurmConfig",
    "NetworkInterface",
)
_DEFAULTS: Mapping[str, Any] = {"ThreadsPerCore": 1}
# What HyperPod adds to these by itself, or leaves out of its answer, is no difference.
_MAY_BE_ABSENT = {"SlurmConfig", "OverrideVpcConfig"}


def group_settings(spec: ClusterSpec, group: GroupSpec) -> dict[str, Any]:
    """Everything that the environment says of a group, counts left out."""
    slurm: dict[str, Any] = {"NodeType": group.role}
    if group.role == "Compute" and group.partition:
        slurm["PartitionNames"] = [group.partition]
    settings: dict[str, Any] = {
        "InstanceGroupName": group.name,
        "InstanceType": group.instance_type,
        "ExecutionRole": group.execution_role_arn,
        "LifeCycleConfig": {"SourceS3Uri": group.lifecycle_s3_uri, "OnCreate": group.lifecycle_script},
        "ThreadsPerCore": group.threads_per_core,
        "SlurmConfig": slurm,
    }
    if group.discount.kind is DiscountKind.TRAINING_PLAN and group.discount.training_plan_arn:
        settings["TrainingPlanArn"] = group.discount.training_plan_arn
    if group.discount.kind is not DiscountKind.NONE:
        settings["OverrideVpcConfig"] = vpc(spec)  # pinned: HyperPod would choose one of the cluster's subnets itself
    storage = _storage(spec, group)
    if storage:
        settings["InstanceStorageConfigs"] = storage
    return settings


def live_settings(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a group of DescribeCluster's answer, as UpdateCluster takes them: a patch schedule has another
    name there."""
    settings = {member: raw[member] for member in SETTINGS if raw.get(member)}
    patching = settings.get("AutoPatchConfig")
    if patching:
        kept = {k: v for k, v in patching.items() if k not in {"CurrentPatchSchedule", "DesiredPatchSchedule"}}
        wanted = patching.get("DesiredPatchSchedule")
        settings["AutoPatchConfig"] = kept | ({"PatchSchedule": wanted} if wanted else {})
    return settings


def differences(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """How a live group's settings differ from the environment's, by member. Sending them again would be no mere change
    of a count: the environment, or the cluster, must be put right first.

    Members that the environment knows nothing of are sent as they are live, and never a difference.
    """
    found = []
    for member in ("InstanceType", "ExecutionRole", "ThreadsPerCore", "LifeCycleConfig", "TrainingPlanArn"):
        found += _difference(member, live, wanted)
    found += _difference("InstanceStorageConfigs", _sorted(live), _sorted(wanted))
    for member in sorted(_MAY_BE_ABSENT):
        if live.get(member):
            found += _difference(member, _unordered(live), _unordered(wanted))
    return found


def vpc(spec: ClusterSpec) -> dict[str, list[str]]:
    """Where nodes stand, and behind which security groups."""
    return {"SecurityGroupIds": list(spec.security_group_ids), "Subnets": list(spec.subnet_ids)}


def _difference(member: str, live: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    here, there = (each.get(member) or _DEFAULTS.get(member) for each in (live, wanted))
    if isinstance(here, Mapping) and isinstance(there, Mapping):  # a member that only HyperPod names is its own
        here = {key: value for key, value in here.items() if key in there}
    return [] if here == there else [f"{member} is {_shown(here)}, the environment says {_shown(there)}"]


def _sorted(settings: Mapping[str, Any]) -> dict[str, Any]:
    volumes = settings.get("InstanceStorageConfigs") or []
    return {"InstanceStorageConfigs": sorted((_plain(volume) for volume in volumes), key=repr)}


def _plain(volume: Mapping[str, Any]) -> dict[str, Any]:
    """A volume without members that HyperPod fills in (RootVolume false)."""
    return {
        kind: {key: value for key, value in sorted(members.items()) if value not in (False, None)}
        for kind, members in sorted(volume.items())
    }


def _unordered(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        member: {key: sorted(value) if isinstance(value, list) else value for key, value in settings[member].items()}
        for member in _MAY_BE_ABSENT
        if isinstance(settings.get(member), Mapping)
    }


def _shown(value: Any) -> str:
    return "none" if value in (None, [], {}) else str(value)


def _storage(spec: ClusterSpec, group: GroupSpec) -> list[dict[str, Any]]:
    volumes: list[dict[str, Any]] = []
    if group.ebs_gib:
        volumes.append({"EbsVolumeConfig": {"VolumeSizeInGB": group.ebs_gib}})
    for dns_name, mount_name, mount_path in spec.file_system_mounts:
        mount = {"DnsName": dns_name, "MountName": mount_name, "MountPath": mount_path}
        volumes.append({"FsxLustreConfig": mount})
    return volumes
