"""How events reach functions: rules, queues, dead letters, schedules, archives, log subscriptions, and HTTP."""

import base64
import json
import time
import urllib.request
import uuid
from typing import Any
from urllib.error import HTTPError

import pytest

from tests.simulator.conftest import SCALE, Probe
from tests.simulator.waiting import eventually, messages, records

HEALTH = "SageMaker HyperPod Cluster Node Health Event"
QUIET_SECONDS = 1.0


def recorded(probe: Probe, kind: str, stack: str = "probe") -> list[dict[str, Any]]:
    return records(probe.aws, probe.output("TableName", "state"), stack, kind)


def emit(probe: Probe, detail_type: str) -> str:
    mark = uuid.uuid4().hex
    probe.aws.control(
        "emit", source="aws.sagemaker", detail_type=detail_type, detail={"mark": mark}, time="2027-01-02T03:04:05Z"
    )
    return mark


def with_mark(found: list[dict[str, Any]], mark: str) -> dict[str, Any] | None:
    return next((each for each in found if mark in json.dumps(each)), None)


def test_an_event_of_aws_reaches_the_function_at_its_virtual_time(probe: Probe) -> None:
    mark = emit(probe, HEALTH)
    event = eventually(lambda: with_mark(recorded(probe, "sqs"), mark), what="the event")
    assert event["source"] == "aws.sagemaker"
    assert event["detail-type"] == HEALTH
    assert event["time"] == "2027-01-02T03:04:05Z"
    assert event["account"] == probe.aws.account
    assert event["resources"] == ["arn:aws:sagemaker:us-west-2:111122223333:cluster/abcdefghijkl"]


def test_a_rule_whose_pattern_was_changed_delivers_nothing(probe: Probe) -> None:
    mark = emit(probe, HEALTH)
    eventually(lambda: with_mark(recorded(probe, "sqs"), mark), what="the unchanged rule")
    time.sleep(QUIET_SECONDS)
    assert with_mark(recorded(probe, "sqs", "changed"), mark) is None
    mark = emit(probe, "Some Other Event")
    eventually(lambda: with_mark(recorded(probe, "sqs", "changed"), mark), what="the changed rule")


def test_nobody_else_may_send_an_event_of_aws(probe: Probe) -> None:
    answer = probe.aws.client("events").put_events(
        Entries=[{"Source": "aws.sagemaker", "DetailType": HEALTH, "Detail": "{}"}]
    )
    assert answer["Entries"][0]["ErrorCode"] == "NotAuthorizedForSourceException"


def test_a_delivery_that_the_queue_refuses_goes_to_the_dead_letters(probe: Probe) -> None:
    mark = emit(probe, "Probe For A Closed Queue")

    def buried() -> dict[str, Any] | None:
        return with_mark(messages(probe.aws, probe.output("RuleDeadLetters")), mark)

    letter = eventually(buried, what="the dead letter")
    assert letter["MessageAttributes"]["ERROR_CODE"]["StringValue"] == "NO_PERMISSIONS"


def test_a_custom_bus_delivers_and_archives_at_the_time_of_the_entry(probe: Probe) -> None:
    mark = uuid.uuid4().hex
    events, archive = probe.aws.client("events"), probe.output("Archive")
    before = events.describe_archive(ArchiveName=archive)["EventCount"]
    answer = events.put_events(
        Entries=[
            {
                "Source": "probe",
                "DetailType": "any",
                "Detail": json.dumps({"mark": mark}),
                "EventBusName": probe.output("Bus"),
                "Time": probe.aws.now(),
            }
        ]
    )
    assert answer["FailedEntryCount"] == 0
    assert eventually(lambda: with_mark(recorded(probe, "sqs"), mark), what="the event") == {"mark": mark}
    assert events.describe_archive(ArchiveName=archive)["EventCount"] == before + 1


