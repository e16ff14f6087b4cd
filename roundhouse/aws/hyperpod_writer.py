"""Calls that change a HyperPod cluster. Touches SageMaker; the ledger and the checks before are the caller's.

Made with a client that tries once: `Unavailable` then means exactly that the answer of one call was lost.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from roundhouse.aws.errors import code_of, translated
from roundhouse.aws.hyperpod_requests import create_cluster
from roundhouse.build.spec import ClusterSpec
from roundhouse.errors import AwsFailure, BadInput, Conflict, InvalidRequest, NotFound
from roundhouse.ports import BatchAnswer

MOST_ADDED = 50
MOST_DELETED = 50
MOST_REPAIRED = 25

_TOKEN = re.compile(r"[\x21-\x7e]{1,64}")
_ADD_ERRORS: dict[str, type[AwsFailure]] = {
    "InstanceGroupNotFound": NotFound,
    "InvalidInstanceGroupStatus": Conflict,
    "IncompatibleAvailabilityZones": InvalidRequest,
    "IncompatibleInstanceTypes": InvalidRequest,
}
# BatchDelete answers 400 when every id failed. The documentation spells one code in capitals.
_DELETE_ERRORS = re.compile(r"NodeIdNotFound|InvalidNodeStatus|NodeIdInUse|NODE_ID_[A-Z_]+|INVALID_NODE_STATUS")


class HyperpodWriter:
    """`ports.ClusterWriter`."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def create(self, spec: ClusterSpec, counts: dict[str, int]) -> str:
        request = create_cluster(spec, counts)
        with translated("CreateCluster"):
            return str(self._client.create_cluster(**request)["ClusterArn"])

    def add(self, name: str, group: str, amount: int, token: str) -> tuple[str, ...]:
        """See `ports.ClusterWriter.add`. The token holds for eight hours. When fewer nodes than asked for were taken
        on, the ids of those are returned; when none was, NotFound, Conflict or InvalidRequest is raised."""
        _check_size("BatchAddClusterNodes", amount, MOST_ADDED)
        with translated("BatchAddClusterNodes"):
            answer = self._client.batch_add_cluster_nodes(
                ClusterName=name,
                ClientToken=client_token(token),
                NodesToAdd=[{"InstanceGroupName": group, "IncrementTargetCountBy": amount}],
            )
        added = tuple(node["NodeLogicalId"] for node in answer.get("Successful", []))
        if not added:
            raise _add_failure(name, group, answer.get("Failed", []))
        return added

    def set_count(self, name: str, group: str, count: int, settings: Mapping[str, Any]) -> None:
        """See `ports.ClusterWriter.set_count`. Settings of another group, or none, are a fault of ours."""
        if settings.get("InstanceGroupName") != group or "InstanceType" not in settings:
            raise BadInput(f"UpdateCluster of {group} in {name} needs the group's own live settings: read them again")
        with translated("UpdateCluster"):
            self._client.update_cluster(ClusterName=name, InstanceGroups=[{**settings, "InstanceCount": count}])

    def delete_nodes(self, name: str, instance_ids: Sequence[str], logical_ids: Sequence[str] = ()) -> BatchAnswer:
        ids = (*instance_ids, *logical_ids)
        _check_size("BatchDeleteClusterNodes", len(ids), MOST_DELETED)
        request: dict[str, Any] = {"ClusterName": name}
        if instance_ids:
            request["NodeIds"] = list(instance_ids)
        if logical_ids:
            request["NodeLogicalIds"] = list(logical_ids)
        with translated("BatchDeleteClusterNodes"):
            try:
                answer = self._client.batch_delete_cluster_nodes(**request)
            except ClientError as error:
                refused = _all_refused(error, ids)
                if refused is None:
                    raise
                return refused
        return _answer(answer)

    def reboot(self, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        _check_size("BatchRebootClusterNodes", len(instance_ids), MOST_REPAIRED)
        with translated("BatchRebootClusterNodes"):
            return _answer(self._client.batch_reboot_cluster_nodes(ClusterName=name, NodeIds=list(instance_ids)))

    def replace(self, name: str, instance_ids: Sequence[str]) -> BatchAnswer:
        _check_size("BatchReplaceClusterNodes", len(instance_ids), MOST_REPAIRED)
        with translated("BatchReplaceClusterNodes"):
            return _answer(self._client.batch_replace_cluster_nodes(ClusterName=name, NodeIds=list(instance_ids)))

    def delete_cluster(self, arn: str) -> None:
        with translated("DeleteCluster"):
            self._client.delete_cluster(ClusterName=arn)


def client_token(text: str) -> str:
    """`text` when the service takes it as a client token (1 to 64 visible ASCII characters), else its SHA-256."""
    return text if _TOKEN.fullmatch(text) else hashlib.sha256(text.encode()).hexdigest()


def _check_size(operation: str, amount: int, most: int) -> None:
    if not 1 <= amount <= most:
        raise BadInput(f"{operation} takes 1 to {most} nodes a call, not {amount}: split it into several calls")


def _answer(raw: Mapping[str, Any]) -> BatchAnswer:
    failed = [*raw.get("Failed", []), *raw.get("FailedNodeLogicalIds", [])]
    return BatchAnswer(
        accepted=(*raw.get("Successful", []), *raw.get("SuccessfulNodeLogicalIds", [])),
        # BatchDelete calls the member Code, the others ErrorCode.
        failed={
            one.get("NodeId") or one["NodeLogicalId"]: (one.get("ErrorCode") or one.get("Code", ""), one["Message"])
            for one in failed
        },
    )


def _all_refused(error: ClientError, ids: Iterable[str]) -> BatchAnswer | None:
    """The answer in a 400 that says that every id failed; None for any other error."""
    body: Mapping[str, Any] = error.response
    if body.get("Failed") or body.get("FailedNodeLogicalIds"):
        return _answer(body)
    text = str(body.get("Error", {}).get("Message", ""))
    found = _DELETE_ERRORS.search(f"{code_of(error)} {text}")
    if found is None:
        return None
    code = "".join(part.capitalize() for part in found[0].split("_")) if "_" in found[0] else found[0]
    return BatchAnswer(accepted=(), failed=dict.fromkeys(ids, (code, text)))


def _add_failure(name: str, group: str, failed: Sequence[Mapping[str, Any]]) -> AwsFailure:
    first: Mapping[str, Any] = failed[0] if failed else {}
    code = str(first.get("ErrorCode", ""))
    kind = _ADD_ERRORS.get(code, AwsFailure)
    text = f"BatchAddClusterNodes added nothing to group {group} of {name}: {code or 'empty answer'}"
    return kind(f"{text}: {first.get('Message', 'no message')}", operation="BatchAddClusterNodes", code=code)
