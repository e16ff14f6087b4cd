"""Every signal finds the intake queue, nothing foreign does, and what cannot be delivered is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from roundhouse.contracts import names as contract
from tests.stacks.templates import PLACE, Templates

INTAKE = f"arn:aws:sqs:{PLACE}:roundhouse-test-intake"
SUBSCRIBER = f"arn:aws:lambda:{PLACE}:function:roundhouse-test-subscribe-health-log:live"


def hyperpod(kind: str, detail: Mapping[str, Any], **changes: str) -> dict[str, Any]:
    """An envelope as AWS sends it."""
    place = {"account": "111122223333", "region": "us-west-2", "source": contract.HYPERPOD_SOURCE}
    return {**place, "detail-type": kind, "detail": detail, **changes}


STATE = hyperpod(contract.STATE_CHANGE, {"ClusterName": "train-a", "ClusterStatus": "Updating"})
SERVICE = hyperpod(contract.STATE_CHANGE, {"ClusterName": "train-a", "ClusterStatus": "InService"})
HEALTH = hyperpod(contract.NODE_HEALTH, {"ClusterName": "train-a", "InstanceId": "i-0123456789abcdef0"})
EVENT = hyperpod(contract.CLUSTER_EVENT, {"EventDetails": {"ClusterName": "train-a", "EventLevel": "Info"}})
OWN = {"account": "111122223333", "region": "us-west-2", "detail": {}}
SLURM = {**OWN, "source": contract.SLURM_SOURCE, "detail-type": contract.SLURM_NODES}
REPLAY = {**OWN, "source": contract.REPLAY_SOURCE, "detail-type": contract.NODE_HEALTH}

RECONCILER = f"arn:aws:lambda:{PLACE}:function:roundhouse-test-reconcile-line:live"


def deployed(stack: str, status: str = "UPDATE_COMPLETE") -> dict[str, Any]:
    """CloudFormation's event about a stack."""
    arn = f"arn:aws:cloudformation:{PLACE}:stack/{stack}/0f5e9c10-0000-11f0-aaaa-0123456789ab"
    detail = {"stack-id": arn, "status-details": {"status": status, "status-reason": ""}}
    return hyperpod("CloudFormation Stack Status Change", detail, source="aws.cloudformation")


MAINTENANCE = {
    "account": "111122223333",
    "region": "us-west-2",
    "source": contract.HEALTH_SOURCE,
    "detail-type": contract.HEALTH_EVENT,
    "detail": {"eventTypeCategory": "scheduledChange", "eventRegion": "us-west-2", "service": "EC2"},
}


def announced(**detail: str) -> dict[str, Any]:
    return {**MAINTENANCE, "detail": {**MAINTENANCE["detail"], **detail}}  # type: ignore[dict-item]


def called(name: str, cluster: str) -> dict[str, Any]:
    """CloudTrail's word of a call."""
    parameters = {"clusterName": cluster, "nodeIds": ["i-0123456789abcdef0"]}
    detail = {"eventSource": "sagemaker.amazonaws.com", "eventName": name, "requestParameters": parameters}
    return hyperpod(contract.API_CALL, detail)


ARN = f"arn:aws:sagemaker:{PLACE}:cluster/a1b2c3d4e5f6"
CASES = {
    "somebody's call": (None, called("BatchReplaceClusterNodes", "train-a"), {INTAKE}),
    "somebody's call, by ARN": (None, called("DeleteCluster", ARN), {INTAKE}),
    "a call on another cluster": (None, called("BatchReplaceClusterNodes", "train-b"), set()),
    "a call that is not watched": (None, called("DescribeCluster", "train-a"), set()),
    "after a deploy": (None, deployed("Roundhouse-test-Workflows"), {RECONCILER}),
    "after the first deploy": (None, deployed("Roundhouse-test-State", "CREATE_COMPLETE"), {RECONCILER}),
    "while deploying": (None, deployed("Roundhouse-test-Workflows", "UPDATE_IN_PROGRESS"), set()),
    "another environment's deploy": (None, deployed("Roundhouse-test-b-Workflows"), set()),
    "another stack": (None, deployed("Website"), set()),
    "state change": (None, STATE, {INTAKE}),
    "cluster in service": (None, SERVICE, {INTAKE, SUBSCRIBER}),
    "node health": (None, HEALTH, {INTAKE}),
    "cluster event, nested name": (None, EVENT, {INTAKE}),
    "another cluster": (None, hyperpod(contract.NODE_HEALTH, {"ClusterName": "train-b"}), set()),
    "another cluster, nested": (
        None,
        hyperpod(contract.CLUSTER_EVENT, {"EventDetails": {"ClusterName": "train-b"}}),
        set(),
    ),
    "forwarded from another account": (None, {**HEALTH, "account": "444455556666"}, set()),
    "forwarded from another region": (None, {**HEALTH, "region": "us-east-1"}, set()),
    "another service's event": (None, {**HEALTH, "source": "aws.ec2"}, set()),
    "another event of the service": (None, {**HEALTH, "detail-type": "SageMaker Training Job State Change"}, set()),
    "maintenance": (None, MAINTENANCE, {INTAKE}),
    "maintenance, by way of the backup region": (None, {**MAINTENANCE, "region": "us-east-1"}, {INTAKE}),
    "maintenance in another region": (None, announced(eventRegion="us-east-1"), set()),
    "maintenance of another account": (None, {**MAINTENANCE, "account": "444455556666"}, set()),
    "an issue that AWS Health tells": (None, announced(eventTypeCategory="issue"), set()),
    "abuse that AWS Health tells": (None, {**MAINTENANCE, "detail-type": "AWS Health Abuse Event"}, set()),
    "slurm on our bus": ("roundhouse-test-signals", SLURM, {INTAKE}),
    "replay on our bus": ("roundhouse-test-signals", REPLAY, {INTAKE}),
    "our reconciler's word on our bus": ("roundhouse-test-signals", {**OWN, "source": contract.LIVE_SOURCE}, set()),
    "slurm on the default bus": (None, SLURM, set()),
    "something else of the agent": ("roundhouse-test-signals", {**SLURM, "detail-type": "Hello"}, set()),
    "HyperPod's event on our bus": ("roundhouse-test-signals", HEALTH, set()),
}


