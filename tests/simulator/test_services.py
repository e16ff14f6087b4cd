"""Added services: the newer model decides about requests and answers; IAM decides about callers."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import botocore
import pytest
from botocore.exceptions import ClientError

from simulator.aws.iam import further_checks, sagemaker_resource
from simulator.aws.models import Models, from_wire, problems, to_wire
from simulator.aws.services import answer
from simulator.service import Caller
from tests.simulator.conftest import Probe
from tests.simulator.probe_world import CLUSTER_ARN, ProbeSageMaker
from tests.simulator.roles import as_role

CALLER = Caller("111122223333", "us-west-2", None)


@pytest.fixture(scope="module")
def models() -> Models:

    return Models(Path(botocore.__file__).parent / "data")


def ask(models: Models, operation: str, params: Any) -> tuple[int, dict[str, Any]]:
    body = params if isinstance(params, bytes) else json.dumps(params).encode()
    status, _, reply = answer(ProbeSageMaker({}), models, f"SageMaker.{operation}", body, CALLER)
    return status, json.loads(reply)


@pytest.mark.parametrize(
    ("operation", "params", "code", "said"),
    [
        ("NoSuchOperation", {}, "UnknownOperationException", "NoSuchOperation"),
        ("DescribeCluster", b"{", "SerializationException", "JSON"),
        ("DescribeCluster", {}, "ValidationException", "ClusterName: missing"),
        ("DescribeCluster", {"ClusterName": "probe", "Color": 1}, "ValidationException", "Color: unknown member"),
        ("DescribeCluster", {"ClusterName": "under_score"}, "ValidationException", "does not match"),
        ("DescribeCluster", {"ClusterName": 7}, "ValidationException", "int is not string"),
        ("ListClusters", {"MaxResults": 0}, "ValidationException", "below the minimum"),
        ("ListClusters", {"SortBy": "COLOR"}, "ValidationException", "none of"),
        ("DescribeCluster", {"ClusterName": "other"}, "ResourceNotFound", "not found"),
    ],
)
def test_refuses_as_the_service_does(models: Models, operation: str, params: Any, code: str, said: str) -> None:
    status, reply = ask(models, operation, params)
    assert (status, reply["__type"]) == (400, code)
    assert said in reply["message"]


def test_an_answer_that_breaks_the_model_is_a_bug_of_the_simulator(models: Models) -> None:
    status, reply = ask(models, "DescribeCluster", {"ClusterName": "wrong-answer"})
    assert status == 500
    assert "simulator bug" in reply["message"]
    assert "Color: unknown member" in reply["message"]


def test_times_are_seconds_on_the_wire(models: Models) -> None:
    status, reply = ask(models, "DescribeCluster", {"ClusterName": "probe"})
    assert status == 200
    assert reply["CreationTime"] == datetime(2026, 11, 30, 12, 0, 0, 123000, tzinfo=UTC).timestamp()
    shape = models.operation("sagemaker", "ListClusters")
    assert shape is not None
    params = from_wire({"CreationTimeAfter": 1_790_000_000.5}, shape.input_shape)
    assert params == {"CreationTimeAfter": datetime.fromtimestamp(1_790_000_000.5, UTC)}
    assert list(problems(params, shape.input_shape)) == []
    assert to_wire(params) == {"CreationTimeAfter": 1_790_000_000.5}


def test_a_call_that_the_emulators_botocore_lacks_is_known(probe: Probe) -> None:
    """Cluster extensions are in the product's models only: the probe's own error shows that the call reached it."""
    extension = "arn:aws:sagemaker:us-west-2:111122223333:extension/sagemaker-x/y/z1"
    with pytest.raises(ClientError, match="DeleteClusterExtension is not part of the probe"):
        probe.aws.client("sagemaker").delete_cluster_extension(ClusterArn=CLUSTER_ARN, ExtensionArn=extension)


PREFIX = "arn:aws:sagemaker:us-west-2:111122223333"


@pytest.mark.parametrize(
    ("operation", "params", "resource"),
    [
        ("DescribeCluster", {"ClusterName": "probe"}, CLUSTER_ARN),
        ("DescribeCluster", {"ClusterName": CLUSTER_ARN}, CLUSTER_ARN),
        ("DescribeCluster", {"ClusterName": "unknown"}, f"{PREFIX}:cluster/*"),
        ("CreateCluster", {"ClusterName": "probe"}, f"{PREFIX}:cluster/*"),
        ("ListClusters", {}, "*"),
        ("DescribeTrainingPlan", {"TrainingPlanName": "plan"}, f"{PREFIX}:training-plan/plan"),
        ("ListTags", {"ResourceArn": CLUSTER_ARN}, CLUSTER_ARN),
    ],
)
def test_iam_checks_the_resource_that_the_call_names(operation: str, params: Mapping[str, Any], resource: str) -> None:
    known = {"probe": CLUSTER_ARN}.get
    assert sagemaker_resource(operation, params, "us-west-2", "111122223333", known) == resource


def test_roles_are_passed_plans_are_used_and_tags_are_added() -> None:
    groups = [{"ExecutionRole": "b", "TrainingPlanArn": "plan"}, {"ExecutionRole": "a"}, {"ExecutionRole": "b"}, {}]
    call = {"InstanceGroups": groups, "Tags": [{"Key": "k", "Value": "v"}]}
    assert further_checks("CreateCluster", call, "us-west-2", "111122223333") == [
        ("iam:PassRole", "a"),
        ("iam:PassRole", "b"),
        ("sagemaker:CreateCluster", "plan"),
        ("sagemaker:AddTags", f"{PREFIX}:cluster/*"),
    ]
    assert further_checks("DescribeCluster", call, "us-west-2", "111122223333") == []


def test_a_permission_on_one_cluster_is_not_one_on_another(probe: Probe) -> None:
    statement = {"Effect": "Allow", "Action": "sagemaker:DescribeCluster", "Resource": CLUSTER_ARN}
    client = as_role(probe.aws, "sagemaker", "one-cluster", [statement])
    assert client.describe_cluster(ClusterName="probe")["ClusterName"] == "probe"
    with pytest.raises(ClientError, match="AccessDenied"):
        client.describe_cluster(ClusterName="other")
    with pytest.raises(ClientError, match="AccessDenied"):
        client.list_clusters()
    me = f"arn:aws:sts::{probe.aws.account}:assumed-role/one-cluster/test"
    assert ["DescribeCluster", me] in probe.aws.control("calls")["calls"]


def test_create_cluster_needs_to_pass_the_role_of_its_instances(probe: Probe) -> None:
    role = f"arn:aws:iam::{probe.aws.account}:role/instances"
    create = {"Effect": "Allow", "Action": "sagemaker:CreateCluster", "Resource": f"{PREFIX}:cluster/*"}
    passing = {"Effect": "Allow", "Action": "iam:PassRole", "Resource": role}
    group = {
        "InstanceGroupName": "workers",
        "InstanceType": "ml.g6.48xlarge",
        "InstanceCount": 1,
        "ExecutionRole": role,
        "LifeCycleConfig": {"SourceS3Uri": "s3://sagemaker-scripts/", "OnCreate": "on_create.sh"},
    }
    request: dict[str, Any] = {"ClusterName": "new", "InstanceGroups": [group]}
    with pytest.raises(ClientError, match=r"iam:PassRole on resource: .*role/instances"):
        as_role(probe.aws, "sagemaker", "cannot-pass", [create]).create_cluster(**request)
    made = as_role(probe.aws, "sagemaker", "can-pass", [create, passing]).create_cluster(**request)
    assert made["ClusterArn"] == CLUSTER_ARN
