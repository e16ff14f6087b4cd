"""Errors of the Slack stand-in. Imports nothing.

StandInError
├── ApiError          a Web API method refuses; `error` is Slack's own name for it
├── SeedError         the workspace file is wrong
└── ControlError      the stand-in cannot do what a test or the demo asked for
"""

from __future__ import annotations

from collections.abc import Sequence


class StandInError(Exception):
    """Base of all errors of the stand-in."""


class ApiError(StandInError):
    """A Web API refusal: `error` is Slack's name, `messages` go to `response_metadata.messages`."""

    def __init__(self, error: str, messages: Sequence[str] = ()) -> None:
        super().__init__(error + (": " + "; ".join(messages) if messages else ""))
        self.error = error
        self.messages = tuple(messages)


class SeedError(StandInError):
    """The workspace seed names something that is missing or malformed."""


class ControlError(StandInError):
    """A steering request that makes no sense: no such message, button or user, or the process is gone."""
