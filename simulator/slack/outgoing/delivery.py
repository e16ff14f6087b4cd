"""One signed HTTP request to the app and the record of it. Imports aiohttp; knows nothing of messages.

Slack waits 3 seconds; only a 2xx within them counts as received. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from dataclasses import asdict, dataclass, field
from typing import Literal

import aiohttp

from simulator.slack.model import Json

PATIENCE_SECONDS = 3.0

Outcome = Literal["ok", "http_timeout", "http_error", "connection_failed", "not_configured"]


@dataclass
class Delivery:
    """A request that was sent to the app, as sent, and what became of it. `elapsed` is in seconds."""

    number: int
    kind: str  # block_actions | event_callback | url_verification
    url: str
    body: str
    headers: dict[str, str]
    sent_at: float
    outcome: Outcome = "ok"
    status: int | None = None
    answer: str = ""
    elapsed: float = 0.0
    retry_num: int = 0
    retry_reason: str | None = None
    no_retry: bool = False
    about: Json = field(default_factory=dict)  # user, message_ts, action_id … or event_id

    def to_json(self) -> Json:
        return asdict(self)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Slack's v0 signature: HMAC-SHA256 over `v0:timestamp:body` with the signing secret."""
    return "v0=" + hmac.new(secret.encode(), b"v0:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()


class Sender:
    """Signs with the wall clock, sends, records. One per server process."""

    def __init__(self, signing_secret: str, patience: float = PATIENCE_SECONDS) -> None:
        self.signing_secret = signing_secret
        self.patience = patience
        self.deliveries: list[Delivery] = []
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(
        self,
        kind: str,
        url: str,
        body: str,
        content_type: str,
        *,
        retry_num: int = 0,
        retry_reason: str | None = None,
        about: Json | None = None,
    ) -> Delivery:
        """Send once and wait for status and body while patience lasts (3 s)."""
        # Real time even when the rest of a simulation runs faster: receivers check the age of the signature.
        timestamp = str(int(time.time()))
        raw = body.encode()
        headers = {
            "Content-Type": content_type,
            "Accept": "application/json,*/*",
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": signature(self.signing_secret, timestamp, raw),
        }
        if retry_num:
            headers["X-Slack-Retry-Num"] = str(retry_num)
            headers["X-Slack-Retry-Reason"] = retry_reason or "unknown_error"
        delivery = Delivery(
            number=len(self.deliveries) + 1,
            kind=kind,
            url=url,
            body=body,
            headers=headers,
            sent_at=time.time(),
            retry_num=retry_num,
            retry_reason=retry_reason,
            about=about or {},
        )
        self.deliveries.append(delivery)
        if not url:
            delivery.outcome = "not_configured"
            return delivery
        started = time.monotonic()
        try:
            async with self._open().post(url, data=raw, headers=headers, allow_redirects=False) as answer:
                delivery.answer = (await answer.read())[:4000].decode("utf-8", "replace")
                delivery.status = answer.status
                delivery.no_retry = answer.headers.get("X-Slack-No-Retry") == "1"
                delivery.outcome = "ok" if 200 <= answer.status < 300 else "http_error"
        except TimeoutError:
            delivery.outcome = "http_timeout"
        except (aiohttp.ClientError, OSError, ValueError):
            delivery.outcome = "connection_failed"
        except asyncio.CancelledError:
            delivery.outcome = "connection_failed"
            raise
        finally:
            delivery.elapsed = round(time.monotonic() - started, 4)
        return delivery

    def _open(self) -> aiohttp.ClientSession:
        # Made on first use: a session belongs to the running loop. No connection is kept open between requests.
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=self.patience),
                connector=aiohttp.TCPConnector(force_close=True, limit=0),
                auto_decompress=True,
            )
        return self._session
