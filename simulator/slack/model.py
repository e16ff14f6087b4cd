"""The shapes of a workspace and its default inhabitants. Imports the standard library and errors only."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simulator.slack.errors import SeedError

Json = dict[str, Any]


@dataclass(frozen=True)
class Team:
    """The workspace's own name plate."""

    id: str = "T0ROUNDHSE"
    name: str = "Roundhouse"
    domain: str = "roundhouse"


@dataclass(frozen=True)
class App:
    """The one installed app and its bot user."""

    id: str = "A0ROUNDHSE"
    name: str = "Roundhouse"
    bot_id: str = "B0ROUNDHSE"
    bot_user_id: str = "U0ROUNDBOT"


@dataclass(frozen=True)
class User:
    """A person. Guests are `is_restricted`, as Slack calls multi-channel guests."""

    id: str
    name: str
    real_name: str
    title: str = ""
    is_restricted: bool = False
    is_bot: bool = False

    def to_api(self, team: Team) -> Json:
        """As `users.info` answers."""
        return {
            "id": self.id,
            "team_id": team.id,
            "name": self.name,
            "deleted": False,
            "real_name": self.real_name,
            "tz": "Etc/UTC",
            "tz_label": "Coordinated Universal Time",
            "tz_offset": 0,
            "profile": {
                "title": self.title,
                "real_name": self.real_name,
                "display_name": self.name,
                "team": team.id,
            },
            "is_admin": False,
            "is_owner": False,
            "is_restricted": self.is_restricted,
            "is_ultra_restricted": False,
            "is_bot": self.is_bot,
            "is_app_user": False,
        }


@dataclass(frozen=True)
class Channel:
    """A channel. `bot_is_member` decides between posting and `not_in_channel`."""

    id: str
    name: str
    topic: str = ""
    members: tuple[str, ...] = ()
    bot_is_member: bool = True
    is_archived: bool = False


@dataclass
class Message:
    """One message. Identity is (channel, ts); `visible_to` makes it ephemeral for that one user."""

    channel: str
    ts: str
    user: str
    text: str = ""
    blocks: list[Json] = field(default_factory=list)
    thread_ts: str | None = None
    broadcast: bool = False
    metadata: Json | None = None
    visible_to: str | None = None
    username: str | None = None
    edited: Json | None = None
    reactions: dict[str, list[str]] = field(default_factory=dict)
    state: dict[str, Json] = field(default_factory=dict)  # block_id → action_id → current selection

    @property
    def is_reply(self) -> bool:
        return self.thread_ts is not None and self.thread_ts != self.ts


@dataclass(frozen=True)
class Seed:
    """Who and what exists before the first message."""

    team: Team = Team()
    app: App = App()
    users: tuple[User, ...] = (
        User("U0OPSALICE", "alice", "Alice", "Platform on-call"),
        User("U0OPSBOB", "bob", "Bob", "Platform on-call"),
        User("U0GUESTEVE", "eve", "Eve", "Guest", is_restricted=True),
    )
    channels: tuple[Channel, ...] = (
        Channel(
            "C0GPUOPS01",
            "gpu-ops",
            "GPU clusters: repairs, approvals, cost",
            ("U0OPSALICE", "U0OPSBOB", "U0GUESTEVE"),
        ),
    )


def read_seed(path: Path) -> Seed:
    """A seed from JSON: `team`, `app`, `users`, `channels`, each optional, fields as in the dataclasses.

    Raises SeedError saying which part is wrong.
    """
    try:
        raw = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SeedError(f"cannot read the workspace file {path}: {error}") from error
    if not isinstance(raw, dict):
        raise SeedError(f"the workspace file {path} must hold one JSON object")
    default = Seed()
    try:
        users = tuple(User(**user) for user in raw["users"]) if "users" in raw else default.users
        channels = (
            tuple(Channel(**{**c, "members": tuple(c.get("members", ()))}) for c in raw["channels"])
            if "channels" in raw
            else default.channels
        )
        seed = Seed(Team(**raw.get("team", {})), App(**raw.get("app", {})), users, channels)
    except (TypeError, AttributeError) as error:
        raise SeedError(f"the workspace file {path} has a part of the wrong shape: {error}") from error
    known = {user.id for user in seed.users}
    for channel in seed.channels:
        strangers = sorted(set(channel.members) - known)
        if strangers:
            raise SeedError(f"channel {channel.id} has members that are not in users: {', '.join(strangers)}")
    return seed
