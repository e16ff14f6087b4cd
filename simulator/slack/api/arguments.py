"""Arguments of a Web API call, from JSON bodies, forms or the query string.

Imports the standard library, model and errors only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from simulator.slack.errors import ApiError
from simulator.slack.model import Json

_TRUE = (True, 1, "1", "true", "True")
_MAX_LIMIT = 999


class Arguments:
    """Typed access to what the caller sent; an empty string counts as not given, as it does for Slack."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def given(self, name: str) -> bool:
        return self._values.get(name) not in (None, "")

    def raw(self, name: str) -> Any:
        return self._values.get(name)

    def text(self, name: str) -> str | None:
        """The argument as a string, or None."""
        value = self._values.get(name)
        return None if value is None else str(value)

    def required(self, name: str) -> str:
        """The argument as a string. Raises ApiError invalid_arguments when it is missing."""
        if not self.given(name):
            raise ApiError("invalid_arguments", [f"missing required field: {name}"])
        return str(self._values[name])

    def flag(self, name: str) -> bool:
        return self._values.get(name) in _TRUE

    def limit(self, default: int) -> int:
        """The page size, 1..999. Raises ApiError invalid_limit."""
        if not self.given("limit"):
            return default
        try:
            limit = int(self._values["limit"])
        except (TypeError, ValueError) as error:
            raise ApiError("invalid_limit") from error
        if not 1 <= limit <= _MAX_LIMIT:
            raise ApiError("invalid_limit")
        return limit

    def metadata(self) -> Json | None:
        """Message metadata: `event_type` and an object `event_payload`, or None when not given.

        Raises ApiError invalid_metadata_format (not an object) or invalid_metadata_schema.
        """
        value = self._values.get("metadata")
        if value in (None, ""):
            return None
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError as error:
                raise ApiError("invalid_metadata_format") from error
        if not isinstance(value, dict):
            raise ApiError("invalid_metadata_format")
        event_type = value.get("event_type")
        if not isinstance(event_type, str) or not event_type:
            raise ApiError("invalid_metadata_schema", ["missing required field: event_type"])
        if not isinstance(value.get("event_payload"), dict):
            raise ApiError("invalid_metadata_schema", ["missing required field: event_payload"])
        return value
