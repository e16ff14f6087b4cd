"""Queues, workflows, settings, secrets and the log subscription, against moto."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from roundhouse import codec
from roundhouse.aws.logs import HEALTH_PATTERN, HealthLog
from roundhouse.aws.queues import QueueLease, SqsAgentQueue, SqsIntakeQueue, SqsOutbox, SqsSettleQueue, fifo_id
from roundhouse.aws.secrets import Secrets
from roundhouse.aws.settings import ParameterSettings
from roundhouse.aws.workflows import START_MARK, StepFunctions
from roundhouse.contracts.commands import Command, Verb
from roundhouse.contracts.executions import ExecutionState
from roundhouse.contracts.names import Names, log_group
from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import AccessDenied, BadInput, InvalidRequest, NotFound, Throttled
from roundhouse.line.policy import Policy
from tests.aws.samples import spec

NOW = datetime(2026, 10, 2, 12, tzinfo=UTC)
MACHINE = "arn:aws:states:us-west-2:111122223333:stateMachine:roundhouse-test-remediate-node"


# Queues ----------------------------------------------------------------------------------------------------------
def notice(number: int, thread: str = "incident:inc-1") -> Notice:
    return Notice(f"notice-{number}", thread, NoticeKind.INCIDENT_STEP, "Replaced", "Node is back", {"node": "ip-1"})


def received(sqs: Any, url: str) -> list[dict[str, Any]]:
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"])
    return list(found.get("Messages", []))


def test_the_outbox_keeps_order_and_tells_once(aws: Callable[..., Any]) -> None:
    sqs = aws("sqs")
    url = sqs.create_queue(QueueName="outbox.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    outbox = SqsOutbox(sqs, url)
    for number in (1, 2, 1, 3):
        outbox.tell(notice(number))
    messages = received(sqs, url)
    assert [codec.from_json(Notice, each["Body"]) for each in messages] == [notice(1), notice(2), notice(3)]
    assert {each["Attributes"]["MessageGroupId"] for each in messages} == {"incident:inc-1"}


def test_a_thread_that_sqs_would_refuse_as_a_group_is_hashed() -> None:
    assert fifo_id("run:train-1/x") == "run:train-1/x"
    for text in ("two words", "x" * 129, "", "grüße"):
        assert fifo_id(text) == fifo_id(text) != fifo_id(text + "!")
        assert len(fifo_id(text)) == 64


def test_the_other_queues(aws: Callable[..., Any]) -> None:
    sqs = aws("sqs")
    urls = {name: sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("settle", "intake", "agent")}
    command = Command("c1", "train", Verb.CORDON, "i-1", "ip-1", "roundhouse: inc-1", NOW)
    SqsSettleQueue(sqs, urls["settle"]).settle("ap-1")
    SqsIntakeQueue(sqs, urls["intake"]).put('{"detail-type": "x"}')
    SqsAgentQueue(sqs, urls["agent"]).send(command)
    assert json.loads(received(sqs, urls["settle"])[0]["Body"]) == {"approval_id": "ap-1"}
    assert received(sqs, urls["intake"])[0]["Body"] == '{"detail-type": "x"}'
    assert Command.from_json(received(sqs, urls["agent"])[0]["Body"]) == command


def test_an_absent_queue(aws: Callable[..., Any]) -> None:
    with pytest.raises(NotFound):
        SqsSettleQueue(aws("sqs"), "https://sqs.us-west-2.amazonaws.com/123456789012/nothing").settle("ap-1")


@pytest.mark.parametrize(("seconds", "asked"), [(0.2, 1), (30, 30), (-5, 0), (1e9, 43_200)])
def test_a_hold_is_extended_in_whole_seconds(seconds: float, asked: int) -> None:
    client: Any = boto3.client("sqs", region_name="us-west-2")
    with Stubber(client) as stub:
        expected = {"QueueUrl": "https://q", "ReceiptHandle": "handle", "VisibilityTimeout": asked}
        stub.add_response("change_message_visibility", {}, expected)
        QueueLease(client, "https://q").extend("handle", seconds)
        stub.assert_no_pending_responses()  # it was called


def test_a_message_put_off_comes_back_later(aws: Callable[..., Any]) -> None:
    sqs = aws("sqs")
    url = sqs.create_queue(QueueName="intake", Attributes={"VisibilityTimeout": "0"})["QueueUrl"]
    SqsIntakeQueue(sqs, url).put("x")
    QueueLease(sqs, url).extend(received(sqs, url)[0]["ReceiptHandle"], 60)
    assert received(sqs, url) == []


# Workflows -------------------------------------------------------------------------------------------------------
@pytest.fixture
def states() -> Any:
    client: Any = boto3.client("stepfunctions", region_name="us-west-2")
    with Stubber(client) as stub:
        yield client, stub
        stub.assert_no_pending_responses()


class _Machine:
    """StartExecution as AWS documents it: name and input of a running execution again is no error."""

    def __init__(self) -> None:
        self.running: dict[str, str] = {}
        self.real: Any = boto3.client("stepfunctions", region_name="us-west-2")

    def start_execution(self, **asked: str) -> dict[str, str]:
        with Stubber(self.real) as stub:
            answer = {"executionArn": MACHINE, "startDate": NOW}
            if self.running.setdefault(asked["name"], asked["input"]) == asked["input"]:
                stub.add_response("start_execution", answer)
            else:
                stub.add_client_error("start_execution", "ExecutionAlreadyExists")
            found: dict[str, str] = self.real.start_execution(**asked)
            return found


def test_a_second_start_is_told_from_the_first_even_with_the_same_input() -> None:
    machine = _Machine()
    workflows = StepFunctions(machine)
    assert workflows.start(MACHINE, "inc-1", {"incident_id": "inc-1"})
    assert not workflows.start(MACHINE, "inc-1", {"incident_id": "inc-1"})
    assert workflows.start(MACHINE, "inc-2", {"incident_id": "inc-2"})
    started = json.loads(machine.running["inc-1"])
    assert started.pop(START_MARK)
    assert started == {"incident_id": "inc-1"}


def test_a_start_that_is_refused(states: Any) -> None:
    client, stub = states
    stub.add_client_error("start_execution", "StateMachineDoesNotExist")
    with pytest.raises(NotFound):
        StepFunctions(client).start(MACHINE, "inc-1", {})


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ("RUNNING", ExecutionState.RUNNING),
        ("SUCCEEDED", ExecutionState.SUCCEEDED),
        ("TIMED_OUT", ExecutionState.TIMED_OUT),
        ("ABORTED", ExecutionState.ABORTED),
        ("PENDING_REDRIVE", ExecutionState.RUNNING),
    ],
)
def test_an_execution_is_found_by_its_machine_and_name(states: Any, said: str, state: ExecutionState) -> None:
    client, stub = states
    arn = "arn:aws:states:us-west-2:111122223333:execution:roundhouse-test-remediate-node:inc-1-r2"
    answer = {"executionArn": arn, "stateMachineArn": MACHINE, "status": said, "startDate": NOW}
    stub.add_response("describe_execution", answer, {"executionArn": arn})
    stub.add_client_error("describe_execution", "ExecutionDoesNotExist")
    stub.add_client_error("describe_execution", "ThrottlingException")
    workflows = StepFunctions(client)
    assert workflows.status(MACHINE, "inc-1-r2") is state
    assert workflows.status(MACHINE, "inc-1-r2") is None
    with pytest.raises(Throttled):
        workflows.status(MACHINE, "inc-1-r2")


def test_a_token_is_answered(states: Any) -> None:
    client, stub = states
    stub.add_response("send_task_success", {}, {"taskToken": "t", "output": '{"choice": "approve"}'})
    assert StepFunctions(client).succeed("t", {"choice": "approve"})


@pytest.mark.parametrize("code", ["TaskDoesNotExist", "TaskTimedOut", "InvalidToken"])
def test_a_token_whose_task_is_gone(states: Any, code: str) -> None:
    client, stub = states
    stub.add_client_error("send_task_success", code)
    assert not StepFunctions(client).succeed("t", {})


@pytest.mark.parametrize(("code", "kind"), [("AccessDeniedException", AccessDenied), ("InvalidOutput", InvalidRequest)])
def test_a_token_that_could_not_be_answered(states: Any, code: str, kind: type[Exception]) -> None:
    client, stub = states
    stub.add_client_error("send_task_success", code)
    with pytest.raises(kind):
        StepFunctions(client).succeed("t", {})


# Settings --------------------------------------------------------------------------------------------------------
class Ticks:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def put(ssm: Any, name: str, document: object) -> None:
    text = document if isinstance(document, str) else codec.to_json(document)
    ssm.put_parameter(Name=name, Value=text, Type="String", Overwrite=True)


def test_settings_are_read_again_after_a_minute(aws: Callable[..., Any]) -> None:
    ssm, ticks = aws("ssm"), Ticks()
    settings = ParameterSettings(ssm, Names("test"), ticks)
    put(ssm, "/roundhouse/test/policy", Policy("test", "train"))
    put(ssm, "/roundhouse/test/cluster", spec())
    assert settings.policy() == Policy("test", "train")
    assert settings.cluster_spec() == spec()
    put(ssm, "/roundhouse/test/policy", Policy("test", "train", slack_channel="C1"))
    ticks.now += 59
    assert settings.policy().slack_channel == ""
    ticks.now += 1
    assert settings.policy().slack_channel == "C1"


def test_absent_settings(aws: Callable[..., Any]) -> None:
    with pytest.raises(NotFound):
        ParameterSettings(aws("ssm"), Names("test")).policy()


def test_settings_of_another_version_are_refused_by_name(aws: Callable[..., Any]) -> None:
    put(aws("ssm"), "/roundhouse/test/policy", '{"environment": "test", "cluster": "train", "newer": 1}')
    with pytest.raises(BadInput, match=r"/roundhouse/test/policy.*newer"):
        ParameterSettings(aws("ssm"), Names("test")).policy()


# Secrets ---------------------------------------------------------------------------------------------------------
def test_the_slack_secret_is_kept_and_taken_anew_when_rotated(aws: Callable[..., Any]) -> None:
    manager, ticks = aws("secretsmanager"), Ticks()
    first = json.dumps({"bot_token": "xoxb-example-1", "signing_secret": "example-1", "note": "more is allowed"})
    arn = manager.create_secret(Name="slack", SecretString=first)["ARN"]
    secrets = Secrets(manager, ticks)
    assert secrets.slack(arn).signing_secret == "example-1"
    second = json.dumps({"bot_token": "xoxb-example-2", "signing_secret": "example-2"})
    manager.put_secret_value(SecretId=arn, SecretString=second)
    ticks.now += 299
    assert secrets.slack(arn).bot_token == "xoxb-example-1"
    ticks.now += 1
    assert secrets.slack(arn).bot_token == "xoxb-example-2"
    assert "example" not in repr(secrets.slack(arn))


@pytest.mark.parametrize(
    ("text", "named"),
    [("hush", "not JSON"), ("[]", "bot_token and signing_secret"), ('{"bot_token": "hush"}', "lacks signing_secret")],
)
def test_an_incomplete_secret_is_refused_without_being_told(aws: Callable[..., Any], text: str, named: str) -> None:
    arn = aws("secretsmanager").create_secret(Name="slack", SecretString=text)["ARN"]
    with pytest.raises(BadInput, match=named) as caught:
        Secrets(aws("secretsmanager")).slack(arn)
    assert "hush" not in str(caught.value)
    assert caught.value.__cause__ is None


# The health log --------------------------------------------------------------------------------------------------
def test_the_health_log_is_subscribed_once() -> None:
    group = log_group("train", "arn:aws:sagemaker:us-west-2:111122223333:cluster/a1b2c3d4e5f6")
    assert group == "/aws/sagemaker/Clusters/train/a1b2c3d4e5f6"
    function = "arn:aws:lambda:us-west-2:111122223333:function:roundhouse-test-read-health-log"
    client: Any = boto3.client("logs", region_name="us-west-2")
    with Stubber(client) as stub:
        asked = {
            "logGroupName": group,
            "filterName": "roundhouse-test-health",
            "filterPattern": HEALTH_PATTERN,
            "destinationArn": function,
        }
        stub.add_response("put_subscription_filter", {}, asked)
        stub.add_client_error(
            "put_subscription_filter", "ResourceNotFoundException", expected_params={**asked, "logGroupName": ANY}
        )
        HealthLog(client).subscribe(group, "roundhouse-test-health", function)
        with pytest.raises(NotFound):
            HealthLog(client).subscribe(group, "roundhouse-test-health", function)
