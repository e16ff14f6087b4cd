"""CreateCluster's request from a ClusterSpec. Pure: no AWS call.

Checked in the tests against the service model. The discounted groups' ARN and subnets are in this first request on
purpose: a discount that is missing from the first call is lost for the whole cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roundhouse.build.settings import group_settings, vpc
from roundhouse.build.spec import ClusterSpec, GroupSpec
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
        "VpcConfig": vpc(spec),
        "NodeRecovery": spec.node_recovery,
        "Orchestrator": {"Slurm": {}},
    }
    if spec.provisioning_mode == CONTINUOUS:
        request["NodeProvisioningMode"] = "Continuous"
    if spec.tags:
        request["Tags"] = [{"Key": key, "Value": value} for key, value in spec.tags]
    return request


def _group(spec: ClusterSpec, group: GroupSpec, count: int) -> dict[str, Any]:
    request = {**group_settings(spec, group), "InstanceCount": count}
    # 0, or HyperPod sets the whole group back to nothing when a minimum is not reached within three hours. Controller
    # and login groups keep the service's own default of 1: without them there is no cluster.
    if group.role == "Compute" and spec.provisioning_mode == CONTINUOUS:
        request["MinInstanceCount"] = 0
    return request
