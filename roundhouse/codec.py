"""Dataclasses to JSON text and back, for records, parameters and workflow payloads. Imports cattrs.

Datetimes are ISO 8601 with an offset; enums are their values; tuples are arrays. An unknown member or enum value is an
error, so a document written by a newer version is refused instead of half understood, and never written back without
what was not understood.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from datetime import datetime
from typing import Any, TypeVar

from cattrs import BaseValidationError, Converter, ForbiddenExtraKeysError, transform_error
from cattrs.v import format_exception

from roundhouse.contracts import version
from roundhouse.errors import BadInput, NewerContract

T = TypeVar("T")
_UNKNOWN_ENUM = re.compile(r"'[^']*' is not a valid \w+")


def _make(*, brief: bool) -> Converter:
    converter = Converter(forbid_extra_keys=True, prefer_attrib_converters=True, omit_if_default=brief)
    converter.register_unstructure_hook(datetime, lambda value: value.isoformat())
    converter.register_structure_hook(datetime, lambda value, _: datetime.fromisoformat(value))
    converter.register_structure_hook_func(lambda kind: kind is object, lambda value, _: value)  # any JSON, as it is
    return converter


_converter, _brief = _make(brief=False), _make(brief=True)


def to_plain(value: object) -> Any:
    """`value` as JSON-ready dicts, lists, strings and numbers."""
    return _converter.unstructure(value)


def to_json(value: object) -> str:
    """`value` as compact JSON text with sorted keys (the same value gives the same text)."""
    return _text(to_plain(value))


def to_record(value: object) -> str:
    """As `to_json`, without the members that have their default.

    Code that does not know a new member yet can read every record in which it is not used.
    """
    return _text(_brief.unstructure(value))


def from_plain(kind: type[T], plain: Any) -> T:
    """The `kind` in `plain`. Raises BadInput naming every member that does not fit.

    NewerContract when it says so itself, or when unknown members and enum values are all that is wrong with it.
    """
    if is_dataclass(kind) and not isinstance(plain, dict):
        raise BadInput(f"not a {kind.__name__}: {str(plain)[:120]!r} is not a JSON object")
    if is_dataclass(kind) and version.MEMBER in plain:
        plain = dict(plain)
        written = plain.pop(version.MEMBER)
        if not isinstance(written, int) or written > version.CONTRACT:
            raise NewerContract(
                f"not a {kind.__name__} of this code: contract {written!r}, and {version.CONTRACT} is understood"
            )
    try:
        return _converter.structure(plain, kind)
    except (BaseValidationError, KeyError, TypeError, ValueError) as error:
        grouped = isinstance(error, BaseValidationError)
        problems = transform_error(error, format_exception=_words) if grouped else [repr(error)]
        if all(_only_newer(fault) for fault in _faults(error)):
            raise NewerContract(
                f"not a {kind.__name__} that this code knows, but a newer one: {'; '.join(problems)}"
            ) from error
        raise BadInput(f"not a {kind.__name__}: {'; '.join(problems)}") from error


def from_json(kind: type[T], text: str) -> T:
    """The `kind` in JSON `text`. Raises BadInput."""
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise BadInput(f"not JSON, so not a {kind.__name__}: {error} in {text[:120]!r}") from error
    return from_plain(kind, plain)


def _text(plain: Any) -> str:
    if version.CONTRACT > 1 and isinstance(plain, dict):
        plain = {**plain, version.MEMBER: version.CONTRACT}
    return json.dumps(plain, separators=(",", ":"), sort_keys=True)


def _faults(error: BaseException) -> Iterator[BaseException]:
    """The single faults inside cattrs' groups."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _faults(inner)
    else:
        yield error


def _only_newer(fault: BaseException) -> bool:
    """Whether it is what a document of newer code looks like, and a broken one does not."""
    return isinstance(fault, ForbiddenExtraKeysError) or bool(
        isinstance(fault, ValueError) and _UNKNOWN_ENUM.fullmatch(str(fault))
    )


def _words(fault: BaseException, kind: type | None) -> str:
    return str(fault) if _UNKNOWN_ENUM.fullmatch(str(fault)) else format_exception(fault, kind)
