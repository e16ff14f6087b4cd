"""`ports.Messenger` over Slack's Web API. Imports slack_sdk.

The SDK's own retries are off: it would post again after a lost answer. Whoever calls decides, by `find`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from slack_sdk.web import WebClient
from slack_sdk.webhook import WebhookClient

from roundhouse.contracts.notices import Notice
from roundhouse.contracts.slack import METADATA_EVENT
from roundhouse.errors import SlackRejected, SlackUnavailable
from roundhouse.slack.failures import translated
from roundhouse.slack.render import Drawing, draw, draw_plainly, with_names

logger = logging.getLogger(__name__)

T = TypeVar("T")

API_URL = "https://slack.com/api/"
_HOOKS = ("https", "hooks.slack.com")
_BAD_FORM = {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"}
_PAGE = 200
_PAGES = 5  # how far back a lost answer is looked for: 1,000 messages


class SlackMessenger:
    """One bot in one workspace. `timeout_s` is for one call; `whisper_s` for a whole courtesy message."""

    def __init__(
        self,
        token: str,
        api_url: str = API_URL,
        *,
        timeout_s: int = 5,
        whisper_s: float = 1.5,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = WebClient(token, base_url=api_url, timeout=timeout_s, retry_handlers=[])
        self._own_origin = _origin(api_url)
        self._whisper_s = whisper_s
        self._now = now

    def post(self, channel: str, notice: Notice, thread_ts: str | None) -> str:
        """See ports.Messenger. Blocks that Slack refuses are drawn plainly and sent once more."""

        def send(drawing: Drawing) -> str:
            with translated("chat.postMessage", self._now):
                answer = self._client.chat_postMessage(
                    channel=channel,
                    text=drawing.text,
                    blocks=drawing.blocks,
                    thread_ts=thread_ts,
                    reply_broadcast=True if notice.broadcast and thread_ts else None,
                    metadata={"event_type": METADATA_EVENT, "event_payload": {"notice_id": notice.notice_id}},
                    parse="none",
                    link_names=False,
                    unfurl_links=False,
                    unfurl_media=False,
                )
            ts = answer.get("ts")
            if not isinstance(ts, str):
                raise SlackUnavailable(f"chat.postMessage: posted, but the answer has no ts: {str(answer.data)[:200]}")
            return ts

        return _drawn_to_please(notice, send)

    def update(self, channel: str, ts: str, notice: Notice) -> None:
        """See ports.Messenger. The message keeps its metadata, and so the notice id it was posted under."""

        def send(drawing: Drawing) -> None:
            with translated("chat.update", self._now):
                # An empty list takes blocks away; leaving it out would keep the old buttons.
                self._client.chat_update(
                    channel=channel, ts=ts, text=drawing.text, blocks=drawing.blocks, parse="none", link_names=False
                )

        _drawn_to_please(notice, send)

    def find(self, channel: str, notice_id: str, thread_ts: str | None) -> str | None:
        """See ports.Messenger. Looks through the thread (with its parent), or the newest messages of the channel."""
        for message in self._messages(channel, thread_ts):
            metadata = message.get("metadata") or {}
            payload = metadata.get("event_payload") or {}
            if metadata.get("event_type") == METADATA_EVENT and payload.get("notice_id") == notice_id:
                return str(message["ts"])
        return None

    def whisper(self, response_url: str, text: str) -> None:
        """See ports.Messenger. Only ever calls Slack's own address, and is back within `whisper_s` seconds."""
        if _origin(response_url) not in {_HOOKS, self._own_origin}:
            logger.warning("response_url does not lead to Slack, so nobody was told: %.200s", response_url)
            return

        def send() -> None:
            try:
                answer = WebhookClient(response_url, timeout=1, retry_handlers=[]).send(
                    text=with_names(text), response_type="ephemeral", replace_original=False
                )
                if answer.status_code != 200:
                    logger.warning("the person was not told: Slack answered %d", answer.status_code)
            except Exception as error:  # a courtesy; whatever goes wrong, the click itself is safe
                logger.warning("the person was not told: %s: %s", type(error).__name__, error)

        # A socket time-out bounds each step, not their sum, nor name resolution. The thread bounds them all.
        worker = threading.Thread(target=send, name="whisper", daemon=True)
        worker.start()
        worker.join(self._whisper_s)

    def _messages(self, channel: str, thread_ts: str | None) -> Iterator[dict[str, Any]]:
        cursor = None
        for _ in range(_PAGES):
            with translated("conversations.replies" if thread_ts else "conversations.history", self._now):
                if thread_ts:
                    answer = self._client.conversations_replies(
                        channel=channel, ts=thread_ts, limit=_PAGE, cursor=cursor, include_all_metadata=True
                    )
                else:
                    answer = self._client.conversations_history(
                        channel=channel, limit=_PAGE, cursor=cursor, include_all_metadata=True
                    )
                messages = answer.get("messages") or []
                cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            yield from messages
            if not cursor:
                return


def _drawn_to_please(notice: Notice, send: Callable[[Drawing], T]) -> T:
    try:
        return send(draw(notice))
    except SlackRejected as refusal:
        if refusal.code not in _BAD_FORM:
            raise
        logger.error("Slack refused the form of notice %s, sending it plainly: %s", notice.notice_id, refusal)
        return send(draw_plainly(notice))


def _origin(url: str) -> tuple[str, str]:
    """(scheme, host with port) of a URL; ("", "") for what is none or hides who it is for."""
    try:
        parts = urlsplit(url)
        return ("", "") if "@" in parts.netloc or "\\" in url else (parts.scheme, parts.netloc.lower())
    except ValueError:
        return ("", "")
