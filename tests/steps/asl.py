"""A small interpreter of our state machines: the ASL files themselves, on a manual clock. For tests; imports jsonata.

It knows the states, fields and errors that statemachines/*.asl.json use, and refuses all others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from jsonata import Jsonata

from roundhouse.errors import RoundhouseError

FOLDER = Path(__file__).resolve().parents[2] / "statemachines"
KNOWN = {
    "Type", "Comment", "Next", "End", "Assign", "Output", "Seconds", "Resource", "Arguments", "TimeoutSeconds",
    "Retry", "Catch", "Choices", "Default", "Error", "Cause",
}  # fmt: skip


class Died(BaseException):
    """The process of a step was killed: no answer, and whatever it had done by then stays done.

    Not an Exception: no step gets to handle its own death.
    """


@dataclass(frozen=True)
class Until:
    """An execution sleeps until then; `token`: or until that token is answered."""

    at: datetime
    token: str | None = None


@dataclass
class Execution:
    """One execution. `visited` are the states in order; `waiting` is what it sleeps for."""

    name: str
    machine: str
    given: dict[str, Any]
    status: str = "RUNNING"
    output: Any = None
    visited: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    waiting: Until | None = None
    answer: Any = None
    body: Generator[Until, Any, None] | None = None


Call = Callable[[str, dict[str, Any]], Any]
_NO = object()


@cache
def definition(machine: str, values: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """The parsed machine with its placeholders filled; a function's placeholder becomes its name."""
    filled = dict(values)
    text = (FOLDER / f"{machine}.asl.json").read_text()
    parsed: dict[str, Any] = json.loads(re.sub(r"\$\{(\w+)\}", lambda m: filled.get(m[1], m[1]), text))
    for name, state in parsed["States"].items():
        assert set(state) <= KNOWN, f"{machine}.{name}: {set(state) - KNOWN} is not interpreted here"
    return parsed


@cache
def _compiled(expression: str) -> Jsonata:
    return Jsonata(expression)


@cache
def _plain(expression: str) -> tuple[list[str], str | None] | None:
    """(path, text it is compared with) of `$a.b.c` and `$a.b = 'text'`; None for anything that JSONata must say."""
    found = re.fullmatch(r"\$(\w+(?:\.\w+)*)(?: = '([^']*)')?", expression)
    return (found[1].split("."), found[2]) if found else None


def _value(expression: str, scope: Mapping[str, Any]) -> Any:
    """The expression's value. Most are plain paths through objects, for which JSONata takes long."""
    if (plain := _plain(expression)) is not None:
        path, text = plain
        found: Any = scope
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, str | int | float):
            return found if text is None else found == text
        if isinstance(found, Mapping) and text is None:
            return found
    return _compiled(expression).evaluate(None, dict(scope))


def evaluate(value: Any, scope: Mapping[str, Any]) -> Any:
    """`value` with every `{% … %}` in it evaluated."""
    if isinstance(value, str) and value.startswith("{%"):
        return _value(value[2:-2].strip(), scope)
    if isinstance(value, dict):
        return {key: evaluate(child, scope) for key, child in value.items()}
    if isinstance(value, list):
        return [evaluate(child, scope) for child in value]
    return value


