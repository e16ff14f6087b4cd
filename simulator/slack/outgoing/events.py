"""The Events API: url_verification and event_callback with Slack's retries. Imports workspace and delivery.

An event that is not acknowledged is sent again three times: nearly at once, after a minute, after five more.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Sequence
from urllib.parse import parse_qs

from simulator.slack.errors import ControlError
from simulator.slack.model import Json
from simulator.slack.outgoing.delivery import Delivery, Sender
from simulator.slack.outgoing.interactions import VERIFICATION_TOKEN
from simulator.slack.workspace import Workspace, short_id

RETRY_DELAYS = (0.0, 60.0, 300.0)  # seconds before the first, second and third retry


class Events:
    """Sends events to the events URL."""

    def __init__(self, workspace: Workspace, sender: Sender, url: str = "") -> None:
        self.workspace = workspace
        self.sender = sender
        self.url = url

    async def send(
        self, event: Json, *, event_id: str | None = None, retry_delays: Sequence[float] = RETRY_DELAYS
    ) -> list[Delivery]:
        """Deliver one event, retrying as Slack does; every attempt, oldest first.

        The body is the same in each attempt (same event_id), the signature's timestamp is new.
        """
        if not self.url:
            raise ControlError("no events URL is set")
        envelope = self._envelope(event, event_id or f"Ev0{short_id(8).upper()}")
        body = json.dumps(envelope, separators=(",", ":"))
        about = {"event_id": envelope["event_id"]}
        attempts = [await self._attempt(body, about, 0, None)]
        for number, delay in enumerate(retry_delays, start=1):
            last = attempts[-1]
            if last.outcome == "ok" or last.no_retry:
                break
            await asyncio.sleep(delay)
            attempts.append(await self._attempt(body, about, number, last.outcome))
        return attempts

    async def verify_url(self) -> tuple[bool, Delivery]:
        """Send a url_verification challenge; true when the app gave it back with a 200."""
        if not self.url:
            raise ControlError("no events URL is set")
        challenge = secrets.token_urlsafe(32)
        body = json.dumps(
            {"token": VERIFICATION_TOKEN, "challenge": challenge, "type": "url_verification"},
            separators=(",", ":"),
        )
        delivery = await self.sender.send("url_verification", self.url, body, "application/json")
        return delivery.status == 200 and _answered(delivery.answer) == challenge, delivery

    async def _attempt(self, body: str, about: Json, number: int, reason: str | None) -> Delivery:
        return await self.sender.send(
            "event_callback",
            self.url,
            body,
            "application/json",
            retry_num=number,
            retry_reason=reason,
            about=about,
        )

    def _envelope(self, event: Json, event_id: str) -> Json:
        workspace = self.workspace
        return {
            "token": VERIFICATION_TOKEN,
            "team_id": workspace.team.id,
            "api_app_id": workspace.app.id,
            "event": event,
            "type": "event_callback",
            "event_id": event_id,
            "event_time": int(workspace.now()),
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": workspace.team.id,
                    "user_id": workspace.app.bot_user_id,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
            "is_ext_shared_channel": False,
            "event_context": f"4-{secrets.token_urlsafe(24)}",
        }


def _answered(answer: str) -> str:
    """The challenge in any of the three forms that Slack takes: plain, form field or JSON."""
    text = answer.strip()
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict):
        return str(parsed.get("challenge", ""))
    if text.startswith("challenge="):
        return parse_qs(text).get("challenge", [""])[0]
    return text
