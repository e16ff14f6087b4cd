"""Whatever goes wrong for good is heard of, once, on one topic."""

from __future__ import annotations

import json

from stacks.functions import FUNCTIONS
from stacks.permissions import MACHINES
from tests.stacks.templates import PLACE, Templates

TOPIC = f"arn:aws:sns:{PLACE}:roundhouse-test-alarms"


def _watched(templates: Templates, metric: str, dimension: str) -> set[str]:
    return {
        each["Value"]
        for alarm in templates.properties("AWS::CloudWatch::Alarm")
        if alarm["MetricName"] == metric
        for each in alarm["Dimensions"]
        if each["Name"] == dimension
    }


def test_every_dead_letter_queue_is_watched(templates: Templates) -> None:
    queues = {each["QueueName"] for each in templates.properties("AWS::SQS::Queue") if "-dlq" in each["QueueName"]}
    assert _watched(templates, "ApproximateNumberOfMessagesVisible", "QueueName") == queues


def test_every_execution_that_ends_badly_is_heard_of(templates: Templates) -> None:
    machines = {f"arn:aws:states:{PLACE}:stateMachine:roundhouse-test-{name.replace('_', '-')}" for name in MACHINES}
    for metric in ("ExecutionsFailed", "ExecutionsTimedOut", "ExecutionsAborted"):
        assert _watched(templates, metric, "StateMachineArn") == machines


def test_every_function_is_watched(templates: Templates) -> None:
    functions = {f"roundhouse-test-{name.replace('_', '-')}" for name in FUNCTIONS}
    for metric in ("Errors", "Throttles"):
        assert _watched(templates, metric, "FunctionName") == functions


def test_signals_and_messages_that_wait_are_noticed(templates: Templates) -> None:
    waiting = _watched(templates, "ApproximateAgeOfOldestMessage", "QueueName")
    assert waiting == {"roundhouse-test-intake", "roundhouse-test-outbox.fifo"}


def test_own_metrics_have_the_dimension_that_functions_write(templates: Templates) -> None:
    services = {
        each["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
        for each in templates.properties("AWS::Lambda::Function")
    }
    for metric in ("OpenIncidentAgeHours", "BreakerOpen", "ControllerLost", "ReconcileRuns", "ReconcileShown"):
        assert _watched(templates, metric, "service") == services == {"roundhouse-test-line"}


def test_alarms_reach_the_topic_and_say_what_to_do(templates: Templates) -> None:
    for alarm in templates.properties("AWS::CloudWatch::Alarm"):
        assert alarm["AlarmActions"] == alarm["OKActions"] == [TOPIC]
        missed = alarm["MetricName"] == "ReconcileRuns"  # what does not run writes no metric
        assert alarm["TreatMissingData"] == ("breaching" if missed else "notBreaching")
        assert (alarm["ComparisonOperator"] == "LessThanThreshold") is missed
        assert len(alarm["AlarmDescription"]) > 20


def test_topic_lets_alarms_in_and_nobody_in_plain_text(templates: Templates) -> None:
    (policy,) = templates.properties("AWS::SNS::TopicPolicy")
    statements = {each["Effect"]: each for each in policy["PolicyDocument"]["Statement"]}
    assert statements["Allow"]["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert statements["Allow"]["Condition"] == {"StringEquals": {"aws:SourceAccount": "111122223333"}}
    assert statements["Deny"]["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_dashboard_is_one_and_reads(templates: Templates) -> None:
    (dashboard,) = list(templates.of_type("AWS::CloudWatch::Dashboard"))
    body = dashboard[2]["Properties"]["DashboardBody"]
    text = "".join(part if isinstance(part, str) else "x" for part in body["Fn::Join"][1])
    assert len(json.loads(text)["widgets"]) >= 9
