"""Calls that change a cluster: what is asked, and what each kind of answer means."""

from __future__ import annotations

from typing import Any

import pytest

from roundhouse.aws.hyperpod_writer import HyperpodWriter, client_token
from roundhouse.contracts.ledger import action_id
from roundhouse.errors import (
    AwsFailure,
    BadInput,
    Conflict,
    InUse,
    InvalidRequest,
    LimitExceeded,
    NotFound,
    Throttled,
    Unavailable,
)
from tests.aws.conftest import sample
from tests.aws.samples import spec

NAME = "train-slurm-a"
ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/a1b2c3d4e5f6"
ONE, TWO = "i-0123456789abcdef0", "i-0fedcba9876543210"


def test_create(sagemaker: Any) -> None:
    client, stub = sagemaker
    stub.add_response("create_cluster", {"ClusterArn": ARN})
    assert HyperpodWriter(client).create(spec(), {"controller": 1, "workers": 10}) == ARN


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("ResourceInUse", 400, InUse),
        ("ResourceLimitExceeded", 400, LimitExceeded),
        ("ThrottlingException", 400, Throttled),
        ("InternalFailure", 500, Unavailable),
    ],
)
def test_create_refused(sagemaker: Any, code: str, status: int, kind: type[Exception]) -> None:
    client, stub = sagemaker
    stub.add_client_error("create_cluster", code, "no", status)
    with pytest.raises(kind):
        HyperpodWriter(client).create(spec(), {"controller": 1})


def test_add(sagemaker: Any) -> None:
    client, stub = sagemaker
    asked = {
        "ClusterName": NAME,
        "ClientToken": "stage-1",
        "NodesToAdd": [{"InstanceGroupName": "workers", "IncrementTargetCountBy": 3}],
    }
    stub.add_response("batch_add_cluster_nodes", sample("batch-add.response.partial"), asked)
    assert HyperpodWriter(client).add(NAME, "workers", 3, "stage-1") == ("df268d19-f035-4f28-9b80-b956b92ae21e",)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("InstanceGroupNotFound", NotFound),
        ("InvalidInstanceGroupStatus", Conflict),
        ("IncompatibleAvailabilityZones", InvalidRequest),
    ],
)
def test_nothing_added_is_an_error_with_its_reason(sagemaker: Any, code: str, kind: type[Exception]) -> None:
    client, stub = sagemaker
    failed = [{"InstanceGroupName": "workers", "ErrorCode": code, "FailedCount": 2, "Message": "because"}]
    stub.add_response("batch_add_cluster_nodes", {"Successful": [], "Failed": failed})
    with pytest.raises(kind, match=f"{code}: because"):
        HyperpodWriter(client).add(NAME, "workers", 2, "t")


def test_an_empty_answer_is_no_success(sagemaker: Any) -> None:
    client, stub = sagemaker
    stub.add_response("batch_add_cluster_nodes", {"Successful": [], "Failed": []})
    with pytest.raises(AwsFailure, match="empty answer"):
        HyperpodWriter(client).add(NAME, "workers", 2, "t")


@pytest.mark.parametrize("text", ["stage-1", "x" * 64])
def test_a_short_token_is_kept(text: str) -> None:
    assert client_token(text) == text


@pytest.mark.parametrize("text", ["", "x" * 65, "two words", "ü", action_id(ARN, "add_nodes", "workers:stage-1")])
def test_another_token_is_hashed_to_what_the_service_takes(text: str) -> None:
    token = client_token(text)
    assert token == client_token(text) != client_token(text + "2")
    assert len(token) == 64


def test_delete_in_part(sagemaker: Any) -> None:
    client, stub = sagemaker
    asked = {"ClusterName": NAME, "NodeIds": [ONE, "i-0aaaaaaaaaaaaaaaa"]}
    stub.add_response("batch_delete_cluster_nodes", sample("batch-delete.response.partial"), asked)
    answer = HyperpodWriter(client).delete_nodes(NAME, [ONE, "i-0aaaaaaaaaaaaaaaa"])
    assert answer.accepted == (ONE,)
    assert answer.failed == {"i-0aaaaaaaaaaaaaaaa": ("NodeIdInUse", "example: Slurm controller node")}


def test_delete_by_logical_ids_too(sagemaker: Any) -> None:
    client, stub = sagemaker
    asked = {"ClusterName": NAME, "NodeIds": [ONE], "NodeLogicalIds": ["logical-1", "logical-2"]}
    failed = [{"NodeLogicalId": "logical-2", "Code": "NodeIdNotFound", "Message": "gone"}]
    told = {"Successful": [ONE], "SuccessfulNodeLogicalIds": ["logical-1"], "FailedNodeLogicalIds": failed}
    stub.add_response("batch_delete_cluster_nodes", told, asked)
    answer = HyperpodWriter(client).delete_nodes(NAME, [ONE], ["logical-1", "logical-2"])
    assert answer.accepted == (ONE, "logical-1")
    assert answer.failed == {"logical-2": ("NodeIdNotFound", "gone")}


