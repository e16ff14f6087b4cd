"""Ports to people and workflows: queues, Slack, executions. Protocols; the contract is in the docstring."""

from __future__ import annotations

from typing import Any, Protocol

from roundhouse.contracts.commands import Command
from roundhouse.contracts.executions import ExecutionState
from roundhouse.contracts.notices import Notice


class Outbox(Protocol):
    def tell(self, notice: Notice) -> None:
        """Queue a notice. Durable and deduplicated by `notice_id`; Slack being down does not matter here."""


class SettleQueue(Protocol):
    def settle(self, approval_id: str) -> None:
        """Ask the executor to look at an approval. Sending it twice is harmless."""


class IntakeQueue(Protocol):
    def put(self, body: str) -> None:
        """Queue a signal (an EventBridge envelope as JSON text) for intake."""


class AgentQueue(Protocol):
    def send(self, command: Command) -> None:
        """Queue a command for the controller agent."""


class QueueLease(Protocol):
    """The hold on messages received from one queue."""

    def extend(self, receipt_handle: str, seconds: float) -> None:
        """Let the message come back `seconds` from now, not when its queue would (0 to 12 hours).

        Raises NotFound or InvalidRequest when the message is no longer held."""


class Workflows(Protocol):
    def start(self, state_machine: str, name: str, payload: dict[str, object]) -> bool:
        """Start an execution called `name`; False when one of that name exists already."""

    def status(self, state_machine: str, name: str) -> ExecutionState | None:
        """How the execution called `name` stands; None when there is none, or none any more. It may lag a moment."""

    def succeed(self, token: str, output: dict[str, object]) -> bool:
        """Answer a task token; False when the task is gone (timed out, answered already)."""


class Functions(Protocol):
    def invoke(self, name: str, payload: dict[str, object]) -> dict[str, Any]:
        """Call the deployed function `name` and wait for its answer. Raises AwsFailure with its own words when it
        failed, Unavailable when no answer came: it may have run all the same."""


class Messenger(Protocol):
    """Slack, as far as the line needs it. Raises SlackRateLimited, SlackUnavailable, SlackRejected."""

    def post(self, channel: str, notice: Notice, thread_ts: str | None) -> str:
        """Draw and post; returns the message's ts. Looks for its own earlier copy (by notice_id in the message's
        metadata) when `SlackUnavailable` left that open: see `find`."""

    def update(self, channel: str, ts: str, notice: Notice) -> None: ...

    def find(self, channel: str, notice_id: str, thread_ts: str | None) -> str | None:
        """ts of a message of ours that carries `notice_id` in its metadata, or None."""

    def whisper(self, response_url: str, text: str) -> None:
        """Answer the person who clicked, visible to them alone. Never raises: it is a courtesy."""
