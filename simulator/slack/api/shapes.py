"""A message as Slack's API, payloads and history show it. Imports workspace and model; pure."""

from __future__ import annotations

from typing import Any

from simulator.slack.model import Json, Message
from simulator.slack.text import notified
from simulator.slack.workspace import Workspace


def message_json(workspace: Workspace, message: Message, *, metadata: bool = False) -> Json:
    """The message object; thread counters only on parents, metadata only where it was asked for."""
    app = workspace.app
    out: Json = {"type": "message", "user": message.user, "ts": message.ts, "text": message.text}
    if message.user == app.bot_user_id:
        out |= {
            "bot_id": app.bot_id,
            "app_id": app.id,
            "bot_profile": {
                "id": app.bot_id,
                "app_id": app.id,
                "name": app.name,
                "deleted": False,
                "team_id": workspace.team.id,
            },
        }
    out["team"] = workspace.team.id
    if message.username:
        out["username"] = message.username
    if message.blocks:
        out["blocks"] = message.blocks
    if message.edited:
        out["edited"] = message.edited
    if message.broadcast:
        out["subtype"] = "thread_broadcast"
    if message.thread_ts:
        out["thread_ts"] = message.thread_ts
        if message.is_reply:
            parent = next((m for m in workspace.messages(message.channel) if m.ts == message.thread_ts), None)
            if parent:
                out["parent_user_id"] = parent.user
        else:
            out |= _thread_counters(workspace, message)
    if message.reactions:
        out["reactions"] = [
            {"name": name, "users": list(users), "count": len(users)} for name, users in message.reactions.items()
        ]
    if metadata and message.metadata is not None:
        out["metadata"] = message.metadata
    return out


def _thread_counters(workspace: Workspace, parent: Message) -> Json:
    replies = workspace.replies(parent)
    people = list(dict.fromkeys(reply.user for reply in replies))
    counters: Json = {"reply_count": len(replies), "reply_users_count": len(people), "reply_users": people}
    if replies:
        counters["latest_reply"] = replies[-1].ts
    return counters | {"is_locked": False, "subscribed": False}


def pings(message: Message) -> list[str]:
    """Whom the message notifies, from its fallback text and from every mrkdwn text in its blocks."""
    found = notified(message.text)
    for text in _mrkdwn_texts(message.blocks):
        found += notified(text)
    return list(dict.fromkeys(found))


def _mrkdwn_texts(node: Any) -> list[str]:
    if isinstance(node, list):
        return [text for item in node for text in _mrkdwn_texts(item)]
    if isinstance(node, dict):
        if node.get("type") == "mrkdwn":
            return [str(node.get("text", ""))]
        return [text for value in node.values() for text in _mrkdwn_texts(value)]
    return []
