"""How clusters, groups and nodes look in answers and in state-change events. Pure; standard library only."""

from datetime import datetime
from typing import Any

from simulator.hyperpod.ground.capacity import Capacity, Reserved
from simulator.hyperpod.state import Cluster, Event, Group, Node, Operation

_COPIED = (
    "InstanceGroupName",
    "InstanceType",
    "LifeCycleConfig",
    "ExecutionRole",
    "ThreadsPerCore",
    "InstanceStorageConfigs",
    "OnStartDeepHealthChecks",
    "TrainingPlanArn",
    "OverrideVpcConfig",
    "ScheduledUpdateConfig",
    "CapacityRequirements",
    "SlurmConfig",
    "NetworkInterface",
)


def current_count(cluster: Cluster, group: Group, how: str) -> int:
    """CurrentCount: instances that exist ('provisioned', leads the Running ones) or that run."""
    members = cluster.members(group.name)
    if how == "running":
        return sum(1 for n in members if n.status == "Running")
    return sum(1 for n in members if n.provisioned)


def group_view(cluster: Cluster, group: Group, capacity: Capacity, how: str, now: datetime) -> dict[str, Any]:
    """ClusterInstanceGroupDetails."""
    view = {k: group.spec[k] for k in _COPIED if k in group.spec}
    view |= {
        "CurrentCount": current_count(cluster, group, how),
        "TargetCount": group.target,
        "Status": group.status,
        "ThreadsPerCore": group.spec.get("ThreadsPerCore", 1),
        "TrainingPlanStatus": _plan_status(group, capacity, now),
        "CurrentImageReleaseVersion": group.image,
        "DesiredImageReleaseVersion": group.image,
    }
    if "InstanceRequirements" in group.spec:
        types = group.spec["InstanceRequirements"]["InstanceTypes"]
        view["InstanceRequirements"] = {"CurrentInstanceTypes": types, "DesiredInstanceTypes": types}
    if cluster.continuous:
        view["MinCount"] = group.minimum
        active = sum(
            1
            for o in cluster.operations
            if o.status == "InProgress" and any(d["InstanceGroupName"] == group.name for d in o.scaling)
        )
        if active:
            view["ActiveOperations"] = {"Scaling": active}
    if group.software:
        view["SoftwareUpdateStatus"] = group.software
    return view


def _plan_status(group: Group, capacity: Capacity, now: datetime) -> str:
    if not group.plan_arn:
        return "NotApplicable"
    plan = capacity.plan(group.plan_arn)
    return plan.status(now) if plan else "NotApplicable"


def cluster_view(cluster: Cluster, capacity: Capacity, how: str, now: datetime) -> dict[str, Any]:
    """DescribeClusterResponse."""
    view: dict[str, Any] = {
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "ClusterStatus": cluster.status,
        "CreationTime": cluster.created,
        "FailureMessage": cluster.failure,
        "InstanceGroups": [group_view(cluster, g, capacity, how, now) for g in cluster.groups.values()],
        "NodeRecovery": cluster.node_recovery,
    }
    for key in ("VpcConfig", "Orchestrator", "ClusterRole", "TieredStorageConfig"):
        if key in cluster.request:
            view[key] = cluster.request[key]
    if cluster.continuous:
        view["NodeProvisioningMode"] = "Continuous"
    return view


def state_change_detail(cluster: Cluster) -> dict[str, Any]:
    """Detail of a 'Cluster State Change' event: no MinCount, no previous status, times in milliseconds."""
    groups = []
    for group in cluster.groups.values():
        view = {k: group.spec[k] for k in _COPIED if k in group.spec and k != "SlurmConfig"}
        view |= {
            "CurrentCount": current_count(cluster, group, "provisioned"),
            "InstanceStorageConfigs": group.spec.get("InstanceStorageConfigs", [{}]),
            "Status": group.status,
            "TargetCount": group.target,
            "ThreadsPerCore": group.spec.get("ThreadsPerCore", 1),
            "TrainingPlanStatus": "NotApplicable",
        }
        groups.append(view)
    return {
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "ClusterStatus": cluster.status,
        "CreationTime": round(cluster.created.timestamp() * 1000),
        "FailureMessage": cluster.failure,
        "InstanceGroups": groups,
        "NodeRecovery": cluster.node_recovery,
        "Orchestrator": cluster.request.get("Orchestrator", {"Slurm": {}}),
        "VpcConfig": cluster.request.get("VpcConfig", {}),
    }


def shown_status(node: Node, now: datetime, lag: float) -> str:
    """The status that lists show: the previous one until `lag` seconds after a change."""
    if lag and node.changed and (now - node.changed).total_seconds() < lag:
        return node.shown_status
    return node.status


