"""A tracer that traces nothing: what `runtime.tracer` is outside Lambda, under virtual time and without the X-Ray SDK.

Powertools' own tracer imports that SDK even when it is disabled. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Untraced:
    """The members of Powertools' Tracer that handlers use."""

    def capture_lambda_handler(self, handler: Callable[..., Any] | None = None, **_: object) -> Any:
        return handler if handler is not None else _same

    def capture_method(self, method: Callable[..., Any] | None = None, **_: object) -> Any:
        return method if method is not None else _same

    def put_annotation(self, key: str, value: object) -> None:
        """Nothing is annotated."""

    def put_metadata(self, key: str, value: object, namespace: str | None = None) -> None:
        """Nothing is kept."""


def _same(function: F) -> F:
    return function
