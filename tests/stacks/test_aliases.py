"""Every call goes through the alias `live`, so a deployment changes a function's code and settings in one step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stacks.constructs import machine
from stacks.deployment import Deployment
from stacks.functions import FUNCTIONS
from tests.contracts.record import RELEASED, placeholders
from tests.stacks.conftest import synthesize
from tests.stacks.templates import Templates

FUNCTION = re.compile(r"function:(roundhouse-test-[a-z-]+)(:[a-z0-9]+)?")
CALLERS = {
    "AWS::ApiGatewayV2::Integration",
    "AWS::Events::Rule",
    "AWS::IAM::Role",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",  # one is told the address of another
    "AWS::Lambda::Permission",
    "AWS::StepFunctions::StateMachine",
}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def versions(templates: Templates) -> dict[str, str]:
    """Logical id of each function's version, by the function's name."""
    return {
        templates.resolve(stack, resource["Properties"]["FunctionName"]): logical_id
        for stack, logical_id, resource in templates.of_type("AWS::Lambda::Version")
    }


def test_every_function_has_a_version_and_the_alias_that_points_to_it(templates: Templates) -> None:
    made = versions(templates)
    assert made.keys() == {f"roundhouse-test-{name.replace('_', '-')}" for name in FUNCTIONS}
    aliases = [each["Properties"] for _, _, each in templates.of_type("AWS::Lambda::Alias")]
    assert len(aliases) == len(FUNCTIONS)
    for alias in aliases:
        assert alias["Name"] == "live"
        assert alias["FunctionVersion"] == {"Fn::GetAtt": [alias["FunctionVersion"]["Fn::GetAtt"][0], "Version"]}
        assert alias["FunctionVersion"]["Fn::GetAtt"][0] in made.values()


def test_whoever_calls_a_function_calls_its_alias(templates: Templates) -> None:
    named = {
        (kind, found[0], found[2])
        for kind in CALLERS
        for each in templates.properties(kind)
        for text in _texts(each)
        for found in FUNCTION.finditer(text)
    }
    assert {alias for _, _, alias in named} == {":live"}
    assert {kind for kind, _, _ in named} == CALLERS - {"AWS::Lambda::EventSourceMapping"}  # names, not ARNs
    sources = templates.properties("AWS::Lambda::EventSourceMapping")
    assert {each["FunctionName"].rpartition(":")[2] for each in sources} == {"live"}


def test_asynchronous_calls_are_set_where_they_are_made(templates: Templates) -> None:
    assert {each["Qualifier"] for each in templates.properties("AWS::Lambda::EventInvokeConfig")} == {"live"}


def test_a_changed_function_gets_a_new_version_and_no_other_does(deployment: Deployment, tmp_path: Path) -> None:
    changed = replace(deployment, slack_api_url="https://slack.example/api/")
    before, after = (
        versions(Templates.read(synthesize(each, tmp_path / name)))
        for name, each in (("a", deployment), ("b", changed))
    )
    moved = {name for name in before if before[name] != after[name]}
    assert moved == {"roundhouse-test-answer-slack", "roundhouse-test-post-slack"}


def _invoked(templates: Templates, name: str) -> set[str]:
    """Functions that a state machine's role may call."""
    (role,) = [
        resource
        for _, logical_id, resource in templates.of_type("AWS::IAM::Role")
        if logical_id.startswith(f"{name.replace('_', '')}Role")
    ]
    texts = _texts(templates.resolve("Workflows", role["Properties"]["Policies"]))
    return {
        found[1].removeprefix("roundhouse-test-").replace("-", "_")
        for text in texts
        if (found := FUNCTION.search(text))
    }


@pytest.mark.parametrize("path", sorted(RELEASED.glob("*.asl.json")), ids=lambda path: path.name)
def test_executions_of_the_released_definition_may_still_call_their_functions(path: Path, templates: Templates) -> None:
    """A running execution keeps its definition and gets the role's policy of now."""
    assert placeholders(path.read_text()) & FUNCTIONS.keys() <= _invoked(templates, path.name.split(".")[0])


def test_a_function_that_left_the_definition_stays_callable(
    deployment: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "STILL_CALLED", {"create_cluster": ("close_incident",)})
    templates = Templates.read(synthesize(deployment, tmp_path / "out"))
    assert "close_incident" in _invoked(templates, "create_cluster")