def matches(pattern: Any, event: Any) -> bool:
    """EventBridge's matching by value and by prefix, which is all that the rules use."""
    if isinstance(pattern, list):
        prefixes = [each["prefix"] for each in pattern if isinstance(each, dict)]
        return event in pattern or (isinstance(event, str) and event.startswith(tuple(prefixes)))
    return isinstance(event, dict) and all(matches(inner, event.get(key)) for key, inner in pattern.items())


def _rules(templates: Templates) -> list[Mapping[str, Any]]:
    return [rule for rule in templates.properties("AWS::Events::Rule") if "EventPattern" in rule]


@pytest.mark.parametrize("name", CASES)
def test_event_goes_where_it_should(name: str, templates: Templates) -> None:
    bus, event, expected = CASES[name]
    reached = {
        target["Arn"]
        for rule in _rules(templates)
        if rule.get("EventBusName") == bus and matches(rule["EventPattern"], event)
        for target in rule["Targets"]
    }
    assert reached == expected


def test_every_delivery_is_retried_and_then_kept(templates: Templates) -> None:
    for rule in _rules(templates):
        for target in rule["Targets"]:
            assert target["DeadLetterConfig"]["Arn"] == f"arn:aws:sqs:{PLACE}:roundhouse-test-deliveries-dlq"
            assert target["RetryPolicy"]["MaximumRetryAttempts"] > 0


def test_every_queue_is_encrypted_and_refuses_plain_http(templates: Templates) -> None:
    refusing = {
        queue
        for policy in templates.properties("AWS::SQS::QueuePolicy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny" and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        for queue in [statement["Resource"]]
    }
    for queue in templates.properties("AWS::SQS::Queue"):
        assert queue["SqsManagedSseEnabled"] is True
        assert f"arn:aws:sqs:{PLACE}:{queue['QueueName']}" in refusing


def test_every_working_queue_has_dead_letters_of_its_kind(templates: Templates) -> None:
    queues = {queue["QueueName"]: queue for queue in templates.properties("AWS::SQS::Queue")}
    for short in (contract.INTAKE_QUEUE, contract.OUTBOX_QUEUE, contract.SETTLE_QUEUE, contract.AGENT_QUEUE):
        queue = queues.pop(f"roundhouse-test-{short}")
        dead_letters = queues.pop(queue["RedrivePolicy"]["deadLetterTargetArn"].rpartition(":")[2])
        assert dead_letters.get("FifoQueue") == queue.get("FifoQueue")
        assert dead_letters["MessageRetentionPeriod"] == 14 * 24 * 3600
    assert queues.keys() == {"roundhouse-test-invocations-dlq", "roundhouse-test-deliveries-dlq"}


def test_messages_survive_a_day_without_slack(templates: Templates) -> None:
    (outbox,) = [
        queue
        for queue in templates.properties("AWS::SQS::Queue")
        if queue["QueueName"] == f"roundhouse-test-{contract.OUTBOX_QUEUE}"
    ]
    assert outbox["RedrivePolicy"]["maxReceiveCount"] * 900 > 24 * 3600


def test_what_comes_over_our_bus_can_be_replayed(templates: Templates) -> None:
    (archive,) = templates.properties("AWS::Events::Archive")
    assert archive["SourceArn"] == f"arn:aws:events:{PLACE}:event-bus/roundhouse-test-signals"
    assert archive["RetentionDays"] == 30


def test_only_this_clusters_log_may_call_the_reader(templates: Templates) -> None:
    (permission,) = [
        each for each in templates.properties("AWS::Lambda::Permission") if each["Principal"] == "logs.amazonaws.com"
    ]
    assert permission["SourceAccount"] == "111122223333"
    assert permission["SourceArn"] == f"arn:aws:logs:{PLACE}:log-group:/aws/sagemaker/Clusters/train-a/*"
    assert permission["FunctionName"].endswith("read-health-log:live")


def test_asynchronous_calls_are_kept_when_they_fail(templates: Templates) -> None:
    kept = {
        each["FunctionName"]: each["DestinationConfig"]["OnFailure"]["Destination"]
        for each in templates.properties("AWS::Lambda::EventInvokeConfig")
    }
    dead_letters = f"arn:aws:sqs:{PLACE}:roundhouse-test-invocations-dlq"
    assert kept == {
        "roundhouse-test-end-rehearsal": dead_letters,
        "roundhouse-test-measure-line": dead_letters,
        "roundhouse-test-read-health-log": dead_letters,
        "roundhouse-test-reconcile-line": dead_letters,
        "roundhouse-test-subscribe-health-log": dead_letters,
    }
