"""The comparison's own eyes: records are read as they are written, and one thing is told from another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.last.grants import granted, row_of, seen, stands_for


@pytest.mark.parametrize(
    ("resource", "arn", "same"),
    [
        ("table:approval-tokens", "arn:aws:dynamodb:r:1:table/roundhouse-wrong-az-approval-tokens", True),
        ("table:approvals", "arn:aws:dynamodb:r:1:table/roundhouse-demo-approval-tokens", False),
        ("index:ledger", "arn:aws:dynamodb:r:1:table/roundhouse-demo-ledger/index/by_cluster", True),
        ("table:ledger", "arn:aws:dynamodb:r:1:table/roundhouse-demo-ledger/index/by_cluster", False),
        ("queue:outbox.fifo", "arn:aws:sqs:r:1:roundhouse-demo-outbox.fifo", True),
        ("queue:intake", "arn:aws:sqs:r:1:roundhouse-demo-intake-dlq", False),
        ("function:act_on_node", "arn:aws:lambda:r:1:function:roundhouse-demo-act-on-node:live", True),
        ("executions:remediate_node", "arn:aws:states:r:1:execution:roundhouse-demo-remediate-node:inc-1", True),
        ("machine:remediate_node", "arn:aws:states:r:1:stateMachine:roundhouse-demo-maintain-node", False),
        ("parameter:policy", "arn:aws:ssm:r:1:parameter/roundhouse/demo/policy", True),
        ("plans:", "arn:aws:sagemaker:r:1:cluster/abc", False),
        ("lifecycle-bucket:", "arn:aws:s3:::bucket/key", False),
    ],
)
def test_an_arn_is_told_from_another(resource: str, arn: str, same: bool) -> None:
    assert stands_for(resource, arn) is same


def test_every_kind_of_resource_is_known() -> None:
    for _, _, resource in granted():
        assert stands_for(resource, "arn:of:nobody") is (resource == "*")


def test_a_role_is_told_by_its_construct() -> None:
    assert row_of("actonnodeRole1234ABCD") == "act_on_node"
    assert row_of("actonnodeRoleDefaultPolicy1234ABCD") is None


ROLE = {"role": "x", "stack": "Roundhouse-demo-Workflows", "logical_id": "actonnodeRole1234ABCD"}
LEDGER = "arn:aws:dynamodb:us-west-2:111122223333:table/roundhouse-demo-ledger"


def test_records_of_both_kinds_are_read(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"kind": "granted", **ROLE, "statements": []},
        {"kind": "used", **ROLE, "action": "dynamodb:PutItem", "resource": LEDGER, "allowed": True},
        {"kind": "used", **ROLE, "action": "dynamodb:DeleteItem", "resource": LEDGER, "allowed": False},
        {"kind": "used", **ROLE, "logical_id": "ProviderRole1", "action": "a:b", "resource": "*", "allowed": True},
        {"kind": "used", **ROLE, "stack": "probe", "action": "a:b", "resource": "*", "allowed": True},
        {"kind": "called", "function": "act_on_node", "call": "writer.reboot"},
        {"kind": "called", "function": "act_on_node", "call": "printer.print"},
        {"kind": "called", "function": "remediate_node", "call": "act_on_node"},
    ]
    (tmp_path / "one.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = seen([tmp_path / "one.jsonl"])
    assert found.played == {("act_on_node", "dynamodb:PutItem", "table:ledger")}
    assert found.refused == {("act_on_node", "dynamodb:DeleteItem", LEDGER)}
    assert found.strangers == {"Roundhouse-demo-Workflows: ProviderRole1", "act_on_node: printer.print"}
    assert {use[1] for use in found.stepped} == {
        "sagemaker:BatchRebootClusterNodes",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "lambda:InvokeFunction",
    }
    assert found.stepped <= granted()
