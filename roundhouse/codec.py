"""Dataclasses to JSON text and back, for records, parameters and workflow payloads. Imports cattrs.

Datetimes are ISO 8601 with an offset; enums are their values; tuples are arrays. An unknown member is an error, so a
document written by a newer version is refused instead of half understood.
"""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from datetime import datetime
from typing import Any, TypeVar

from cattrs import BaseValidationError, Converter, transform_error

from roundhouse.errors import BadInput

T = TypeVar("T")

_converter = Converter(forbid_extra_keys=True, prefer_attrib_converters=True)
_converter.register_unstructure_hook(datetime, lambda value: value.isoformat())
_converter.register_structure_hook(datetime, lambda value, _: datetime.fromisoformat(value))
_converter.register_structure_hook_func(lambda kind: kind is object, lambda value, _: value)  # any JSON, as it is


def to_plain(value: object) -> Any:
    """`value` as JSON-ready dicts, lists, strings and numbers."""
    return _converter.unstructure(value)


def to_json(value: object) -> str:
    """`value` as compact JSON text with sorted keys (the same value gives the same text)."""
    return json.dumps(to_plain(value), separators=(",", ":"), sort_keys=True)


def from_plain(kind: type[T], plain: Any) -> T:
    """The `kind` in `plain`. Raises BadInput naming every member that does not fit."""
    if is_dataclass(kind) and not isinstance(plain, dict):
        raise BadInput(f"not a {kind.__name__}: {str(plain)[:120]!r} is not a JSON object")
    try:
        return _converter.structure(plain, kind)
    except (BaseValidationError, KeyError, TypeError, ValueError) as error:
        problems = transform_error(error) if isinstance(error, BaseValidationError) else [repr(error)]
        raise BadInput(f"not a {kind.__name__}: {'; '.join(problems)}") from error


def from_json(kind: type[T], text: str) -> T:
    """The `kind` in JSON `text`. Raises BadInput."""
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise BadInput(f"not JSON, so not a {kind.__name__}: {error} in {text[:120]!r}") from error
    return from_plain(kind, plain)
