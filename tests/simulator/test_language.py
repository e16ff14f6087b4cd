"""Amazon States Language, one small definition a rule, on the interpreter as the embedded AWS runs it.

The expectations are those of the language's specification and AWS's documentation.
"""

import json
from typing import Any

import pytest

from tests.simulator.conftest import Probe
from tests.simulator.waiting import run

JSONATA = {"QueryLanguage": "JSONata"}


def states(first: str, **each: dict[str, Any]) -> dict[str, Any]:
    return {**JSONATA, "StartAt": first, "States": each}


def out(value: Any, **more: Any) -> dict[str, Any]:
    return {"Type": "Pass", "Output": value, "End": True, **more}


def invoke(event: Any, **more: Any) -> dict[str, Any]:
    arguments = {"FunctionName": "FUNCTION", "Payload": event}
    return {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Arguments": arguments, "End": True, **more}


CAUGHT = "{% {'error': $states.errorOutput.Error, 'cause': $states.errorOutput.Cause} %}"

CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "an expression that is an object": (
        states("A", A=out("{% {'a': $states.input.n, 'b': [1, 2]} %}")),
        {"a": 5, "b": [1, 2]},
    ),
    "one item stays a list": (states("A", A=out("{% [$states.input.list[n > 1]] %}")), [{"n": 2}]),
    "double quotes in an expression": (states("A", A=out('{% "a" & \'b\' & "\\"" %}')), 'ab"'),
    "whole numbers stay whole": (states("A", A=out("{% $states.input.n * 2 / 2 %}")), 5),
    "null is a value": (states("A", A=out("{% null %}")), None),
    "a null variable is a value": (
        states("A", A={"Type": "Pass", "Assign": {"x": None}, "Next": "B"}, B=out({"x": "{% $x %}"})),
        {"x": None},
    ),
    "partition, range, hash and parse are there": (
        states(
            "A",
            A=out(
                "{% [$partition([1,2,3], 2)[0], $range(0, 4, 2), $substring($hash('x', 'SHA-256'), 0, 4), "
                "$parse('{\"a\":1}').a] %}"
            ),
        ),
        [1, 2, 0, 2, 4, "2d71", 1],
    ),
    "a choice may give output and variables": (
        states(
            "A",
            A={
                "Type": "Choice",
                "Choices": [
                    {"Condition": "{% $states.input.n = 5 %}", "Assign": {"v": 7}, "Output": {"o": 1}, "Next": "B"}
                ],
                "Default": "C",
            },
            B=out("{% {'v': $v, 'o': $states.input.o} %}"),
            C=out("wrong"),
        ),
        {"v": 7, "o": 1},
    ),
    "parallel branches give a list": (
        states(
            "A",
            A={
                "Type": "Parallel",
                "Branches": [{"StartAt": "P", "States": {"P": out(1)}}, {"StartAt": "Q", "States": {"Q": out(2)}}],
                "End": True,
            },
        ),
        [1, 2],
    ),
    "a failing branch is caught with its error": (
        states(
            "A",
            A={
                "Type": "Parallel",
                "Branches": [
                    {"StartAt": "P", "States": {"P": {"Type": "Fail", "Error": "Mine", "Cause": "why"}}},
                    {"StartAt": "Q", "States": {"Q": out(2)}},
                ],
                "Catch": [{"ErrorEquals": ["Mine"], "Output": CAUGHT, "Next": "B"}],
                "End": True,
            },
            B={"Type": "Succeed"},
        ),
        {"error": "Mine", "cause": "why"},
    ),
    "a map selects its items": (
        states(
            "A",
            A={
                "Type": "Map",
                "Items": "{% $states.input.list %}",
                "ItemSelector": {
                    "i": "{% $states.context.Map.Item.Index %}",
                    "n": "{% $states.context.Map.Item.Value.n %}",
                },
                "ItemProcessor": {"StartAt": "P", "States": {"P": out("{% $states.input.i * 10 + $states.input.n %}")}},
                "End": True,
            },
        ),
        [1, 12],
    ),
    "an outer variable is seen inside a map": (
        states(
            "A",
            A={"Type": "Pass", "Assign": {"f": 3}, "Output": "{% $states.input %}", "Next": "M"},
            M={
                "Type": "Map",
                "Items": [1, 2],
                "ItemProcessor": {"StartAt": "P", "States": {"P": out("{% $states.input * $f %}")}},
                "End": True,
            },
        ),
        [3, 6],
    ),
    "a fault of an expression is caught": (
        states(
            "A",
            A=invoke(
                {"x": "{% $states.input.nothing %}"},
                Catch=[{"ErrorEquals": ["States.QueryEvaluationError"], "Output": "caught", "Next": "B"}],
            ),
            B={"Type": "Succeed"},
        ),
        "caught",
    ),
    "retries begin anew each time a state is entered": (
        states(
            "A",
            A={"Type": "Pass", "Assign": {"round": 0}, "Next": "F"},
            F=invoke(
                {"action": "fail"},
                Retry=[{"ErrorEquals": ["ProbeFailure"], "IntervalSeconds": 1, "MaxAttempts": 1}],
                Catch=[
                    {
                        "ErrorEquals": ["ProbeFailure"],
                        "Assign": {"round": "{% $round + 1 %}"},
                        "Output": "{% {'retries': $states.context.State.RetryCount} %}",
                        "Next": "Again",
                    }
                ],
            ),
            Again={
                "Type": "Choice",
                "Choices": [{"Condition": "{% $round < 2 %}", "Next": "F"}],
                "Default": "Done",
            },
            Done=out("{% {'round': $round, 'retries': $states.input.retries} %}"),
        ),
        {"round": 2, "retries": 1},
    ),
    "the first matching catcher is taken": (
        states(
            "A",
            A=invoke(
                {"action": "fail"},
                Catch=[
                    {"ErrorEquals": ["Other"], "Output": "wrong", "Next": "B"},
                    {"ErrorEquals": ["States.TaskFailed"], "Output": "task failed", "Next": "B"},
                    {"ErrorEquals": ["States.ALL"], "Output": "all", "Next": "B"},
                ],
            ),
            B={"Type": "Succeed"},
        ),
        "task failed",
    ),
    "the cause of a function's error is its error object": (
        states(
            "A",
            A=invoke(
                {"action": "fail"},
                Catch=[
                    {
                        "ErrorEquals": ["States.ALL"],
                        "Output": "{% $parse($states.errorOutput.Cause).errorMessage %}",
                        "Next": "B",
                    }
                ],
            ),
            B={"Type": "Succeed"},
        ),
        "as asked",
    ),
    "a function's result has its status code": (
        states("A", A=invoke({"n": 1}, Output="{% [$states.result.StatusCode, $states.result.Payload.echo.n] %}")),
        [200, 1],
    ),
    "an unknown function is an error of Lambda": (
        states(
            "A",
            A={
                **invoke({}),
                "Arguments": {"FunctionName": "FUNCTION-missing", "Payload": {}},
                "Catch": [{"ErrorEquals": ["States.ALL"], "Output": "{% $states.errorOutput.Error %}", "Next": "B"}],
            },
            B={"Type": "Succeed"},
        ),
        "Lambda.AccessDeniedException",
    ),
    "a fail state may compute its error": (
        states("A", A={"Type": "Fail", "Error": "{% 'Code' & $states.input.n %}", "Cause": "{% 'because' %}"}),
        ("FAILED", "Code5", "because"),
    ),
    "a whole execution has its time limit": (
        {**states("A", A={"Type": "Wait", "Seconds": 6000, "End": True}), "TimeoutSeconds": 60},
        ("TIMED_OUT", None, None),
    ),
    "a missing heartbeat is told": (
        states(
            "A",
            A={
                **invoke({"action": "token", "token": "{% $states.context.Task.Token %}"}),
                "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
                "HeartbeatSeconds": 60,
                "TimeoutSeconds": 6000,
                "Catch": [
                    {"ErrorEquals": ["States.HeartbeatTimeout"], "Output": "silent", "Next": "B"},
                    {"ErrorEquals": ["States.Timeout"], "Output": "late", "Next": "B"},
                ],
            },
            B={"Type": "Succeed"},
        ),
        "silent",
    ),
    "JSONPath gives one value for a definite path": (
        {
            "StartAt": "A",
            "States": {
                "A": {
                    "Type": "Pass",
                    "Parameters": {"one.$": "$.list[0].n", "all.$": "$.list[*].n", "big.$": "$.list[?(@.n > 1)].n"},
                    "End": True,
                }
            },
        },
        {"one": 1, "all": [1, 2], "big": [2]},
    ),
    "JSONPath fails on a missing path": (
        {
            "StartAt": "A",
            "States": {"A": {"Type": "Pass", "Parameters": {"x.$": "$.nothing"}, "End": True}},
        },
        ("FAILED", "States.Runtime", None),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_language(probe: Probe, name: str) -> None:
    definition, expected = CASES[name]
    functions, machines = probe.aws.client("lambda"), probe.aws.client("sfn")
    arn = functions.get_function(FunctionName=probe.output("Task"))["Configuration"]["FunctionArn"]
    role = machines.describe_state_machine(stateMachineArn=probe.output("Machine"))["roleArn"]
    machine = machines.create_state_machine(
        name=f"language-{list(CASES).index(name)}",
        roleArn=role,
        definition=json.dumps(definition).replace("FUNCTION", arn),
    )["stateMachineArn"]
    described = run(probe.aws, machine, {"n": 5, "list": [{"n": 1}, {"n": 2}]})
    if isinstance(expected, tuple):
        status, error, cause = expected
        assert described["status"] == status
        assert error is None or described["error"] == error
        assert cause is None or described["cause"] == cause
        return
    assert described["status"] == "SUCCEEDED", described
    assert json.loads(described["output"]) == expected
