"""What the synthesized roles may do, checked against a second list: a permission must be written twice to exist."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from roundhouse.build.rehearsal import TAG
from stacks.permissions import FUNCTIONS, MACHINES
from tests.stacks.conftest import PLAN, ROLE
from tests.stacks.templates import PLACE, Templates

CLUSTERS = rf"arn:aws:sagemaker:{PLACE}:cluster/\*"
TABLE = rf"arn:aws:dynamodb:{PLACE}:table/roundhouse-test-[a-z-]+"
QUEUE = rf"arn:aws:sqs:{PLACE}:roundhouse-test-[a-z-]+(\.fifo)?"
ALLOWED: dict[str, str] = {
    "ce:GetCostAndUsage": r"\*",
    "dynamodb:GetItem": TABLE,
    "dynamodb:PutItem": TABLE,
    "dynamodb:Query": TABLE + "/index/by_cluster",
    "ec2:DescribeSubnets": r"\*",
    "fsx:DescribeFileSystems": r"\*",
    "iam:PassRole": re.escape(ROLE),
    "lambda:InvokeFunction": rf"arn:aws:lambda:{PLACE}:function:roundhouse-test-[a-z-]+:live",
    "logs:CreateLogStream": rf"arn:aws:logs:{PLACE}:log-group:/aws/lambda/roundhouse-test-[a-z-]+:\*",
    "logs:PutLogEvents": rf"arn:aws:logs:{PLACE}:log-group:/aws/lambda/roundhouse-test-[a-z-]+:\*",
    "logs:PutSubscriptionFilter": rf"arn:aws:logs:{PLACE}:log-group:/aws/sagemaker/Clusters/train-a/\*",
    "s3:GetObject": r"arn:aws:s3:::sagemaker-lifecycle-111122223333/base/\*",
    "s3:ListBucket": r"arn:aws:s3:::sagemaker-lifecycle-111122223333",
    "sagemaker:AddTags": CLUSTERS,
    "sagemaker:BatchAddClusterNodes": CLUSTERS,
    "sagemaker:BatchDeleteClusterNodes": CLUSTERS,
    "sagemaker:BatchRebootClusterNodes": CLUSTERS,
    "sagemaker:BatchReplaceClusterNodes": CLUSTERS,
    "sagemaker:CreateCluster": rf"{CLUSTERS}|{re.escape(PLAN)}",
    "sagemaker:DeleteCluster": CLUSTERS,
    "sagemaker:DescribeCluster": CLUSTERS,
    "sagemaker:DescribeClusterEvent": CLUSTERS,
    "sagemaker:DescribeTrainingPlan": re.escape(PLAN),
    "sagemaker:ListClusterEvents": CLUSTERS,
    "sagemaker:ListClusterNodes": CLUSTERS,
    "sagemaker:ListTags": CLUSTERS,
    "secretsmanager:GetSecretValue": rf"arn:aws:secretsmanager:{PLACE}:secret:roundhouse/slack-\?{{6}}",
    "servicequotas:ListServiceQuotas": r"\*",
    "sqs:ChangeMessageVisibility": QUEUE,
    "sqs:DeleteMessage": QUEUE,
    "sqs:GetQueueAttributes": QUEUE,
    "sqs:ReceiveMessage": QUEUE,
    "sqs:SendMessage": QUEUE,
    "ssm:GetParameter": rf"arn:aws:ssm:{PLACE}:parameter/roundhouse/test/(policy|cluster)",
    "states:DescribeExecution": (
        rf"arn:aws:states:{PLACE}:execution:roundhouse-test-(remediate-node|maintain-node|create-cluster):\*"
    ),
    "states:SendTaskSuccess": (
        rf"arn:aws:states:{PLACE}:stateMachine:roundhouse-test-(remediate-node|maintain-node|create-cluster)"
    ),
    "states:StartExecution": rf"arn:aws:states:{PLACE}:stateMachine:roundhouse-test-(remediate-node|maintain-node)",
    **dict.fromkeys(
        (
            "logs:CreateLogDelivery",
            "logs:DeleteLogDelivery",
            "logs:DescribeLogGroups",
            "logs:DescribeResourcePolicies",
            "logs:GetLogDelivery",
            "logs:ListLogDeliveries",
            "logs:PutResourcePolicy",
            "logs:UpdateLogDelivery",
            "xray:GetSamplingRules",
            "xray:GetSamplingTargets",
            "xray:PutTelemetryRecords",
            "xray:PutTraceSegments",
        ),
        r"\*",
    ),
}

# What must stay in few hands: (action, part of the resource) -> who has it.
IN_FEW_HANDS: dict[tuple[str, str], set[str]] = {
    ("sagemaker:DeleteCluster", ""): {"roll_back", "end_rehearsal"},
    ("sagemaker:CreateCluster", ""): {"launch_stage", "begin_rehearsal"},
    ("sagemaker:BatchReplaceClusterNodes", ""): {"act_on_node"},
    ("sagemaker:BatchRebootClusterNodes", ""): {"act_on_node"},
    ("sagemaker:BatchDeleteClusterNodes", ""): {"act_on_node", "stop_ramp", "roll_back"},
    ("sagemaker:BatchAddClusterNodes", ""): {"launch_stage", "restore_count"},
    ("iam:PassRole", ""): {"launch_stage", "begin_rehearsal"},
    ("dynamodb:GetItem", "table/roundhouse-test-approval-tokens"): {"settle_approval"},
    ("dynamodb:PutItem", "table/roundhouse-test-approval-tokens"): {"request_approval"},
    ("states:SendTaskSuccess", ""): {"settle_approval"},
    ("states:StartExecution", ""): {"intake_signals", "reconcile_line"},
    ("secretsmanager:GetSecretValue", ""): {"answer_slack", "post_slack"},
}


@pytest.fixture(scope="module")
def roles(templates: Templates) -> dict[str, list[tuple[str, str, Mapping[str, Any]]]]:
    """(action, resource, statement) triples of each function's or machine's role."""
    found: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for stack, logical_id, resource in templates.of_type("AWS::IAM::Role"):
        properties = templates.resolve(stack, resource["Properties"])
        names = [name for name in (*FUNCTIONS, *MACHINES) if logical_id.startswith(f"{name.replace('_', '')}Role")]
        assert len(names) == 1, f"{logical_id} belongs to no row of the table"
        triples = found.setdefault(names[0], [])
        for policy in properties["Policies"]:
            for statement in policy["PolicyDocument"]["Statement"]:
                assert statement["Effect"] == "Allow"
                triples += [
                    (action, arn, statement)
                    for action in _list(statement["Action"])
                    for arn in _list(statement["Resource"])
                ]
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_every_row_has_its_role(roles: Mapping[str, Any]) -> None:
    assert roles.keys() == FUNCTIONS.keys() | MACHINES.keys()


def test_each_permission_is_in_the_second_list(roles: Mapping[str, Any]) -> None:
    wrong = [
        f"{name}: {action} on {arn}"
        for name, triples in roles.items()
        for action, arn, _ in triples
        if not re.fullmatch(ALLOWED.get(action, "never"), str(arn))
    ]
    assert wrong == []


def test_second_list_holds_nothing_unused(roles: Mapping[str, Any]) -> None:
    used = {action for triples in roles.values() for action, _, _ in triples}
    assert ALLOWED.keys() - used == set()


@pytest.mark.parametrize(("action", "part"), IN_FEW_HANDS)
def test_power_is_in_few_hands(action: str, part: str, roles: Mapping[str, Any]) -> None:
    holders = {name for name, triples in roles.items() for got, arn, _ in triples if got == action and part in arn}
    assert holders == IN_FEW_HANDS[action, part]


def test_instance_role_is_passed_to_sagemaker_alone(roles: Mapping[str, Any]) -> None:
    (statement,) = [statement for action, _, statement in roles["launch_stage"] if action == "iam:PassRole"]
    assert statement["Condition"] == {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}


def test_a_rehearsal_can_delete_nothing_but_what_a_rehearsal_has_made(roles: Mapping[str, Any]) -> None:
    statements = [statement for action, _, statement in roles["end_rehearsal"] if action == "sagemaker:DeleteCluster"]
    assert [each.get("Condition") for each in statements] == [{"Null": {f"aws:ResourceTag/{TAG}": "false"}}]
    tagging = [name for name, triples in roles.items() for action, _, _ in triples if action == "sagemaker:AddTags"]
    assert "end_rehearsal" not in tagging, "who may delete by a tag may not give it"


def test_machines_call_the_functions_of_their_definition_only(roles: Mapping[str, Any]) -> None:
    invoked = {
        arn.rpartition("-test-")[2].removesuffix(":live")
        for action, arn, _ in roles["remediate_node"]
        if "Invoke" in action
    }
    assert "act-on-node" in invoked
    assert "launch-stage" not in invoked
    assert "settle-approval" not in invoked


def test_nothing_is_granted_beside_the_table(templates: Templates) -> None:
    """CDK's own grants make policies of their own: there are none, and no managed policy either."""
    assert list(templates.of_type("AWS::IAM::Policy")) == []
    assert list(templates.of_type("AWS::IAM::ManagedPolicy")) == []
    assert [role for role in templates.properties("AWS::IAM::Role") if role.get("ManagedPolicyArns")] == []
