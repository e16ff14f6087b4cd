"""JSONata and JSONPath in state machines, evaluated on real values instead of on text pasted into expressions.

Replaces moto's JSONata bridge (which expects a Java machine) by jsonata-python, and corrects its JSONPath rule: a path
that can name only one value gives that value, any other path gives a list.
"""

import functools
import json
import math
import re
from typing import Any, NoReturn

from simulator.aws.asl.replace import everywhere
from simulator.clock import VirtualClock

TIMEOUT_MS = 10_000
"""Longest evaluation. AWS gives one second; a loaded small machine needs more room to give the same answer."""

_INDEFINITE = re.compile(r"\.\.|\*|\?|\[[^\]'\"]*[:,][^\]'\"]*\]")


class Undefined(Exception):
    """The expression has no value."""


def evaluate(expression: str, bindings: dict[str, Any], clock: VirtualClock) -> Any:
    """Value of a JSONata expression as plain JSON types. `bindings` are variables without the dollar sign.

    Raises Undefined when there is no value, and whatever jsonata-python raises.
    """
    from jsonata.utils import Utils

    values = {name: Utils.NULL_VALUE if value is None else value for name, value in bindings.items()}
    value = _compiled(expression, clock).evaluate(None, values)
    if value is None and not _compiled(f"$exists(({expression}))", clock).evaluate(None, values):
        raise Undefined(f"The JSONata expression '{expression}' returned nothing (undefined).")
    return _plain(value)


def _compiled(expression: str, clock: VirtualClock) -> Any:
    from jsonata import Jsonata
    from ministack.services import stepfunctions

    compiled = Jsonata.jsonata(expression, timeout=TIMEOUT_MS)
    stepfunctions._register_sfn_jsonata_functions(compiled)
    for name, function in _clock_functions(clock).items():
        compiled.register_lambda(name, function)
    return compiled


def _clock_functions(clock: VirtualClock) -> dict[str, Any]:
    from jsonata.functions import Functions

    def millis() -> int:
        return int(clock.timestamp() * 1000)

    def now(picture: str | None = None, timezone: str | None = None) -> Any:
        return Functions.datetime_from_millis(millis(), picture, timezone)

    return {"millis": millis, "now": now}


def _plain(value: Any) -> Any:
    """JSON types only: whole floats become integers, as JSON text of a JavaScript engine shows them."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            raise ValueError(f"D1001: number out of range: {value}")
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if type(value).__name__ == "NullValue":
        return None
    raise TypeError(f"returned an unsupported result type: {type(value).__name__}")


@functools.lru_cache(maxsize=512)
def _parsed(path: str) -> Any:
    from jsonpath_ng.ext.parser import parse

    return parse(path)


def extract_json(path: str, data: Any) -> Any:
    """moto's `extract_json` by the rule of AWS: one value for a definite path, a list for any other."""
    from moto.stepfunctions.parser.asl.utils.json_path import NoSuchJsonPathError

    values = [match.value for match in _parsed(path).find(data)]
    if _INDEFINITE.search(path):
        return values
    if not values:
        raise NoSuchJsonPathError(json_path=path, data=data)
    return values[0]


def install(clock: VirtualClock) -> None:
    """Replace moto's evaluation of JSONata strings, of sampled variables and of JSONPath."""
    from moto.stepfunctions.parser.asl.component.common import query_language
    from moto.stepfunctions.parser.asl.component.common.string import string_expression as strings

    everywhere(strings.extract_json, extract_json)
    _read_literals_as_json()

    def push_value(env: Any, expression: str, bindings: dict[str, Any]) -> None:
        try:
            value = evaluate(expression, bindings, clock)
        except Exception as error:
            code = getattr(error, "error", None)
            _fail(env, f"{code}: {error}" if isinstance(code, str) and code else str(error))
        env.stack.append(value)

    def variables(env: Any) -> dict[str, Any]:
        store = env.variable_store
        return {**store._outer_scope, **store._inner_scope}

    def evaluate_string(self: Any, env: Any) -> None:
        push_value(env, self.expression, {**variables(env), "states": env.states._states_data})

    def evaluate_sample(self: Any, env: Any) -> None:
        bindings = variables(env)
        if self.query_language_mode == query_language.QueryLanguageMode.JSONata:
            bindings["states"] = env.states._states_data
        push_value(env, self.expression, bindings)

    strings.StringJSONata._eval_body = evaluate_string
    strings.StringVariableSample._eval_body = evaluate_sample


def _read_literals_as_json() -> None:
    """Names and literals of a definition are JSON strings; moto keeps some of them with their escapes."""
    from moto.stepfunctions.parser.asl.antlt4utils import antlr4utils
    from moto.stepfunctions.parser.asl.parse.preprocessor import Preprocessor

    inner = Preprocessor._inner_string_of

    def from_json(parser_rule_context: Any) -> str:
        text = parser_rule_context.getText()
        return str(json.loads(text)) if text.startswith('"') else str(text)

    def inner_string(parser_rule_context: Any) -> Any:
        text = parser_rule_context.getText()
        return json.loads(text) if text.startswith('"') else inner(parser_rule_context)

    everywhere(antlr4utils.from_string_literal, from_json)
    Preprocessor._inner_string_of = staticmethod(inner_string)


def _fail(env: Any, cause: str) -> NoReturn:
    from moto.stepfunctions.parser.api import EvaluationFailedEventDetails, HistoryEventType
    from moto.stepfunctions.parser.asl.component.common.error_name import failure_event, states_error_name
    from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import (
        StatesErrorNameType,
    )
    from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

    name = states_error_name.StatesErrorName(typ=StatesErrorNameType.StatesQueryEvaluationError)
    details = EvaluationFailedEventDetails(cause=cause, error=name.error_name)
    raise failure_event.FailureEventException(
        failure_event=failure_event.FailureEvent(
            env=env,
            error_name=name,
            event_type=HistoryEventType.EvaluationFailed,
            event_details=EventDetails(evaluationFailedEventDetails=details),
        )
    )
