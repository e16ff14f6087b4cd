"""SQS queues: outbox, settle, intake, agent, and the hold on a received message. Touches SQS only."""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any

from roundhouse import codec
from roundhouse.aws.errors import translated
from roundhouse.contracts.commands import Command
from roundhouse.contracts.notices import Notice

_FIFO_ID = re.compile(r"[A-Za-z0-9!-/:-@\[-`{-~]{1,128}")  # what SQS allows in group and deduplication ids
_LONGEST_HOLD_S = 43_200


class _Queue:
    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._url = url

    def _send(self, body: str, **more: str) -> None:
        with translated("SendMessage"):
            self._client.send_message(QueueUrl=self._url, MessageBody=body, **more)


class SqsOutbox(_Queue):
    """`ports.Outbox` on a FIFO queue: in order within a thread, one message per `notice_id` within five minutes."""

    def tell(self, notice: Notice) -> None:
        self._send(
            codec.to_json(notice),
            MessageGroupId=fifo_id(notice.thread),
            MessageDeduplicationId=fifo_id(notice.notice_id),
        )


class SqsSettleQueue(_Queue):
    """`ports.SettleQueue`. Body: `{"approval_id": "…"}`."""

    def settle(self, approval_id: str) -> None:
        self._send(json.dumps({"approval_id": approval_id}))


class SqsIntakeQueue(_Queue):
    """`ports.IntakeQueue`."""

    def put(self, body: str) -> None:
        self._send(body)


class SqsAgentQueue(_Queue):
    """`ports.AgentQueue`. Body: `Command.to_json`."""

    def send(self, command: Command) -> None:
        self._send(command.to_json())


class QueueLease:
    """The hold on messages received from one queue."""

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._url = url

    def extend(self, receipt_handle: str, seconds: float) -> None:
        """Let the message come back `seconds` from now, not when its queue would (0 to 12 hours).

        Raises NotFound or InvalidRequest when the message is no longer held.
        """
        hold = min(max(math.ceil(seconds), 0), _LONGEST_HOLD_S)
        with translated("ChangeMessageVisibility"):
            self._client.change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=receipt_handle, VisibilityTimeout=hold
            )


def fifo_id(text: str) -> str:
    """`text` when SQS takes it as a group or deduplication id, else its SHA-256 in hex."""
    return text if _FIFO_ID.fullmatch(text) else hashlib.sha256(text.encode()).hexdigest()


def queue_url(client: Any, name: str) -> str:
    """URL of the queue called `name`. Raises NotFound."""
    with translated("GetQueueUrl"):
        return str(client.get_queue_url(QueueName=name)["QueueUrl"])
