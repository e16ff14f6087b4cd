"""One Slack workspace in memory: people, channels, messages and threads.

May import: the standard library and simulator.slack.errors/model. No I/O; time comes from a callable.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

from simulator.slack.errors import ApiError, ControlError
from simulator.slack.model import App, Channel, Json, Message, Seed, Team, User
from simulator.slack.text import normalise

_BLOCK_ID_ALPHABET = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_TEXT_LIMIT = 40_000  # characters; Slack cuts longer message texts instead of refusing them


class Workspace:
    """All state. Every change calls each listener once, after the change is complete."""

    def __init__(self, seed: Seed | None = None, now: Callable[[], float] = time.time) -> None:
        seed = seed or Seed()
        self.team: Team = seed.team
        self.app: App = seed.app
        self.users: dict[str, User] = {user.id: user for user in seed.users}
        self.channels: dict[str, Channel] = {channel.id: channel for channel in seed.channels}
        self.now = now
        self.listeners: list[Callable[[], None]] = []
        self.version = 0
        self._messages: dict[tuple[str, str], Message] = {}
        self._last_micros = 0

    # -- looking up ---------------------------------------------------------------------------------------

    def channel(self, name_or_id: object, *, by_name: bool = False) -> Channel:
        """The channel, by id or (where Slack allows it) by `#name`. Raises ApiError channel_not_found."""
        wanted = str(name_or_id or "")
        found = self.channels.get(wanted)
        if found is None and by_name:
            bare = wanted.removeprefix("#")
            found = next((c for c in self.channels.values() if c.name == bare), None)
        if found is None:
            raise ApiError("channel_not_found")
        return found

    def user(self, user_id: str) -> User:
        """The person or the app's bot user. Raises ApiError user_not_found."""
        if user_id == self.app.bot_user_id:
            return User(id=user_id, name=self.app.name.lower(), real_name=self.app.name, is_bot=True)
        found = self.users.get(user_id)
        if found is None:
            raise ApiError("user_not_found")
        return found

    def message(self, channel: str, ts: object) -> Message:
        """The message with this ts. Raises ApiError message_not_found."""
        found = self._messages.get((channel, str(ts or "")))
        if found is None:
            raise ApiError("message_not_found")
        return found

    def find(self, ts: str) -> Message:
        """The one message with this ts in any channel. Raises ControlError when there is none."""
        for message in self._messages.values():
            if message.ts == ts:
                return message
        raise ControlError(f"no message with ts {ts!r}; it was never posted or has been deleted")

    def messages(self, channel: str | None = None) -> Iterator[Message]:
        """Every message, ephemeral ones too, oldest first."""
        for message in self._messages.values():
            if channel is None or message.channel == channel:
                yield message

    def top_level(self, channel: str) -> list[Message]:
        """What the channel itself shows to everybody: parents and broadcast replies, oldest first."""
        return [m for m in self.messages(channel) if m.visible_to is None and (not m.is_reply or m.broadcast)]

    def replies(self, parent: Message) -> list[Message]:
        """The public replies of a thread, oldest first, without the parent."""
        return [
            m for m in self.messages(parent.channel) if m.is_reply and m.thread_ts == parent.ts and m.visible_to is None
        ]

    # -- changing -----------------------------------------------------------------------------------------

    def post(
        self,
        channel: Channel,
        author: str,
        *,
        text: str = "",
        blocks: list[Json] | None = None,
        thread_ts: str | None = None,
        broadcast: bool = False,
        metadata: Json | None = None,
        visible_to: str | None = None,
        username: str | None = None,
    ) -> Message:
        """Add a message and return it; block ids and action ids that the author left out are made up."""
        message = Message(
            channel=channel.id,
            ts=self._next_ts(),
            user=author,
            text=normalise(text)[:_TEXT_LIMIT],
            blocks=complete_blocks(blocks or []),
            thread_ts=thread_ts,
            broadcast=broadcast,
            metadata=metadata,
            visible_to=visible_to,
            username=username,
        )
        self._messages[message.channel, message.ts] = message
        if thread_ts is not None and visible_to is None:
            parent = self._messages.get((channel.id, thread_ts))
            if parent is not None:
                parent.thread_ts = parent.ts
        self.changed()
        return message

    def edit(
        self,
        message: Message,
        editor: str,
        *,
        text: str | None = None,
        blocks: list[Json] | None = None,
        metadata: Json | None = None,
    ) -> None:
        """Change what is given and keep the rest; the message is marked as edited."""
        if text is not None:
            message.text = normalise(text)
        if blocks is not None:
            message.blocks = complete_blocks(blocks)
        if metadata is not None:
            message.metadata = metadata
        message.edited = {"user": editor, "ts": f"{int(self.now())}.000000"}
        self.changed()

    def delete(self, message: Message) -> None:
        """Take the message away; replies of a deleted parent stay reachable by their own ts."""
        self._messages.pop((message.channel, message.ts), None)
        self.changed()

    def react(self, message: Message, name: str, user: str) -> None:
        """Add an emoji reaction. Raises ApiError already_reacted."""
        people = message.reactions.setdefault(name, [])
        if user in people:
            raise ApiError("already_reacted")
        people.append(user)
        self.changed()

    def unreact(self, message: Message, name: str, user: str) -> None:
        """Take one's own reaction back. Raises ApiError no_reaction."""
        people = message.reactions.get(name, [])
        if user not in people:
            raise ApiError("no_reaction")
        people.remove(user)
        if not people:
            del message.reactions[name]
        self.changed()

    def changed(self) -> None:
        """Count a change and tell every listener."""
        self.version += 1
        for listener in list(self.listeners):
            listener()

    def _next_ts(self) -> str:
        # A ts is the message's identity: microseconds of the wall clock, but never the same one twice.
        self._last_micros = max(self._last_micros + 1, int(self.now() * 1_000_000))
        return f"{self._last_micros // 1_000_000}.{self._last_micros % 1_000_000:06d}"


def short_id(length: int = 5) -> str:
    """A random id like those that Slack makes up for blocks without one."""
    return "".join(secrets.choice(_BLOCK_ID_ALPHABET) for _ in range(length))


def complete_blocks(blocks: list[Json]) -> list[Json]:
    """Blocks as Slack stores them: ids filled in, stray `&`, `<`, `>` in texts escaped."""
    return [_complete(block, is_block=True) for block in blocks]


def _complete(node: Json, *, is_block: bool) -> Json:
    out: dict[str, Any] = {}
    for key, value in node.items():
        if isinstance(value, dict):
            out[key] = _complete(value, is_block=False)
        elif isinstance(value, list):
            out[key] = [_complete(v, is_block=False) if isinstance(v, dict) else v for v in value]
        else:
            out[key] = value
    kind = out.get("type")
    if kind in ("mrkdwn", "plain_text") and isinstance(out.get("text"), str):
        out["text"] = normalise(out["text"], entities=kind == "mrkdwn")
        if kind == "plain_text":
            out.setdefault("emoji", True)
        else:
            out.setdefault("verbatim", False)
    if is_block:
        out.setdefault("block_id", short_id())
    elif kind in ("button", "static_select"):
        out.setdefault("action_id", short_id())
    return out
