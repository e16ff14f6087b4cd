"""response_url: what an app may do with a click's answer address, five times within 30 minutes.

Imports workspace, block_kit, aiohttp. Slack answers `used_url` or `expired_url` with 404 after that.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass

from aiohttp import web

from simulator.slack.api.arguments import Arguments
from simulator.slack.api.block_kit import check_blocks, parse_blocks
from simulator.slack.api.routes import refuse
from simulator.slack.errors import ApiError
from simulator.slack.faults import Faults
from simulator.slack.model import Json, Message, User
from simulator.slack.workspace import Workspace

MAX_USES = 5
LIFETIME_SECONDS = 30 * 60


@dataclass
class Grant:
    """One response_url: for one person's click on one message."""

    message: Message
    user: User
    issued_at: float
    uses: int = 0


class ResponseUrls:
    """Issues and serves the addresses below /actions/."""

    def __init__(self, workspace: Workspace, faults: Faults) -> None:
        self.workspace = workspace
        self.faults = faults
        self._grants: dict[str, Grant] = {}

    def issue(self, message: Message, user: User) -> str:
        """A fresh path, `/actions/TEAM/NUMBER/SECRET`."""
        path = f"/actions/{self.workspace.team.id}/{secrets.randbelow(10**13)}/{secrets.token_urlsafe(18)}"
        self._grants[path] = Grant(message, user, self.workspace.now())
        return path

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One POST by the app."""
        fault = self.faults.next_for("response_url")
        if fault:
            return refuse(request, fault)
        try:
            grant = self._grant(request.path)
            self._apply(grant, await _body(request))
        except ApiError as error:
            status = 404 if error.error in ("used_url", "expired_url") else 400
            return web.json_response({"ok": False, "error": error.error}, status=status)
        return web.Response(text="ok")

    def _grant(self, path: str) -> Grant:
        grant = self._grants.get(path)
        if grant is None or self.workspace.now() - grant.issued_at > LIFETIME_SECONDS:
            raise ApiError("expired_url")
        if grant.uses >= MAX_USES:
            raise ApiError("used_url")
        return grant

    def _apply(self, grant: Grant, body: Json) -> None:
        arguments = Arguments(body)
        original = grant.message
        app_user = self.workspace.app.bot_user_id
        if arguments.flag("delete_original"):
            grant.uses += 1
            self.workspace.delete(original)
            return
        blocks = parse_blocks(arguments.raw("blocks")) if arguments.given("blocks") else []
        check_blocks(blocks)
        text = arguments.text("text") or ""
        if not blocks and not text.strip():
            raise ApiError("no_text")
        grant.uses += 1
        if arguments.flag("replace_original"):
            # Replacing takes the place of everything, unlike chat.update, which keeps what is not given.
            self.workspace.edit(original, app_user, text=text, blocks=blocks, metadata=arguments.metadata())
            return
        everyone = arguments.text("response_type") == "in_channel"
        self.workspace.post(
            self.workspace.channels[original.channel],
            app_user,
            text=text,
            blocks=blocks,
            thread_ts=arguments.text("thread_ts") or (original.thread_ts if original.is_reply else None),
            visible_to=None if everyone else grant.user.id,
        )


async def _body(request: web.Request) -> Json:
    text = await request.text()
    if request.content_type == "application/x-www-form-urlencoded":
        text = str((await request.post()).get("payload", ""))
    try:
        body = json.loads(text)
    except ValueError as error:
        raise ApiError("invalid_payload") from error
    if not isinstance(body, dict):
        raise ApiError("invalid_payload")
    return body
