"""Metrics and alarms: the rules of evaluation, and from a function's log line to a message on a topic."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.aws.alarms import periods, state
from simulator.aws.metrics import embedded
from tests.simulator.conftest import SCALE, Probe
from tests.simulator.waiting import eventually, messages, records, run

ABOVE = {"comparison": "GreaterThanOrEqualToThreshold", "threshold": 1.0}


@pytest.mark.parametrize(
    ("values", "needed", "missing", "before", "after"),
    [
        ([2.0], 1, "missing", "OK", "ALARM"),
        ([0.0], 1, "missing", "ALARM", "OK"),
        ([None], 1, "missing", "ALARM", "INSUFFICIENT_DATA"),
        ([None], 1, "notBreaching", "ALARM", "OK"),
        ([None], 1, "breaching", "OK", "ALARM"),
        ([None], 1, "ignore", "ALARM", "ALARM"),
        ([2.0, 0.0, 2.0], 2, "missing", "OK", "ALARM"),
        ([2.0, 0.0, 2.0], 3, "missing", "ALARM", "OK"),
        ([2.0, None, 2.0], 3, "breaching", "OK", "ALARM"),
        ([2.0, None, 2.0], 3, "notBreaching", "ALARM", "OK"),
    ],
)
def test_state_of_an_alarm(values: list[float | None], needed: int, missing: str, before: str, after: str) -> None:
    assert state(values, needed=needed, missing=missing, before=before, **ABOVE) == after  # type: ignore[arg-type]


@given(st.lists(st.floats(0, 100)), st.integers(1, 5))
def test_each_point_of_the_window_is_in_one_period(moments: list[float], count: int) -> None:
    found = periods([(moment, moment) for moment in moments], now=100.0, period=10.0, count=count)
    assert len(found) == count
    inside = [each for each in moments if 10 - each // 10 < count]
    assert sorted(each for group in found for each in group) == sorted(inside)


def test_periods_are_in_order_with_the_running_one_last() -> None:
    assert periods([(5, "a"), (15, "b"), (16, "c"), (29, "d")], now=29.5, period=10, count=3) == [
        ["a"],
        ["b", "c"],
        ["d"],
    ]


def line(**members: Any) -> str:
    directive = {"Namespace": "N", "Dimensions": [["a"], ["a", "b"]], "Metrics": [{"Name": "m", "Unit": "Seconds"}]}
    return json.dumps({"_aws": {"CloudWatchMetrics": [directive]}, **members})


def test_reads_embedded_metrics_of_each_dimension_set() -> None:
    assert list(embedded(line(a="x", b=1, m=[2, 3.5]))) == [
        ("N", "m", 2.0, "Seconds", {"a": "x"}),
        ("N", "m", 3.5, "Seconds", {"a": "x"}),
        ("N", "m", 2.0, "Seconds", {"a": "x", "b": "1"}),
        ("N", "m", 3.5, "Seconds", {"a": "x", "b": "1"}),
    ]


@pytest.mark.parametrize("text", ["plain", '{"a": 1}', '{"_aws": 1}', '{"_aws"', '{"_aws": {"CloudWatchMetrics": []}}'])
def test_other_lines_hold_no_metric(text: str) -> None:
    assert list(embedded(text)) == []


def invoke(probe: Probe, kind: str) -> None:
    event = json.dumps({"action": "metric", "kind": kind}).encode()
    answer = probe.aws.client("lambda").invoke(FunctionName=probe.output("Task"), Payload=event)
    assert "FunctionError" not in answer


def alarm_state(probe: Probe, output: str) -> str:
    found = probe.aws.client("cloudwatch").describe_alarms(AlarmNames=[probe.output(output)])["MetricAlarms"]
    return str(found[0]["StateValue"])


def test_a_logged_metric_of_the_alarms_dimension_alone_raises_it_and_tells_the_topic(probe: Probe) -> None:
    invoke(probe, "other")
    eventually(lambda: alarm_state(probe, "Alarm") == "OK", what="a first evaluation")
    messages(probe.aws, probe.output("FromTopic"))
    invoke(probe, "watched")

    def told() -> bool:
        found = messages(probe.aws, probe.output("FromTopic"))
        return any(json.loads(json.loads(each["Body"])["Message"])["NewStateValue"] == "ALARM" for each in found)

    eventually(told, what="the notification")
    eventually(lambda: alarm_state(probe, "Alarm") == "OK", 120 / SCALE + 8, "the end of the alarm")


def test_a_waiting_message_raises_the_alarm_of_its_queue_and_an_event(probe: Probe) -> None:
    assert alarm_state(probe, "LettersAlarm") != "ALARM"
    probe.aws.client("sqs").send_message(QueueUrl=probe.output("Lonely"), MessageBody="letter")
    eventually(lambda: alarm_state(probe, "LettersAlarm") == "ALARM", what="the alarm")

    def announced() -> bool:
        found = records(probe.aws, probe.output("TableName", "state"), "probe", "sqs")
        return any(each.get("detail", {}).get("alarmName") == probe.output("LettersAlarm") for each in found)

    eventually(announced, what="the event")


def test_failed_executions_are_counted(probe: Probe) -> None:
    run(probe.aws, probe.output("Machine"), {"do": "undefined"})
    listed = probe.aws.client("cloudwatch").list_metrics(Namespace="AWS/States", MetricName="ExecutionsFailed")
    counted = [dimension["Value"] for metric in listed["Metrics"] for dimension in metric["Dimensions"]]
    assert probe.output("Machine") in counted
