"""/api/METHOD: token, faults, arguments, method, answer. Imports aiohttp, the methods and faults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from simulator.slack.api import chat, reading
from simulator.slack.api.arguments import Arguments
from simulator.slack.errors import ApiError
from simulator.slack.faults import Fault, Faults
from simulator.slack.model import Json
from simulator.slack.workspace import Workspace, short_id

Method = Callable[[Workspace, Arguments], Json]

METHODS: dict[str, Method] = {
    "auth.test": reading.auth_test,
    "chat.delete": chat.delete,
    "chat.getPermalink": chat.get_permalink,
    "chat.postEphemeral": chat.post_ephemeral,
    "chat.postMessage": chat.post_message,
    "chat.update": chat.update,
    "conversations.history": reading.history,
    "conversations.replies": reading.replies,
    "reactions.add": reading.reactions_add,
    "reactions.remove": reading.reactions_remove,
    "users.info": reading.users_info,
}

_SCOPES = "chat:write,channels:history,reactions:write,users:read"


class WebApi:
    """The handler of one workspace's Web API; keeps a log of calls for tests and the demo."""

    def __init__(self, workspace: Workspace, faults: Faults, bot_token: str) -> None:
        self.workspace = workspace
        self.faults = faults
        self.bot_token = bot_token
        self.calls: list[Json] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One call. Slack answers 200 with `ok: false` for its own refusals."""
        name = request.match_info["method"]
        fault = self.faults.next_for(name)
        call: Json = {"method": name, "at": self.workspace.now(), "outcome": "ok", "channel": None}
        self.calls.append(call)
        if fault and fault.kind in ("unavailable", "drop", "rate_limited", "error"):
            call["outcome"] = fault.kind
            return refuse(request, fault)
        try:
            values = await _values(request)
            call["channel"] = values.get("channel")
            self._authorize(request, values)
            if name == "chat.postMessage" and self.faults.too_fast(str(values.get("channel"))):
                call["outcome"] = "rate_limited"
                return refuse(request, Fault("rate_limited", retry_after="1"))
            answer = self._run(name, values, request)
        except ApiError as error:
            call["outcome"] = error.error
            answer = error_json(error)
        if fault and fault.kind == "lost_answer":
            call["outcome"] += ", answer lost"
            return drop(request)
        if fault and fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
        return web.json_response(answer, headers={"x-oauth-scopes": _SCOPES, "x-slack-req-id": short_id(32)})

    def _authorize(self, request: web.Request, values: Json) -> None:
        header = request.headers.get("Authorization", "")
        token = header.removeprefix("Bearer ").strip() or str(values.get("token") or "")
        if not token:
            raise ApiError("not_authed")
        if token != self.bot_token:
            raise ApiError("invalid_auth")

    def _run(self, name: str, values: Json, request: web.Request) -> Json:
        method = METHODS.get(name)
        if method is None:
            raise ApiError("unknown_method", [f"{name} is not part of the stand-in"])
        answer: Json = {"ok": True} | method(self.workspace, Arguments(values))
        if "permalink" in answer:
            answer["permalink"] = f"{request.scheme}://{request.host}{answer['permalink']}"
        return answer


def error_json(error: ApiError) -> Json:
    """`{ok: false}` with the findings the way Slack lists them."""
    out: Json = {"ok": False, "error": error.error}
    if error.messages:
        out["errors"] = list(error.messages)
        out["response_metadata"] = {"messages": [f"[ERROR] {message}" for message in error.messages]}
    return out


def refuse(request: web.Request, fault: Fault) -> web.StreamResponse:
    """The answer of a fault that keeps the call from being done."""
    if fault.kind == "drop":
        return drop(request)
    if fault.kind == "error":
        return web.json_response({"ok": False, "error": fault.error})
    if fault.kind == "rate_limited":
        headers = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
        return web.json_response({"ok": False, "error": "ratelimited"}, status=fault.status, headers=headers)
    return web.Response(status=503, text="Service Unavailable")


def drop(request: web.Request) -> web.StreamResponse:
    """Close the connection without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=503)


async def _values(request: web.Request) -> Json:
    """Query, form or JSON body as one mapping; the body wins."""
    values: dict[str, Any] = dict(request.query)
    if request.method != "POST":
        return values
    if request.content_type == "application/json":
        try:
            body = json.loads(await request.text() or "{}")
        except ValueError as error:
            raise ApiError("invalid_json") from error
        if not isinstance(body, dict):
            raise ApiError("json_not_object")
        return values | body
    if request.content_type in ("application/x-www-form-urlencoded", "multipart/form-data"):
        return values | {key: value for key, value in (await request.post()).items() if isinstance(value, str)}
    return values
