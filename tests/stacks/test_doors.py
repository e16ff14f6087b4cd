"""Who may put something onto the line from outside: by the policies of bus, queues and functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.stacks.templates import PLACE, Templates

RULE = f"arn:aws:events:{PLACE}:rule/"


def _queue_statements(templates: Templates) -> list[tuple[str, Mapping[str, Any]]]:
    """(queue's name, statement) of every statement that lets somebody in."""
    return [
        (statement["Resource"].rpartition(":")[2], statement)
        for policy in templates.properties("AWS::SQS::QueuePolicy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_no_other_account_may_put_events_on_our_bus(templates: Templates) -> None:
    """Without a policy a bus takes events of its own account alone, from whoever has events:PutEvents there."""
    assert list(templates.of_type("AWS::Events::EventBusPolicy")) == []
    assert len(list(templates.of_type("AWS::Events::EventBus"))) == 1


def test_no_role_of_ours_may_put_events(templates: Templates) -> None:
    actions = {
        action
        for role in templates.properties("AWS::IAM::Role")
        for policy in role["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
        for action in _as_list(statement["Action"])
    }
    assert actions
    assert not {action for action in actions if action.startswith("events:")}


def test_queues_let_eventbridge_in_for_a_rule_and_nobody_else_from_outside(templates: Templates) -> None:
    allowed = _queue_statements(templates)
    assert {queue for queue, _ in allowed} == {"roundhouse-test-intake", "roundhouse-test-deliveries-dlq"}
    for _, statement in allowed:
        assert statement["Principal"] == {"Service": "events.amazonaws.com"}
        assert set(_as_list(statement["Action"])) <= {"sqs:SendMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl"}
        [(operator, condition)] = statement["Condition"].items()
        assert operator in {"ArnEquals", "ArnLike"}
        assert list(condition) == ["aws:SourceArn"]
        assert "Fn::GetAtt" in str(condition) or RULE in str(condition), condition


def test_functions_let_services_in_for_one_source_each(templates: Templates) -> None:
    permissions = templates.properties("AWS::Lambda::Permission")
    assert {each["Principal"] for each in permissions} == {
        "apigateway.amazonaws.com",
        "events.amazonaws.com",
        "logs.amazonaws.com",
    }
    for each in permissions:
        assert each["Action"] == "lambda:InvokeFunction"
        assert each["SourceArn"]


def test_no_function_has_an_address_of_its_own(templates: Templates) -> None:
    assert list(templates.of_type("AWS::Lambda::Url")) == []