@pytest.mark.parametrize(
    ("code", "message", "found"),
    [
        ("ValidationException", "All nodes failed: NodeIdInUse: is a Slurm controller", "NodeIdInUse"),
        ("ValidationException", "NODE_ID_IN_USE", "NodeIdInUse"),
        ("InvalidNodeStatus", "the node shuts down", "InvalidNodeStatus"),
    ],
)
def test_an_error_answer_when_every_id_failed(sagemaker: Any, code: str, message: str, found: str) -> None:
    client, stub = sagemaker
    stub.add_client_error("batch_delete_cluster_nodes", code, message)
    answer = HyperpodWriter(client).delete_nodes(NAME, [ONE, TWO])
    assert answer.accepted == ()
    assert answer.failed == {ONE: (found, message), TWO: (found, message)}


def test_an_error_answer_that_lists_the_ids(sagemaker: Any) -> None:
    client, stub = sagemaker
    listed = [{"NodeId": ONE, "Code": "NodeIdNotFound", "Message": "gone"}]
    stub.add_client_error("batch_delete_cluster_nodes", "ValidationException", "all failed", modeled_fields=None)
    stub._queue[-1]["response"][1]["Failed"] = listed  # what a body with more members is parsed to
    assert HyperpodWriter(client).delete_nodes(NAME, [ONE]).failed == {ONE: ("NodeIdNotFound", "gone")}


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        ("ValidationException", "Cluster is being updated", InvalidRequest),
        ("ConflictException", "another operation", Conflict),
        ("ResourceNotFound", "no cluster", NotFound),
    ],
)
def test_a_refused_delete_is_not_taken_for_failed_ids(
    sagemaker: Any, code: str, message: str, kind: type[Exception]
) -> None:
    client, stub = sagemaker
    stub.add_client_error("batch_delete_cluster_nodes", code, message)
    with pytest.raises(kind):
        HyperpodWriter(client).delete_nodes(NAME, [ONE])


def test_replace_in_part(sagemaker: Any) -> None:
    client, stub = sagemaker
    asked = {"ClusterName": NAME, "NodeIds": [ONE, TWO]}
    stub.add_response("batch_replace_cluster_nodes", sample("batch-replace.response.partial"), asked)
    answer = HyperpodWriter(client).replace(NAME, [ONE, TWO])
    assert answer.accepted == (ONE,)
    assert answer.failed == {TWO: ("InstanceIdInUse", "example")}


def test_reboot(sagemaker: Any) -> None:
    client, stub = sagemaker
    stub.add_response("batch_reboot_cluster_nodes", {"Successful": [ONE]}, {"ClusterName": NAME, "NodeIds": [ONE]})
    answer = HyperpodWriter(client).reboot(NAME, [ONE])
    assert (answer.accepted, answer.failed) == ((ONE,), {})


def test_delete_cluster(sagemaker: Any) -> None:
    client, stub = sagemaker
    stub.add_response("delete_cluster", {"ClusterArn": ARN}, {"ClusterName": ARN})
    HyperpodWriter(client).delete_cluster(ARN)
    stub.add_client_error("delete_cluster", "ConflictException")
    with pytest.raises(Conflict):
        HyperpodWriter(client).delete_cluster(ARN)


@pytest.mark.parametrize("amount", [-1, 0, 51])
def test_sizes_are_refused_before_any_call(sagemaker: Any, amount: int) -> None:
    client, _ = sagemaker
    writer = HyperpodWriter(client)
    ids = [f"i-{number:017x}" for number in range(max(amount, 0))]
    with pytest.raises(BadInput, match="1 to 50"):
        writer.add(NAME, "workers", amount, "t")
    with pytest.raises(BadInput, match="1 to 50"):
        writer.delete_nodes(NAME, ids[:25], ids[25:])
    for repair in (writer.reboot, writer.replace):
        with pytest.raises(BadInput, match="1 to 25"):
            repair(NAME, ids[:26])


ROLE = "arn:aws:iam::111122223333:role/r"
SETTINGS = {"InstanceGroupName": "workers", "InstanceType": "ml.g6.48xlarge", "ExecutionRole": ROLE}


def test_set_count_sends_the_live_settings_and_the_absolute_count(sagemaker: Any) -> None:
    client, stub = sagemaker
    asked = {"ClusterName": NAME, "InstanceGroups": [{**SETTINGS, "InstanceCount": 52}]}
    stub.add_response("update_cluster", {"ClusterArn": ARN}, asked)
    HyperpodWriter(client).set_count(NAME, "workers", 52, SETTINGS)
    stub.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ConflictException", Conflict),
        ("ResourceLimitExceeded", LimitExceeded),
        ("ResourceNotFound", NotFound),
        ("ValidationException", InvalidRequest),
    ],
)
def test_set_count_refused(sagemaker: Any, code: str, kind: type[Exception]) -> None:
    client, stub = sagemaker
    stub.add_client_error("update_cluster", code, "no", 400)
    with pytest.raises(kind):
        HyperpodWriter(client).set_count(NAME, "workers", 52, SETTINGS)


@pytest.mark.parametrize("settings", [{}, {"InstanceGroupName": "workers"}, {**SETTINGS, "InstanceGroupName": "login"}])
def test_set_count_needs_the_settings_of_that_very_group(sagemaker: Any, settings: dict[str, Any]) -> None:
    client, _ = sagemaker
    with pytest.raises(BadInput, match="live settings"):
        HyperpodWriter(client).set_count(NAME, "workers", 52, settings)