def run(
    execution: Execution, machine: dict[str, Any], call: Call, now: Callable[[], datetime]
) -> Generator[Until, Any]:
    """Run the machine; yields what it sleeps for, and is sent a token's answer (`None`: nobody answered)."""
    variables: dict[str, Any] = {}
    name, given = machine["StartAt"], execution.given
    while execution.status == "RUNNING":  # else it was stopped while a task was at work, which it does not hinder
        state = machine["States"][name]
        execution.visited.append(name)
        scope = {**variables, "states": {"input": given, "context": {"Execution": {"Name": execution.name}}}}
        match state["Type"]:
            case "Succeed" | "Fail":
                execution.status = "SUCCEEDED" if state["Type"] == "Succeed" else "FAILED"
                execution.output = given
                return
            case "Choice":
                taken = next((c for c in state["Choices"] if evaluate(c["Condition"], scope) is True), None)
                name = taken["Next"] if taken else state["Default"]
                continue
            case "Wait":
                seconds = evaluate(state["Seconds"], scope)
                assert isinstance(seconds, int | float), f"{name}: Seconds is {seconds!r}"
                yield Until(now() + timedelta(seconds=seconds))
                done = state
            case "Pass":
                done = state
            case "Task":
                done, scope = yield from _task(execution, name, state, scope, call, now)
            case other:
                raise AssertionError(f"{name}: a state of type {other} is not interpreted here")
        assigned = evaluate(done.get("Assign", {}), scope)
        given = evaluate(done["Output"], scope) if "Output" in done else scope["states"].get("result", given)
        variables |= assigned
        if done.get("End"):
            execution.status, execution.output = "SUCCEEDED", given
            return
        name = done["Next"]


def _task(
    execution: Execution,
    name: str,
    state: dict[str, Any],
    scope: dict[str, Any],
    call: Call,
    now: Callable[[], datetime],
) -> Generator[Until, Any, tuple[dict[str, Any], dict[str, Any]]]:
    tried: dict[int, int] = {}
    turn = 0
    while True:
        turn += 1
        token = f"token-{execution.name}-{len(execution.visited)}-{turn}"
        inner = {**scope, "states": {**scope["states"]}}
        inner["states"]["context"] = {**inner["states"]["context"], "Task": {"Token": token}}
        arguments = json.loads(json.dumps(evaluate(state["Arguments"], inner)))
        try:
            result = call(state["Resource"], arguments)
            if state["Resource"].endswith("waitForTaskToken"):
                patience = evaluate(state["TimeoutSeconds"], inner)
                assert isinstance(patience, int | float), f"{name}: TimeoutSeconds is {patience!r}"
                result = yield Until(now() + timedelta(seconds=patience), token)
                if result is None:
                    raise TimeoutError
            inner["states"]["result"] = json.loads(json.dumps(result))
            return state, inner
        except AssertionError:
            raise
        except (Exception, Died) as error:
            said = _name(error)
            execution.errors.append(f"{name}: {said}: {error}")
            wait = _retry(state, said, tried)
            if wait is not None:
                yield Until(now() + timedelta(seconds=wait))
                continue
            caught = next((c for c in state.get("Catch", ()) if _matches(c, said)), None)
            if caught is None:
                raise AssertionError(f"{name}: nobody catches {said}: {error}") from error
            inner["states"]["errorOutput"] = {"Error": said, "Cause": _cause(error)}
            return caught, inner


def _name(error: BaseException) -> str:
    if isinstance(error, Died):
        return "Lambda.Unknown"
    return "States.Timeout" if isinstance(error, TimeoutError) else str(getattr(error, "sdk", type(error).__name__))


def _cause(error: BaseException) -> str:
    """What Lambda says of a failed invocation: JSON text."""
    if isinstance(error, RoundhouseError):
        return json.dumps({"errorMessage": str(error), "errorType": type(error).__name__, "stackTrace": []})
    return str(error)


def _retry(state: dict[str, Any], error: str, tried: dict[int, int]) -> float | None:
    for index, rule in enumerate(state.get("Retry", ())):
        if _matches(rule, error):
            tried[index] = tried.get(index, 0) + 1
            if tried[index] > rule["MaxAttempts"]:
                return None
            pause = float(rule["IntervalSeconds"]) * float(rule["BackoffRate"]) ** (tried[index] - 1)
            return min(pause, float(rule["MaxDelaySeconds"]))
    return None


def _matches(rule: dict[str, Any], error: str) -> bool:
    return error in rule["ErrorEquals"] or (
        "States.ALL" in rule["ErrorEquals"]
        or ("States.TaskFailed" in rule["ErrorEquals"] and error != "States.Timeout")
    )
