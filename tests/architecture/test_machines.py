"""Every statemachines/*.asl.json is sound, and the check that says so sees what it should."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.machines import problems

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "statemachines").glob("*.asl.json"))
FUNCTIONS = {path.parent.name for path in (ROOT / "functions").glob("*/handler.py")}
VALUES = FUNCTIONS | {"cluster_name", "poll_s", "controller_timeout_s"}


def test_there_are_state_machines() -> None:
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_definition_is_sound(path: Path) -> None:
    assert problems(json.loads(path.read_text()), VALUES) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_validator_accepts_definition(path: Path, tmp_path: Path) -> None:
    filled = tmp_path / path.name
    filled.write_text(re.sub(r"\$\{\w+\}", "1", path.read_text()))
    node = Path(sys.executable).with_name("node")
    command = [node, ROOT / "node_modules/.bin/asl-validator", "--json-path", filled]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


SOUND: dict[str, Any] = {
    "QueryLanguage": "JSONata",
    "StartAt": "Look",
    "States": {
        "Look": {
            "Type": "Task",
            "Resource": "arn:aws:states:::aws-sdk:sagemaker:describeCluster",
            "Arguments": {"ClusterName": "${cluster_name}"},
            "TimeoutSeconds": 60,
            "Retry": [{"ErrorEquals": ["SageMaker.ThrottlingException", "States.Timeout"]}],
            "Assign": {"seen": "{% $states.result.ClusterStatus %}"},
            "Next": "Ask",
        },
        "Ask": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
            "Arguments": {"FunctionName": "${ask}", "Payload": {"token": "{% $states.context.Task.Token %}"}},
            "TimeoutSeconds": 60,
            "Retry": [{"ErrorEquals": ["Throttled", "Lambda.TooManyRequestsException"]}],
            "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Done"}],
            "Next": "Which",
        },
        "Which": {
            "Type": "Choice",
            "Choices": [{"Condition": "{% $seen = 'InService' %}", "Next": "Done"}],
            "Default": "Done",
        },
        "Done": {"Type": "Succeed"},
    },
}


def test_sound_definition_has_no_problem() -> None:
    assert problems(SOUND, {"cluster_name", "ask"}) == []


def _set(*path: str | int, to: Any) -> Callable[[Any], None]:
    def change(definition: Any) -> None:
        for step in path[:-1]:
            definition = definition[step]
        if to is None:
            del definition[path[-1]]
        else:
            definition[path[-1]] = to

    return change


_LOOK, _ASK, _WHICH = ("States", "Look"), ("States", "Ask"), ("States", "Which")
PLANTED = {
    "unknown action": (
        _set(*_LOOK, "Resource", to="arn:aws:states:::aws-sdk:sagemaker:describeClutser"),
        "Look: sagemaker has no action DescribeClutser",
    ),
    "unknown service": (
        _set(*_LOOK, "Resource", to="arn:aws:states:::aws-sdk:sagemakr:describeCluster"),
        "Look: there is no service 'sagemakr'",
    ),
    "parameter in the SDK's case": (
        _set(*_LOOK, "Arguments", to={"clusterName": "x"}),
        "Look: DescribeCluster has no parameter clusterName",
    ),
    "missing parameter": (_set(*_LOOK, "Arguments", to={}), "Look: DescribeCluster needs ClusterName"),
    "unfilled placeholder": (_set(*_LOOK, "Arguments", "ClusterName", to="${cluster}"), "no value for ${cluster}"),
    "error nobody raises": (
        _set(*_ASK, "Retry", 0, "ErrorEquals", to=["Throtled"]),
        "Ask: Retry names Throtled, which nothing raises here",
    ),
    "error of another service": (
        _set(*_LOOK, "Retry", 0, "ErrorEquals", to=["DynamoDb.ThrottlingException"]),
        "Look: Retry names DynamoDb.ThrottlingException, which nothing raises here",
    ),
    "error of ours on an SDK call": (
        _set(*_LOOK, "Retry", 0, "ErrorEquals", to=["Throttled"]),
        "Look: Retry names Throttled, which nothing raises here",
    ),
    "catch-all in company": (
        _set(*_ASK, "Catch", 0, "ErrorEquals", to=["Throttled", "States.ALL"]),
        "Ask: Catch: States.ALL must stand alone",
    ),
    "wait without end": (_set(*_ASK, "TimeoutSeconds", to=None), "Ask: a Task without TimeoutSeconds can hang"),
    "token kept back": (
        _set(*_ASK, "Arguments", "Payload", to={}),
        "Ask: waits for a task token and gives it to nobody",
    ),
    "missing state": (_set(*_WHICH, "Default", to="Nowhere"), "Nowhere: there is no such state"),
    "unreachable state": (_set("States", "Spare", to={"Type": "Succeed"}), "Spare: cannot be reached"),
    "choice without default": (
        _set(*_WHICH, "Default", to=None),
        "Which: a Choice without Default fails on what nobody thought of",
    ),
    "dead end": (_set(*_ASK, to={**SOUND["States"]["Ask"], "Next": "Stop"}), "Stop: there is no such state"),
    "unassigned variable": (
        _set(*_WHICH, "Choices", 0, "Condition", to="{% $sene = 1 %}"),
        "Which: $sene is assigned nowhere",
    ),
    "broken expression": (_set(*_WHICH, "Choices", 0, "Condition", to="{% $seen = %}"), "Which: not JSONata"),
    "half an expression": (_set(*_WHICH, "Choices", 0, "Condition", to="{% $seen"), "Which: half a JSONata expression"),
    "fixed function": (
        _set(*_ASK, "Arguments", "FunctionName", to="ask"),
        "Ask: FunctionName is not a ${function} placeholder",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_fault_is_found(name: str) -> None:
    change, expected = PLANTED[name]
    definition = copy.deepcopy(SOUND)
    change(definition)
    assert any(found.startswith(expected) for found in problems(definition, {"cluster_name", "ask"}))
