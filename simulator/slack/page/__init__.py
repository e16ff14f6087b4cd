"""The channel in a browser: the page's files, its state as JSON, live changes. Imports aiohttp, workspace, control.

What an app or a person wrote travels as JSON and becomes text nodes in the page, never HTML.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web

from simulator.slack.api.shapes import message_json
from simulator.slack.model import Channel, Json, Message
from simulator.slack.outgoing.interactions import Interactions
from simulator.slack.workspace import Workspace

_FILES = Path(__file__).parent
_STATIC = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "dom.js": "text/javascript",
    "blocks.js": "text/javascript",
    "mrkdwn.js": "text/javascript",
    "emoji.js": "text/javascript",
}
_SECURITY = {
    # Nothing from elsewhere is loaded or run, whatever a message says.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_KEEP_ALIVE_SECONDS = 15.0


class Page:
    """Routes of the page for one workspace."""

    def __init__(self, workspace: Workspace, interactions: Interactions) -> None:
        self.workspace = workspace
        self.interactions = interactions
        self._closing = asyncio.Event()

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_get("/", self.document)
        router.add_get("/archives/{channel}", self.document)
        router.add_get("/archives/{channel}/{permalink}", self.document)
        router.add_get("/page/static/{name}", self.static)
        router.add_get("/page/state", self.state)
        router.add_get("/page/stream", self.stream)

    async def document(self, _request: web.Request) -> web.Response:
        """The one HTML document; the script reads channel and message from the address."""
        text = (_FILES / "page.html").read_text("utf-8")
        return web.Response(text=text, content_type="text/html", headers=_SECURITY)

    async def static(self, request: web.Request) -> web.Response:
        """A script or style sheet."""
        name = request.match_info["name"]
        if name not in _STATIC:
            raise web.HTTPNotFound
        text = (_FILES / name).read_text("utf-8")
        return web.Response(text=text, content_type=_STATIC[name], headers=_SECURITY)

    async def state(self, request: web.Request) -> web.Response:
        """Everything that `user` sees in `channel`; unknown ones fall back to the first."""
        workspace = self.workspace
        user = request.query.get("user", "")
        if user not in workspace.users:
            user = next(iter(workspace.users))
        channel = workspace.channels.get(request.query.get("channel", "")) or next(iter(workspace.channels.values()))
        shown = [
            self._message(message, user)
            for message in workspace.messages(channel.id)
            if user in channel.members and message.visible_to in (None, user)
        ]
        state: Json = {
            "version": workspace.version,
            "team": workspace.team.name,
            "app": {"name": workspace.app.name, "user": workspace.app.bot_user_id},
            "users": [
                {
                    "id": u.id,
                    "name": u.name,
                    "real_name": u.real_name,
                    "title": u.title,
                    "guest": u.is_restricted,
                }
                for u in workspace.users.values()
            ],
            "channels": [{"id": c.id, "name": c.name} for c in workspace.channels.values()],
            "channel": _channel(channel),
            "user": user,
            "messages": shown,
        }
        return web.json_response(state, headers=_SECURITY)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: the version number, once at the start and after every change."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **_SECURITY})
        await response.prepare(request)
        changed = asyncio.Event()
        changed.set()
        self.workspace.listeners.append(changed.set)
        try:
            while not self._closing.is_set():
                if changed.is_set():
                    changed.clear()
                    await response.write(f"data: {self.workspace.version}\n\n".encode())
                try:
                    await asyncio.wait_for(changed.wait(), _KEEP_ALIVE_SECONDS)
                except TimeoutError:
                    await response.write(b": still here\n\n")
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.workspace.listeners.remove(changed.set)
        return response

    async def close(self, _app: web.Application) -> None:
        """Let the open streams end, so that the server can."""
        self._closing.set()
        self.workspace.changed()

    def _message(self, message: Message, user: str) -> Json:
        marks = {
            action_id: {"state": mark.state, "text": mark.text}
            for (ts, action_id, who), mark in self.interactions.marks.items()
            if ts == message.ts and who == user
        }
        return message_json(self.workspace, message) | {
            "ephemeral": message.visible_to is not None,
            "marks": marks,
            "state": message.state,
        }


def _channel(channel: Channel) -> Json:
    return {"id": channel.id, "name": channel.name, "topic": channel.topic, "members": list(channel.members)}


@web.middleware
async def same_origin(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Keep other web pages out: the host must be local and a browser's Origin must be our own."""
    host = urlsplit(f"//{request.host}").hostname
    origin = request.headers.get("Origin")
    if host not in ("127.0.0.1", "localhost", "::1"):
        raise web.HTTPForbidden(text="The stand-in answers on the loopback address only.")
    if origin is not None and urlsplit(origin).netloc != request.host:
        raise web.HTTPForbidden(text="The stand-in takes no requests from other pages.")
    return await handler(request)
