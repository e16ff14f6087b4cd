"""Reading foreign JSON without trusting its shape. Pure; raises MalformedEvent with the place and what was there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from roundhouse.errors import MalformedEvent


def mapping(value: object, where: str) -> Mapping[str, Any]:
    """`value` if it is an object. Raises MalformedEvent."""
    if isinstance(value, Mapping):
        return value
    raise MalformedEvent(f"{where}: expected an object, found {_shown(value)}")


def text(source: Mapping[str, Any], key: str, where: str) -> str:
    """A non-empty string member. Raises MalformedEvent."""
    value = source.get(key)
    if isinstance(value, str) and value.strip():
        return value
    raise MalformedEvent(f"{where}.{key}: expected a text, found {_shown(value)}")


def optional_text(source: Mapping[str, Any], key: str) -> str | None:
    """A string member, or None when it is absent, null, empty, or something else."""
    value = source.get(key)
    return value if isinstance(value, str) and value.strip() else None


def moment(value: object, where: str) -> datetime:
    """An aware UTC time from ISO 8601 text, or from epoch milliseconds or seconds. Raises MalformedEvent."""
    try:
        if isinstance(value, str) and value.strip():
            if value.strip().isdigit():
                return moment(int(value), where)
            parsed = datetime.fromisoformat(value.strip())
            return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if abs(value) >= 1e11 else value
            return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise MalformedEvent(f"{where}: not a time: {_shown(value)}") from error
    raise MalformedEvent(f"{where}: not a time: {_shown(value)}")


def subtrees(value: object, depth: int = 6) -> Iterator[Mapping[str, Any]]:
    """`value` and every object below it, outermost first: metadata may hide in any of several subtrees."""
    if depth < 0:
        return
    if isinstance(value, Mapping):
        yield value
        for child in value.values():
            yield from subtrees(child, depth - 1)
    elif isinstance(value, list):
        for child in value:
            yield from subtrees(child, depth - 1)


def first_text(value: object, key: str) -> str | None:
    """The first non-empty string called `key` in `value` or anything below it."""
    return next((found for tree in subtrees(value) if (found := optional_text(tree, key))), None)


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(value)[:120]
