"""The world inside the embedded AWS: boto3 over HTTP, the virtual clock, the bus and the logs. One start for all."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import botocore.exceptions
import pytest

from simulator import client
from simulator.client import EmbeddedAws
from simulator.scenario_file import FOLDER
from tests.simulator_world.harness import controller, group, request

CONTRACT = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/contract-g6-plan"


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedAws]:
    if not client.PYTHON.exists():
        pytest.skip(f"skipped, needs {client.PYTHON} (simulator/requirements.txt)")
    directory = tmp_path_factory.mktemp("aws")
    with EmbeddedAws.start(FOLDER / "demo.toml", scale=1200.0, workdir=directory, cache=directory / "cache") as running:
        yield running


def wait(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "not so in time"
        time.sleep(0.1)


def test_a_cluster_comes_up_and_a_broken_node_is_told_on_the_bus_and_in_the_log(aws: EmbeddedAws) -> None:
    sagemaker, events, sqs, logs = (aws.client(s) for s in ("sagemaker", "events", "sqs", "logs"))
    queue = sqs.create_queue(QueueName="health")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    allow = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage"}
    policy = {"Version": "2012-10-17", "Statement": [allow | {"Resource": arn}]}
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": json.dumps(policy)})
    pattern = {"source": ["aws.sagemaker"], "detail-type": ["SageMaker HyperPod Cluster Node Health Event"]}
    events.put_rule(Name="health", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="health", Targets=[{"Id": "queue", "Arn": arn}])

    groups = [controller(), group("workers", 3, TrainingPlanArn=CONTRACT)]
    created = sagemaker.create_cluster(**request(InstanceGroups=groups, NodeRecovery="None"))

    def running() -> int:
        pages = sagemaker.get_paginator("list_cluster_nodes").paginate(ClusterName="train", MaxResults=2)
        found = [n for page in pages for n in page["ClusterNodeSummaries"]]
        return sum(n["InstanceStatus"]["Status"] == "Running" for n in found)

    wait(lambda: running() == 4)
    plan = sagemaker.describe_training_plan(TrainingPlanName="contract-g6-plan")
    assert (plan["Status"], plan["InUseInstanceCount"]) == ("Active", 3)
    assert aws.control("meter")["per_hour"]["reserved"] == 24.0

    node = aws.control("fail_node", group="workers", index=0)["instance_id"]
    received: list[dict[str, Any]] = []

    def told() -> bool:
        answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        received.extend(json.loads(m["Body"]) for m in answer.get("Messages", []))
        return bool(received)

    wait(told)
    assert received[0]["detail"]["InstanceId"] == node
    assert received[0]["resources"] == [created["ClusterArn"]]
    name = aws.control("nodes")["clusters"][0]["log_group"]
    stream = f"SagemakerHealthMonitoringAgent/workers/{node}"
    records = logs.get_log_events(logGroupName=name, logStreamName=stream)["events"]
    assert json.loads(records[0]["message"])["HealthMonitoringAgentDetectionEvent"] == "HealthEvent"

    answer = sagemaker.batch_replace_cluster_nodes(ClusterName="train", NodeIds=[node])
    assert answer["Successful"] == [node]
    wait(lambda: running() == 3)
    wait(lambda: running() == 4)
    assert aws.control("nodes")["nodes"][1]["wiped"] == 1
    assert [c["operation"] for c in aws.control("calls")["calls"]] == ["CreateCluster", "BatchReplaceClusterNodes"]


@pytest.mark.parametrize(
    ("service", "call", "params", "code"),
    [
        ("sagemaker", "describe_cluster", {"ClusterName": "nobody"}, "ResourceNotFound"),
        ("sagemaker", "describe_cluster", {"ClusterName": "-nobody"}, "ValidationException"),
        (
            "sagemaker",
            "batch_reboot_cluster_nodes",
            {"ClusterName": "train", "NodeIds": ["i-0123456789abcdef0"] * 26},
            "ValidationException",
        ),
        ("fsx", "describe_file_systems", {"FileSystemIds": ["fs-00000000000000000"]}, "FileSystemNotFound"),
        ("service-quotas", "list_service_quotas", {"ServiceCode": "ec2"}, "NoSuchResourceException"),
    ],
)
def test_errors_keep_their_codes(aws: EmbeddedAws, service: str, call: str, params: dict[str, Any], code: str) -> None:
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        getattr(aws.client(service), call)(**params)
    assert caught.value.response["Error"]["Code"] == code


def test_the_other_services_answer_over_the_wire(aws: EmbeddedAws) -> None:
    (fs,) = aws.client("fsx").describe_file_systems()["FileSystems"]
    assert fs["FileSystemId"] == "fs-0123456789abcdef0"
    quotas = aws.client("service-quotas").list_service_quotas(ServiceCode="sagemaker")["Quotas"]
    assert {q["Value"] for q in quotas} >= {96, 128, 256}
    period = {"Start": "2020-01-01", "End": "2020-01-02"}
    cost = aws.client("ce").get_cost_and_usage(TimePeriod=period, Granularity="DAILY", Metrics=["UnblendedCost"])
    assert float(cost["ResultsByTime"][0]["Total"]["UnblendedCost"]["Amount"]) == 0
    subnets = aws.client("ec2").describe_subnets(SubnetIds=["subnet-0123456789abcdef0"])["Subnets"]
    assert subnets[0]["AvailabilityZoneId"] == "usw2-az2"


def test_a_wrong_control_command_says_what_is_wrong(aws: EmbeddedAws) -> None:
    with pytest.raises(client.EmbeddedAwsError, match="no control command"):
        aws.control("explode")


def test_a_wrong_scenario_does_not_start(tmp_path: Path) -> None:
    if not client.PYTHON.exists():
        pytest.skip(f"skipped, needs {client.PYTHON} (simulator/requirements.txt)")
    with pytest.raises(client.EmbeddedAwsError, match="frist_call_latch: unknown key"):
        EmbeddedAws.start({"frist_call_latch": True}, workdir=tmp_path, cache=tmp_path / "cache")
