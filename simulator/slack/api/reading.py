"""Reading and reacting: auth.test, users.info, conversations.*, reactions.*.

Imports workspace, arguments, shapes, errors.
"""

from __future__ import annotations

import base64
import re

from simulator.slack.api.arguments import Arguments
from simulator.slack.api.shapes import message_json
from simulator.slack.errors import ApiError
from simulator.slack.model import Json, Message
from simulator.slack.workspace import Workspace

_TS = re.compile(r"\d+(?:\.\d{1,6})?")
_EMOJI_NAME = re.compile(r"[a-z0-9_+'-]+(?:::skin-tone-[2-6])?")


def auth_test(workspace: Workspace, _arguments: Arguments) -> Json:
    """auth.test."""
    return {
        "url": f"https://{workspace.team.domain}.slack.com/",
        "team": workspace.team.name,
        "user": workspace.app.name.lower(),
        "team_id": workspace.team.id,
        "user_id": workspace.app.bot_user_id,
        "bot_id": workspace.app.bot_id,
        "is_enterprise_install": False,
    }


def users_info(workspace: Workspace, arguments: Arguments) -> Json:
    """users.info."""
    return {"user": workspace.user(arguments.required("user")).to_api(workspace.team)}


def history(workspace: Workspace, arguments: Arguments) -> Json:
    """conversations.history: newest first, replies left out unless they were broadcast."""
    channel = workspace.channel(arguments.required("channel"))
    if not channel.bot_is_member:
        raise ApiError("not_in_channel")
    newest_first = workspace.top_level(channel.id)[::-1]
    return _page(workspace, newest_first, arguments, default_limit=100) | {"pin_count": 0}


def replies(workspace: Workspace, arguments: Arguments) -> Json:
    """conversations.replies: the parent, then its replies, oldest first."""
    channel = workspace.channel(arguments.required("channel"))
    if not channel.bot_is_member:
        raise ApiError("not_in_channel")
    try:
        asked = workspace.message(channel.id, arguments.required("ts"))
        parent = workspace.message(channel.id, asked.thread_ts) if asked.is_reply else asked
    except ApiError as error:
        raise ApiError("thread_not_found" if error.error == "message_not_found" else error.error) from error
    if parent.visible_to is not None:
        raise ApiError("thread_not_found")
    thread = workspace.replies(parent)
    page = _page(workspace, thread, arguments, default_limit=1000)
    # The parent heads every page, whatever its bounds: that is how clients find it again.
    page["messages"].insert(0, message_json(workspace, parent, metadata=arguments.flag("include_all_metadata")))
    return page


def reactions_add(workspace: Workspace, arguments: Arguments) -> Json:
    """reactions.add."""
    message, name = _reaction(workspace, arguments)
    workspace.react(message, name, workspace.app.bot_user_id)
    return {}


def reactions_remove(workspace: Workspace, arguments: Arguments) -> Json:
    """reactions.remove."""
    message, name = _reaction(workspace, arguments)
    workspace.unreact(message, name, workspace.app.bot_user_id)
    return {}


def _reaction(workspace: Workspace, arguments: Arguments) -> tuple[Message, str]:
    name = (arguments.text("name") or "").strip(":")
    if not _EMOJI_NAME.fullmatch(name):
        raise ApiError("invalid_name")
    channel = workspace.channel(arguments.raw("channel"))
    timestamp = arguments.text("timestamp") or ""
    if not timestamp:
        raise ApiError("no_item_specified")
    if not _TS.fullmatch(timestamp):
        raise ApiError("bad_timestamp")
    return workspace.message(channel.id, timestamp), name


def _page(workspace: Workspace, messages: list[Message], arguments: Arguments, *, default_limit: int) -> Json:
    """Cut `messages` to oldest/latest/cursor/limit, keeping their order."""
    oldest, latest = _bound(arguments, "oldest"), _bound(arguments, "latest")
    inclusive = arguments.flag("inclusive")
    chosen = [
        m
        for m in messages
        if (oldest is None or _micros(m.ts) > oldest or (inclusive and _micros(m.ts) == oldest))
        and (latest is None or _micros(m.ts) < latest or (inclusive and _micros(m.ts) == latest))
    ]
    if arguments.given("cursor"):
        after = _decode_cursor(str(arguments.raw("cursor")))
        at = next((index for index, m in enumerate(chosen) if m.ts == after), None)
        if at is None:
            raise ApiError("invalid_cursor")
        chosen = chosen[at:]
    limit = arguments.limit(default_limit)
    page, rest = chosen[:limit], chosen[limit:]
    with_metadata = arguments.flag("include_all_metadata")
    answer: Json = {
        "messages": [message_json(workspace, m, metadata=with_metadata) for m in page],
        "has_more": bool(rest),
    }
    if rest:
        answer["response_metadata"] = {"next_cursor": base64.b64encode(f"next_ts:{rest[0].ts}".encode()).decode()}
    return answer


def _bound(arguments: Arguments, name: str) -> int | None:
    value = arguments.text(name)
    if not value or value == "0":
        return None
    if not _TS.fullmatch(value):
        raise ApiError(f"invalid_ts_{name}")
    return _micros(value)


def _micros(ts: str) -> int:
    whole, _, fraction = ts.partition(".")
    return int(whole) * 1_000_000 + int(fraction.ljust(6, "0") or "0")


def _decode_cursor(cursor: str) -> str:
    try:
        return base64.b64decode(cursor, validate=True).decode().removeprefix("next_ts:")
    except ValueError as error:
        raise ApiError("invalid_cursor") from error