def test_a_schedule_runs_on_the_virtual_clock(probe: Probe) -> None:
    before = len(recorded(probe, "scheduled"))
    eventually(lambda: len(recorded(probe, "scheduled")) >= before + 3, 3 * 60 / SCALE + 8, "three runs")
    assert recorded(probe, "scheduled")[0]["detail-type"] == "Scheduled Event"
    assert recorded(probe, "scheduled", "changed") == []


@pytest.mark.parametrize("queue", ["Inbox", "Fifo"])
def test_failed_messages_alone_come_back_and_end_as_dead_letters(probe: Probe, queue: str) -> None:
    sqs, mark = probe.aws.client("sqs"), uuid.uuid4().hex
    extra = {"MessageGroupId": "g"} if queue == "Fifo" else {}
    sqs.send_message(QueueUrl=probe.output(queue), MessageBody=json.dumps({"mark": mark, "n": 1}), **extra)
    sqs.send_message(
        QueueUrl=probe.output(queue), MessageBody=json.dumps({"mark": mark, "n": 2, "fail": True}), **extra
    )
    eventually(lambda: with_mark(recorded(probe, "sqs"), mark), what="the good message")
    letters = probe.output("FifoDeadLetters" if queue == "Fifo" else "DeadLetters")
    letter = eventually(lambda: with_mark(messages(probe.aws, letters), mark), 15, "the dead letter")
    assert json.loads(letter["Body"])["n"] == 2
    assert sum(mark in json.dumps(each) for each in recorded(probe, "sqs")) == 1


def test_a_log_subscription_calls_its_function_with_matching_records_only(probe: Probe) -> None:
    group, mark = probe.output("LogGroup"), uuid.uuid4().hex
    probe.aws.control("log", group=group, message=f"nothing of interest {mark}")
    probe.aws.control("log", group=group, message=f"NVRM: XID 79 {mark}")
    found = eventually(lambda: with_mark(recorded(probe, "logs"), mark), what="the subscription")
    assert found["logGroup"] == group
    assert [each["message"] for each in found["logEvents"]] == [f"NVRM: XID 79 {mark}"]


def test_a_log_group_that_does_not_exist_is_made(probe: Probe) -> None:
    probe.aws.control("log", group="/probe/new", message="first")

    def stored() -> list[str]:
        groups = probe.aws.client("logs").describe_log_groups(logGroupNamePrefix="/probe/new")["logGroups"]
        return [each["logGroupName"] for each in groups]

    assert eventually(stored, what="the group") == ["/probe/new"]


def post(probe: Probe, body: bytes, content_type: str, stack: str = "probe") -> dict[str, Any]:
    request = urllib.request.Request(
        probe.aws.http_api_url(probe.output("Api", stack)) + "/slack",
        data=body,
        headers={"Content-Type": content_type, "X-Probe": "kept"},
    )
    with urllib.request.urlopen(request, timeout=20) as response:
        answer: dict[str, Any] = json.load(response)
        return answer


@pytest.mark.parametrize(
    ("body", "content_type", "encoded"),
    [
        (b"payload=%7B%22a%22%3A1%7D&x=a+b", "application/x-www-form-urlencoded", True),
        (b'{"a": "\xc3\xbc",  "b":1}', "application/json", False),
        (bytes(range(256)), "application/octet-stream", True),
    ],
)
def test_the_http_api_hands_over_the_body_as_it_was_sent(
    probe: Probe, body: bytes, content_type: str, encoded: bool
) -> None:
    answer = post(probe, body, content_type)
    assert base64.b64decode(answer["raw"]) == body
    assert answer["base64"] is encoded
    assert answer["header"] == "kept"
    assert answer["path"] == "/slack"


def test_the_http_api_needs_a_permission_on_the_function(probe: Probe) -> None:
    with pytest.raises(HTTPError, match="500"):
        post(probe, b"{}", "application/json", "changed")


def test_a_topic_delivers_to_its_queue(probe: Probe) -> None:
    mark = uuid.uuid4().hex
    probe.aws.client("sns").publish(TopicArn=probe.output("Topic"), Message=mark)
    eventually(lambda: with_mark(messages(probe.aws, probe.output("FromTopic")), mark), what="the notification")
