"""What a state hands to a function is what its handler reads: nothing missing, nothing that nobody looks at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.steps import asl

FUNCTIONS = Path(__file__).parents[2] / "functions"
MACHINES = sorted(path.name.split(".")[0] for path in Path(asl.FOLDER).glob("*.asl.json"))
VALUES = (("cluster_name", "train"), ("controller_timeout_s", "3600"), ("poll_s", "60"))
# One function, two verbs: each goes with a member of its own.
BY_VERB = {"cordon": {"result"}, "resume": {"decision"}}


def read_by(function: str) -> tuple[set[str], set[str]]:
    """Members of its event that a handler needs, and those that it takes if they are there."""
    needed, taken = set(), set()
    for node in ast.walk(ast.parse((FUNCTIONS / function / "handler.py").read_text())):
        match node:
            case ast.Subscript(value=ast.Name(id="event"), slice=ast.Constant(value=str(name))):
                needed.add(name)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="event"), attr="get"), args=[ast.Constant(value=str(name)), *_]
            ):
                taken.add(name)
    return needed, taken


def calls() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """(machine, state, function, payload) of every task that calls a function of ours."""
    for machine in MACHINES:
        for name, state in asl.definition(machine, VALUES)["States"].items():
            if "lambda:invoke" in state.get("Resource", ""):
                arguments = state["Arguments"]
                yield machine, name, str(arguments["FunctionName"]).strip("${}"), arguments["Payload"]


CALLS = list(calls())


def test_there_are_calls() -> None:
    assert len(CALLS) > 30
    assert {machine for machine, *_ in CALLS} == set(MACHINES)


@pytest.mark.parametrize(("machine", "state", "function", "payload"), CALLS, ids=lambda each: str(each)[:30])
def test_payload_is_what_the_handler_reads(machine: str, state: str, function: str, payload: dict[str, Any]) -> None:
    needed, taken = read_by(function)
    not_now = BY_VERB[payload["verb"]] if function == "command_agent" else set()
    assert needed - set(payload) == not_now, f"{machine}.{state} does not hand it over"
    assert set(payload) - needed - taken == set(), f"{machine}.{state} hands it over, and {function} never looks"
