"""Tables outlive everything, and runtime documents fit their parameters."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roundhouse import codec
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.names import TABLE_KEYS
from stacks.deployment import Deployment
from tests.stacks.conftest import make_deployment, synthesize_state
from tests.stacks.templates import Templates


def test_every_table_of_the_contract_is_there(templates: Templates) -> None:
    keys = {
        table["TableName"].removeprefix("roundhouse-test-"): table["KeySchema"][0]["AttributeName"]
        for table in templates.properties("AWS::DynamoDB::Table")
    }
    assert keys == TABLE_KEYS


def test_tables_outlive_their_stack(templates: Templates) -> None:
    for _, _, table in templates.of_type("AWS::DynamoDB::Table"):
        assert table["DeletionPolicy"] == "Retain"
        assert table["UpdateReplacePolicy"] == "Retain"
        assert table["Properties"]["DeletionProtectionEnabled"] is True
        assert table["Properties"]["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert table["Properties"]["BillingMode"] == "PAY_PER_REQUEST"


def test_incidents_ledger_and_approvals_are_found_by_cluster(templates: Templates) -> None:
    indexes = {
        table["TableName"]: [
            (index["IndexName"], *(key["AttributeName"] for key in index["KeySchema"]))
            for index in table.get("GlobalSecondaryIndexes", ())
        ]
        for table in templates.properties("AWS::DynamoDB::Table")
    }
    assert indexes.pop("roundhouse-test-incidents") == [("by_cluster", "cluster", "opened_at")]
    assert indexes.pop("roundhouse-test-ledger") == [("by_cluster", "cluster", "claimed_at")]
    assert indexes.pop("roundhouse-test-approvals") == [("by_cluster", "cluster", "asked_at")]
    assert not any(indexes.values())


def test_parameters_hold_what_functions_read(templates: Templates, deployment: Deployment) -> None:
    parameters = {each["Name"]: each for each in templates.properties("AWS::SSM::Parameter")}
    assert parameters.keys() == {"/roundhouse/test/policy", "/roundhouse/test/cluster"}
    cluster = parameters["/roundhouse/test/cluster"]
    assert codec.from_json(ClusterSpec, cluster["Value"]) == deployment.cluster
    assert cluster["Tier"] == "Standard"


def test_unprotected_environment_can_be_taken_down(tmp_path: Path) -> None:
    templates = synthesize_state(make_deployment(protected=False), tmp_path)
    tables = list(templates.of_type("AWS::DynamoDB::Table"))
    assert [table["Properties"]["DeletionProtectionEnabled"] for _, _, table in tables] == [False] * len(TABLE_KEYS)
    assert {table["DeletionPolicy"] for _, _, table in tables} == {"Retain"}


@pytest.mark.parametrize(("nodes", "tier"), [(250, "Advanced"), (600, None)])
def test_long_policy_takes_a_larger_parameter_or_is_refused(nodes: int, tier: str | None, tmp_path: Path) -> None:
    policy = replace(make_deployment().policy, protected_nodes=tuple(f"i-{number:017x}" for number in range(nodes)))
    deployment = make_deployment(policy=policy)
    if tier is None:
        with pytest.raises(
            ValueError, match=r"parameter /roundhouse/test/policy would hold \d+ bytes, the most is 8192"
        ):
            synthesize_state(deployment, tmp_path)
        return
    parameters = synthesize_state(deployment, tmp_path).properties("AWS::SSM::Parameter")
    assert [each["Tier"] for each in parameters if each["Name"].endswith("policy")] == [tier]


def test_stacks_of_a_protected_environment_cannot_be_deleted(assembly: Path) -> None:
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"].values()
    stacks = [each["properties"] for each in artifacts if each["type"] == "aws:cloudformation:stack"]
    assert len(stacks) == 5
    assert all(stack["terminationProtection"] for stack in stacks)


def _key(templates: Templates) -> Any:
    (key,) = templates.of_type("AWS::KMS::Key")
    return key[2]


def test_tokens_alone_have_a_key_of_their_own(templates: Templates) -> None:
    by_key = {
        each["TableName"]: each["SSESpecification"].get("KMSMasterKeyId")
        for each in templates.properties("AWS::DynamoDB::Table")
    }
    assert {name for name, key in by_key.items() if key} == {"roundhouse-test-approval-tokens"}
    assert _key(templates)["DeletionPolicy"] == _key(templates)["UpdateReplacePolicy"] == "Retain"
    assert _key(templates)["Properties"]["EnableKeyRotation"] is True
    assert _key(templates)["Properties"]["RotationPeriodInDays"] == 365


def test_nobody_decrypts_tokens_but_our_functions_and_deployments_by_way_of_dynamodb(templates: Templates) -> None:
    statements = _key(templates)["Properties"]["KeyPolicy"]["Statement"]
    using = {each["Sid"]: each for each in statements if {"kms:Decrypt", "kms:*"} & set(each["Action"])}
    assert using.keys() == {"FunctionsUseTheTable", "DeploymentsMakeTheTable"}
    for each in using.values():
        assert each["Condition"]["StringEquals"]["kms:ViaService"] == "dynamodb.us-west-2.amazonaws.com"
        assert each["Condition"]["StringEquals"]["kms:CallerAccount"] == "111122223333"
    own = using["FunctionsUseTheTable"]["Condition"]["StringEquals"]
    assert own["aws:PrincipalTag/roundhouse:environment"] == "test"
    assert set(using["DeploymentsMakeTheTable"]["Condition"]) == {"StringEquals", "ArnLike"}
    assert "kms:PutKeyPolicy" in next(each for each in statements if each["Sid"] == "AdministratorsManage")["Action"]


def test_roles_carry_the_tag_that_the_key_asks_for(templates: Templates) -> None:
    for role in templates.properties("AWS::IAM::Role"):
        assert {"Key": "roundhouse:environment", "Value": "test"} in role["Tags"]
