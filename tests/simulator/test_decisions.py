"""What IAM decides is kept: for the roles of templates, once in the file, and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from simulator.aws.decisions import Decisions, role_of
from tests.simulator.conftest import Probe
from tests.simulator.roles import as_role

TABLE = "arn:aws:dynamodb:us-west-2:111122223333:table/t"
SESSION = "arn:aws:sts::111122223333:assumed-role/Stack-Role-1/session"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_first_sight_is_written_and_every_sight_counted(tmp_path: Path) -> None:
    path = tmp_path / "made" / "records.jsonl"
    decisions = Decisions(path)
    statements = [{"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": TABLE}]
    decisions.grant("Stack-Role-1", "Stack", "Role", statements)
    for _ in range(3):
        decisions.note(SESSION, "dynamodb:GetItem", TABLE, True)
    decisions.note("arn:aws:iam::111122223333:role/path/Stack-Role-1", "dynamodb:PutItem", TABLE, False)
    decisions.note("arn:aws:iam::111122223333:user/somebody", "dynamodb:PutItem", TABLE, True)
    who = {"role": "Stack-Role-1", "stack": "Stack", "logical_id": "Role"}
    assert lines(path) == [
        {"kind": "granted", **who, "statements": statements},
        {"kind": "used", **who, "action": "dynamodb:GetItem", "resource": TABLE, "allowed": True},
        {"kind": "used", **who, "action": "dynamodb:PutItem", "resource": TABLE, "allowed": False},
    ]
    assert [(each["action"], each["allowed"], each["times"]) for each in decisions.counts()] == [
        ("dynamodb:GetItem", True, 3),
        ("dynamodb:PutItem", False, 1),
    ]


@pytest.mark.parametrize(
    ("principal", "role"),
    [
        (SESSION, "Stack-Role-1"),
        ("arn:aws:iam::111122223333:role/service-role/name", "name"),
        ("arn:aws:iam::111122223333:root", None),
        ("arn:aws:iam::111122223333:user/role", None),
        ("", None),
    ],
)
def test_whose_decision_it_is(principal: str, role: str | None) -> None:
    assert role_of(principal) == role


def test_calls_of_roles_are_seen_whether_allowed_or_not(probe: Probe) -> None:
    queue = probe.output("RuleDeadLetters")
    statement = {"Effect": "Allow", "Action": "sqs:GetQueueAttributes", "Resource": "*"}
    client = as_role(probe.aws, "sqs", "looks-only", [statement])
    client.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    with pytest.raises(ClientError, match="AccessDenied"):
        client.send_message(QueueUrl=queue, MessageBody="x")
    seen = [each for each in probe.aws.control("decisions")["decisions"] if each["role"] == "looks-only"]
    assert [(each["action"], each["allowed"], each["times"]) for each in seen] == [
        ("sqs:GetQueueAttributes", True, 1),
        ("sqs:SendMessage", False, 1),
    ]
    assert {each["resource"].split(":")[2] for each in seen} == {"sqs"}


def test_what_lambda_does_for_a_function_counts_as_its_role(probe: Probe) -> None:
    probe.aws.client("lambda").invoke(FunctionName=probe.output("Task"), Payload=b"{}")
    decisions = probe.aws.control("decisions")["decisions"]
    mine = {(each["action"], each["allowed"]) for each in decisions if each["stack"] == "probe"}
    assert {("logs:PutLogEvents", True), ("sqs:ReceiveMessage", True)} <= mine
    assert {each["logical_id"] for each in decisions if each["stack"] == "probe"} <= {"FunctionRole", "MachineRole"}
