"""Clicks on buttons and menus: the block_actions request and the mark it leaves at the button.

Imports workspace, shapes, delivery and response_url. Slack does not send a click again: a lost click is lost.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote_plus

from simulator.slack.api.shapes import message_json
from simulator.slack.errors import ControlError
from simulator.slack.model import Json, Message, User
from simulator.slack.outgoing.delivery import Delivery, Sender
from simulator.slack.outgoing.response_url import ResponseUrls
from simulator.slack.workspace import Workspace

VERIFICATION_TOKEN = "legacy-token-do-not-use"


@dataclass(frozen=True)
class Mark:
    """What the page shows at an element after a click: still waiting, or why it failed."""

    state: Literal["pending", "failed"]
    text: str = ""


class Interactions:
    """Sends clicks to the interactivity URL. `marks` is (message ts, action id, user) → Mark."""

    def __init__(self, workspace: Workspace, sender: Sender, response_urls: ResponseUrls, url: str = "") -> None:
        self.workspace = workspace
        self.sender = sender
        self.response_urls = response_urls
        self.url = url
        self.marks: dict[tuple[str, str, str], Mark] = {}

    async def click(self, message_ts: str, action_id: str, user_id: str, value: str | None, base_url: str) -> Delivery:
        """Act on one element as this person and wait for the app's answer (3 s at most).

        `value` chooses the option of a menu; for a button it may name the button's own value.
        Raises ControlError when the person could not do that in Slack.
        """
        message = self.workspace.find(message_ts)
        user = self._person(user_id, message)
        block, element = find_element(message, action_id)
        action = self._action(message, block, element, value)
        body = self._body(message, user, action, base_url)
        key = (message.ts, action_id, user.id)
        self._mark(key, Mark("pending"))
        about = {
            "user": user.id,
            "message_ts": message.ts,
            "action_id": action_id,
            "value": element.get("value"),
        }
        try:
            delivery = await self.sender.send(
                "block_actions", self.url, body, "application/x-www-form-urlencoded", about=about
            )
        except BaseException:
            self._mark(key, None)
            raise
        self._mark(key, mark_of(delivery, self.workspace.app.name))
        return delivery

    def _person(self, user_id: str, message: Message) -> User:
        user = self.workspace.users.get(user_id)
        if user is None:
            raise ControlError(f"no user {user_id!r}; known: {', '.join(self.workspace.users)}")
        if user.id not in self.workspace.channels[message.channel].members:
            raise ControlError(f"{user_id} is not a member of {message.channel} and cannot see the message")
        if message.visible_to not in (None, user.id):
            raise ControlError(f"message {message.ts} is ephemeral and not visible to {user_id}")
        return user

    def _action(self, message: Message, block: Json, element: Json, value: str | None) -> Json:
        action: Json = {"action_id": element["action_id"], "block_id": block["block_id"]}
        if element["type"] == "static_select":
            option = next((o for o in element["options"] if o["value"] == value), None)
            if option is None and value is not None:
                raise ControlError(f"menu {element['action_id']!r} has no option with the value {value!r}")
            action |= {"type": "static_select", "selected_option": option}
            if "placeholder" in element:
                action["placeholder"] = element["placeholder"]
            message.state.setdefault(block["block_id"], {})[element["action_id"]] = {
                "type": "static_select",
                "selected_option": option,
            }
        else:
            if value is not None and value != element.get("value"):
                raise ControlError(
                    f"button {element['action_id']!r} carries {element.get('value')!r}, not {value!r}; "
                    "a click cannot change it"
                )
            action["text"] = element["text"]
            action |= {key: element[key] for key in ("value", "url", "style", "confirm") if key in element}
            action["type"] = "button"
        now = self.workspace.now()
        return action | {"action_ts": f"{now:.6f}"}

    def _body(self, message: Message, user: User, action: Json, base_url: str) -> str:
        workspace, team = self.workspace, self.workspace.team
        ephemeral = message.visible_to is not None
        container: Json = {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": message.channel,
            "is_ephemeral": ephemeral,
        }
        if message.thread_ts:
            container["thread_ts"] = message.thread_ts
        payload: Json = {
            "type": "block_actions",
            "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": team.id},
            "api_app_id": workspace.app.id,
            "token": VERIFICATION_TOKEN,
            "container": container,
            "trigger_id": f"{secrets.randbelow(10**13)}.{secrets.randbelow(10**12)}.{secrets.token_hex(16)}",
            "team": {"id": team.id, "domain": team.domain},
            "enterprise": None,
            "is_enterprise_install": False,
            "channel": {"id": message.channel, "name": workspace.channels[message.channel].name},
        }
        if not ephemeral:
            payload["message"] = message_json(workspace, message, metadata=True)
        payload["state"] = {"values": message.state}
        payload["response_url"] = base_url + self.response_urls.issue(message, user)
        payload["actions"] = [action]
        # Slack's encoder escapes slashes and everything beyond ASCII: re-encoding a parsed body changes it.
        text = json.dumps(payload, separators=(",", ":")).replace("/", "\\/")
        return "payload=" + quote_plus(text)

    def _mark(self, key: tuple[str, str, str], mark: Mark | None) -> None:
        if mark is None:
            self.marks.pop(key, None)
        else:
            self.marks[key] = mark
        self.workspace.changed()


def mark_of(delivery: Delivery, app_name: str) -> Mark | None:
    """The warning that the person sees; None when the app answered in time with 2xx."""
    if delivery.outcome == "ok":
        return None
    texts = {
        "http_timeout": f"{app_name} did not answer in time (operation_timeout).",
        "http_error": f"{app_name} answered with status code {delivery.status}.",
        "connection_failed": f"{app_name} could not be reached.",
        "not_configured": f"{app_name} is not configured to handle interactive responses.",
    }
    return Mark("failed", texts[delivery.outcome])


def find_element(message: Message, action_id: str) -> tuple[Json, Json]:
    """The block and the interactive element with this action id. Raises ControlError naming those there are."""
    seen: list[str] = []
    for block, element in _interactive(message.blocks):
        if element["action_id"] == action_id:
            return block, element
        seen.append(element["action_id"])
    there = ", ".join(seen) if seen else "none"
    raise ControlError(f"message {message.ts} has no element with action_id {action_id!r}; it has: {there}")


def _interactive(blocks: list[Json]) -> Iterator[tuple[Json, Json]]:
    for block in blocks:
        candidates: list[Any] = list(block.get("elements", [])) if block["type"] == "actions" else []
        if block["type"] == "section" and "accessory" in block:
            candidates.append(block["accessory"])
        for element in candidates:
            if element.get("type") in ("button", "static_select"):
                yield block, element