def node_summary(node: Node, status: str, *, logical: bool) -> dict[str, Any]:
    """ClusterNodeSummary; NodeLogicalId only when it was asked for."""
    view: dict[str, Any] = {
        "InstanceGroupName": node.group,
        "InstanceId": node.instance_id or "",
        "InstanceType": node.instance_type,
        "LaunchTime": node.launch_time or node.created,
        "InstanceStatus": {"Status": status, "Message": node.message},
        "CurrentImageReleaseVersion": node.image,
    }
    if node.hostname and node.instance_id:
        view["PrivateDnsHostname"] = node.hostname
    if logical:
        view["NodeLogicalId"] = node.logical_id
    return view


def node_view(node: Node, group: Group, placement: dict[str, str], *, continuous: bool) -> dict[str, Any]:
    """ClusterNodeDetails. Where the capacity came from is not told here; only events tell it."""
    view = node_summary(node, node.status, logical=continuous)
    if not node.instance_id:
        del view["InstanceId"]
    for key in ("LifeCycleConfig", "OverrideVpcConfig", "InstanceStorageConfigs", "NetworkInterface"):
        if key in group.spec:
            view[key] = group.spec[key]
    view |= {
        "ThreadsPerCore": group.spec.get("ThreadsPerCore", 1),
        "Placement": placement,
        "CapacityType": "Spot" if "Spot" in group.spec.get("CapacityRequirements", {}) else "OnDemand",
        "DesiredImageReleaseVersion": group.image,
    }
    if node.address and node.instance_id:
        view["PrivatePrimaryIp"] = node.address
    return view


def event_summary(cluster: Cluster, event: Event) -> dict[str, Any]:
    """ClusterEventSummary."""
    view: dict[str, Any] = {
        "EventId": event.id,
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "ResourceType": event.resource_type,
        "EventTime": event.time,
        "Description": event.description,
        "EventLevel": event.level,
    }
    optional = {
        "InstanceGroupName": event.group,
        "InstanceId": event.instance_id,
        "OperationId": event.operation_id,
    }
    return view | {k: v for k, v in optional.items() if v}


def operation_view(cluster: Cluster, op: Operation, *, details: bool) -> dict[str, Any]:
    """ClusterOperationSummary, or the whole DescribeClusterOperation answer with `details`."""
    view: dict[str, Any] = {
        "OperationId": op.id,
        "ClusterArn": cluster.arn,
        "Type": op.kind,
        "Status": op.status,
        "CreationTime": op.created,
    }
    if details and op.scaling:
        view["ScalingDetails"] = [d | {"Status": op.status} for d in op.scaling]
    if details and op.checks:
        view["DeepHealthCheckDetails"] = op.checks
    return view


def plan_view(plan: Reserved, now: datetime, az: str | None, *, full: bool) -> dict[str, Any]:
    """TrainingPlanSummary, or the DescribeTrainingPlan answer with `full`."""
    start, end = plan.windows[0][0], plan.windows[-1][1]
    status = plan.status(now)
    total = len(plan.units)
    blocks = []
    for number, (first, last) in enumerate(plan.windows):
        block: dict[str, Any] = {
            "ReservedCapacityArn": f"{str(plan.arn).replace(':training-plan/', ':reserved-capacity/')}-{number}",
            "ReservedCapacityType": "Instance",
            "InstanceType": plan.instance_type,
            "TotalInstanceCount": total,
            "Status": "Active" if first <= now < last else "Scheduled" if now < first else "Expired",
            "AvailabilityZoneId": plan.az_id,
            "DurationHours": int((last - first).total_seconds() // 3600),
            "DurationMinutes": int((last - first).total_seconds() % 3600 // 60),
            "StartTime": first,
            "EndTime": last,
        }
        if az:
            block["AvailabilityZone"] = az
        blocks.append(block)
    hours = sum((e - s).total_seconds() for s, e in plan.windows)
    view: dict[str, Any] = {
        "TrainingPlanArn": plan.arn,
        "TrainingPlanName": plan.name,
        "Status": status,
        "DurationHours": int(hours // 3600),
        "DurationMinutes": int(hours % 3600 // 60),
        "StartTime": start,
        "EndTime": end,
        "UpfrontFee": plan.upfront_fee,
        "CurrencyCode": "USD",
        "TotalInstanceCount": total,
        "AvailableInstanceCount": plan.available(now),
        "InUseInstanceCount": plan.in_use,
        "TargetResources": plan.target_resources,
        "ReservedCapacitySummaries": blocks,
    }
    if full:
        view |= {"UnhealthyInstanceCount": plan.unhealthy, "AvailableSpareInstanceCount": 0}
    return view
