"""Functions and state machines as the template has them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack

from stacks.constructs import machine
from stacks.constructs.code import ROOT
from stacks.constructs.function import FunctionFactory
from stacks.constructs.machine import StateMachine
from stacks.deployment import Deployment
from stacks.functions import FUNCTIONS
from stacks.permissions import FUNCTIONS as GRANTS
from tests.stacks.templates import PLACE, Templates


def _functions(templates: Templates) -> dict[str, Any]:
    return {
        each["FunctionName"].removeprefix("roundhouse-test-").replace("-", "_"): each
        for each in templates.properties("AWS::Lambda::Function")
    }


def test_every_folder_is_deployed_and_has_its_rows(templates: Templates) -> None:
    folders = {path.parent.name for path in (ROOT / "functions").glob("*/handler.py")}
    assert _functions(templates).keys() == folders == FUNCTIONS.keys() == GRANTS.keys()


def test_functions_share_one_asset_and_run_what_was_tested(templates: Templates) -> None:
    functions = _functions(templates)
    assert len({each["Code"]["S3Key"] for each in functions.values()}) == 1
    for name, function in functions.items():
        assert function["Handler"] == f"functions.{name}.handler.handle"
        assert function["Runtime"] == "python3.13"
        assert function["Architectures"] == ["arm64"]
        assert function["TracingConfig"] == {"Mode": "Active"}
        assert function["Environment"]["Variables"]["ROUNDHOUSE_ENVIRONMENT"] == "test"


def test_functions_know_the_queues_they_send_to(templates: Templates) -> None:
    variables = {name: each["Environment"]["Variables"] for name, each in _functions(templates).items()}
    region, account = PLACE.split(":")
    base = f"https://sqs.{region}.amazonaws.com/{account}/roundhouse-test-"
    assert variables["decide_repair"]["OUTBOX_QUEUE_URL"] == f"{base}outbox.fifo"
    assert variables["command_agent"]["AGENT_QUEUE_URL"] == f"{base}agent"
    assert variables["answer_slack"]["SETTLE_QUEUE_URL"] == f"{base}settle"
    assert variables["read_health_log"]["INTAKE_QUEUE_URL"] == f"{base}intake"
    assert variables["reconcile_line"]["CREATE_ARN"].endswith(":stateMachine:roundhouse-test-create-cluster")
    assert variables["intake_signals"]["REMEDIATE_ARN"].endswith(":stateMachine:roundhouse-test-remediate-node")
    assert variables["intake_signals"]["MAINTAIN_ARN"].endswith(":stateMachine:roundhouse-test-maintain-node")
    assert "SLACK_SECRET_ARN" not in variables["decide_repair"]


def test_no_function_outlives_its_step(templates: Templates) -> None:
    """A task's TimeoutSeconds must leave its function time to end: else it still acts after the machine has gone on."""
    functions = {each["FunctionName"]: each["Timeout"] for each in _functions(templates).values()}
    for path in (ROOT / "statemachines").glob("*.asl.json"):
        for timeout in re.findall(r'"TimeoutSeconds": (\d+),\s+"Retry"', path.read_text()):
            assert int(timeout) >= 60
    assert max(functions.values()) <= 60


def test_logs_do_not_grow_for_ever(templates: Templates) -> None:
    groups = templates.properties("AWS::Logs::LogGroup")
    assert {group["RetentionInDays"] for group in groups} == {90}


def test_machines_are_inline_logged_and_keep_tokens_out_of_logs(templates: Templates) -> None:
    machines = {each["StateMachineName"]: each for each in templates.properties("AWS::StepFunctions::StateMachine")}
    files = {path.name.partition(".")[0].replace("_", "-") for path in (ROOT / "statemachines").glob("*.asl.json")}
    assert machines.keys() == {f"roundhouse-test-{name}" for name in files}
    for each in machines.values():
        assert "StartAt" in each["DefinitionString"]
        assert each["LoggingConfiguration"]["Level"] == "ALL"
        assert each["LoggingConfiguration"]["IncludeExecutionData"] is False
        assert each["TracingConfiguration"] == {"Enabled": True}


def test_every_placeholder_is_filled(templates: Templates) -> None:
    for each in templates.properties("AWS::StepFunctions::StateMachine"):
        wanted = set(re.findall(r"\$\{(\w+)\}", each["DefinitionString"]))
        assert each["DefinitionSubstitutions"].keys() == wanted
        assert all(isinstance(value, str) for value in each["DefinitionSubstitutions"].values())


def test_queues_are_read_in_batches_that_fail_in_part(templates: Templates) -> None:
    sources = {
        each["EventSourceArn"].rpartition(":")[2]: each
        for each in templates.properties("AWS::Lambda::EventSourceMapping")
    }
    assert sources.keys() == {"roundhouse-test-intake", "roundhouse-test-settle", "roundhouse-test-outbox.fifo"}
    timeouts = {each["FunctionName"]: each["Timeout"] for each in _functions(templates).values()}
    queues = {each["QueueName"]: each for each in templates.properties("AWS::SQS::Queue")}
    for name, source in sources.items():
        assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert queues[name]["VisibilityTimeout"] >= 6 * timeouts[source["FunctionName"].removesuffix(":live")]


def test_unknown_function_is_refused_with_what_is_missing(deployment: Deployment) -> None:
    factory = FunctionFactory(Stack(App(), "S"), deployment, {}, {})
    with pytest.raises(
        ValueError, match=r"function 'dance' cannot be made: there is no functions/dance/handler\.py"
    ) as refused:
        factory.make("dance")
    assert "stacks/permissions.py has no row for it" in str(refused.value)


def test_unfilled_placeholder_is_refused(
    deployment: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "statemachines").mkdir()
    (tmp_path / "statemachines" / "odd.asl.json").write_text('{"Comment": "${nobody} and ${nothing}"}')
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    with pytest.raises(ValueError, match=r"odd\.asl\.json: no function and no value for nobody, nothing"):
        StateMachine(Stack(App(), "S"), "odd", deployment=deployment, functions={}, values={})


def test_leftovers_of_rehearsals_are_looked_for_by_a_schedule(templates: Templates) -> None:
    [rule] = [
        each for each in templates.properties("AWS::Events::Rule") if each["Name"] == "roundhouse-test-rehearsals"
    ]
    assert rule["ScheduleExpression"] == "rate(15 minutes)"
    [target] = rule["Targets"]
    assert target["Arn"].endswith(":function:roundhouse-test-end-rehearsal:live")
    assert "Input" not in target, "without an id it looks for all of them"
