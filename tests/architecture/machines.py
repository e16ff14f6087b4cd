"""What can be known of a state machine without running it, beyond what its validators check.

`problems(definition)` lists what is wrong, each with its state. Reads botocore's service models, the ones that the
product ships with.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import botocore.session
from jsonata import Jsonata

from roundhouse import errors

Json = Mapping[str, Any]
OURS = {name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.RoundhouseError)}
STATES_ERRORS = set(
    re.findall(
        r"\S+",
        """States.ALL States.BranchFailed States.DataLimitExceeded States.ExceedToleratedFailureThreshold
        States.HeartbeatTimeout States.Http.Socket States.IntrinsicFailure States.ItemReaderFailed
        States.NoChoiceMatched States.ParameterPathFailure States.Permissions States.QueryEvaluationError
        States.ResultPathMatchFailure States.ResultWriterFailed States.Runtime States.TaskFailed States.Timeout""",
    )
)
LAMBDA_ERRORS = set(
    re.findall(
        r"\S+",
        """Lambda.AWSLambdaException Lambda.ResourceNotFoundException Lambda.SdkClientException
        Lambda.ServiceException Lambda.TooManyRequestsException Lambda.Unknown Runtime.ExitError Sandbox.Timedout""",
    )
)
_SDK = re.compile(r"arn:aws:states:::aws-sdk:(\w+):(\w+)(\.waitForTaskToken)?$")
_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_VARIABLE = re.compile(r"\$([a-zA-Z_]\w*)\b(?!\s*\()(?!\s*:=)")
_BOUND = re.compile(r"\$([a-zA-Z_]\w*)\s*:=|function\s*\(([^)]*)\)")
_models = botocore.session.Session()


def problems(definition: Json, values: Collection[str]) -> list[str]:
    """Everything wrong with the machine; `values` are the placeholders that the stack fills."""
    found = [f"no value for ${{{name}}}" for name in sorted(_placeholders(definition) - set(values))]
    assigned = {name for _, state in _states(definition) for name in _assigned(state)}
    for where, machine in _machines("", definition):
        found += [f"{where}{text}" for text in _paths(machine)]
    for name, state in _states(definition):
        for text in (*_task(state), *_handlers(state), *_expressions(state, assigned)):
            found.append(f"{name}: {text}")
    return found


def _machines(where: str, machine: Json) -> Iterator[tuple[str, Json]]:
    """The machine and every one inside it (branches, item processors)."""
    yield where, machine
    for name, state in machine["States"].items():
        for inner in (*state.get("Branches", ()), *filter(None, [state.get("ItemProcessor")])):
            yield from _machines(f"{where}{name} > ", inner)


def _states(definition: Json) -> Iterator[tuple[str, Json]]:
    for where, machine in _machines("", definition):
        for name, state in machine["States"].items():
            yield f"{where}{name}", state


# Order -----------------------------------------------------------------------------------------------------------
def _targets(state: Json) -> Iterator[str]:
    for holder in (state, *state.get("Choices", ()), *state.get("Catch", ())):
        if "Next" in holder:
            yield holder["Next"]
    if "Default" in state:
        yield state["Default"]


def _paths(machine: Json) -> Iterator[str]:
    states, reached, todo = machine["States"], set(), [machine["StartAt"]]
    while todo:
        name = todo.pop()
        if name in reached:
            continue
        reached.add(name)
        if name not in states:
            yield f"{name}: there is no such state"
            continue
        state = states[name]
        todo += _targets(state)
        if state["Type"] == "Choice" and "Default" not in state:
            yield f"{name}: a Choice without Default fails on what nobody thought of"
        if not state.get("End") and not list(_targets(state)) and state["Type"] not in ("Succeed", "Fail"):
            yield f"{name}: neither Next nor End"
    for name in sorted(states.keys() - reached):
        yield f"{name}: cannot be reached"


# Tasks -----------------------------------------------------------------------------------------------------------
def _task(state: Json) -> Iterator[str]:
    resource = state.get("Resource", "")
    if state["Type"] != "Task":
        return
    if "TimeoutSeconds" not in state:
        yield "a Task without TimeoutSeconds can hang"
    if resource.endswith(".waitForTaskToken") and "Task.Token" not in str(state.get("Arguments")):
        yield "waits for a task token and gives it to nobody"
    if match := _SDK.match(resource):
        yield from _sdk_call(match[1], match[2], state.get("Arguments", {}))
    elif not re.fullmatch(r"arn:aws:states:::lambda:invoke(\.waitForTaskToken)?", resource):
        yield f"Resource {resource!r} is neither lambda:invoke nor an SDK call"
    elif not _PLACEHOLDER.fullmatch(str(state.get("Arguments", {}).get("FunctionName"))):
        yield "FunctionName is not a ${function} placeholder"


def _sdk_call(service: str, action: str, arguments: Json) -> Iterator[str]:
    if service not in _models.get_available_services():
        yield f"there is no service {service!r}"
        return
    model = _models.get_service_model(service)
    operation = action[0].upper() + action[1:]
    if operation not in model.operation_names:
        yield f"{service} has no action {operation}"
        return
    shape = model.operation_model(operation).input_shape
    members = {name[0].upper() + name[1:] for name in shape.members} if shape else set()
    required = {name[0].upper() + name[1:] for name in shape.required_members} if shape else set()
    for name in sorted(arguments.keys() - members):
        yield f"{operation} has no parameter {name}"
    for name in sorted(required - arguments.keys()):
        yield f"{operation} needs {name}"


# Errors ----------------------------------------------------------------------------------------------------------
def _handlers(state: Json) -> Iterator[str]:
    match = _SDK.match(state.get("Resource", ""))
    service = _models.get_service_model(match[1]).service_id if match and match[1] in _services() else None
    for kind in ("Retry", "Catch"):
        for handler in state.get(kind, ()):
            for error in handler["ErrorEquals"]:
                if not _is_known(error, service):
                    yield f"{kind} names {error}, which nothing raises here"
                if error == "States.ALL" and len(handler["ErrorEquals"]) > 1:
                    yield f"{kind}: States.ALL must stand alone"


def _services() -> set[str]:
    return set(_models.get_available_services())


def _is_known(error: str, service: str | None) -> bool:
    if error in STATES_ERRORS:
        return True
    if service:
        return bool(re.fullmatch(rf"{service.replace(' ', '')}\.\w+Exception", error, re.IGNORECASE))
    return error in OURS or error in LAMBDA_ERRORS


# Expressions -----------------------------------------------------------------------------------------------------
def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


def _placeholders(value: Any) -> set[str]:
    return {name for text in _strings(value) for name in _PLACEHOLDER.findall(text)}


def _assigned(state: Json) -> Iterator[str]:
    for holder in (state, *state.get("Catch", ()), *state.get("Choices", ())):
        yield from holder.get("Assign", {})


def _expressions(state: Json, assigned: set[str]) -> Iterator[str]:
    own = {key: value for key, value in state.items() if key not in ("Branches", "ItemProcessor", "Comment")}
    for text in _strings(own):
        if not text.startswith("{%") and not text.endswith("%}"):
            continue
        if not (text.startswith("{%") and text.endswith("%}")):
            yield f"half a JSONata expression: {text}"
            continue
        expression = _PLACEHOLDER.sub("1", text[2:-2])
        try:
            Jsonata(expression)
        except Exception as error:  # the parser's errors have no common class
            yield f"not JSONata: {text} ({error})"
            continue
        bound = {name for match in _BOUND.finditer(expression) for name in re.findall(r"\w+", match[1] or match[2])}
        for name in sorted(set(_VARIABLE.findall(_without_texts(expression))) - assigned - bound - {"states"}):
            yield f"${name} is assigned nowhere"


def _without_texts(expression: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"", "''", expression)
