"""/_control/*: how tests and the demo steer and observe the stand-in. JSON in, JSON out.

Imports aiohttp and the parts.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from simulator.slack.api.routes import WebApi
from simulator.slack.api.shapes import message_json, pings
from simulator.slack.errors import ApiError, ControlError
from simulator.slack.faults import KINDS, Fault, Faults
from simulator.slack.model import Json, Message
from simulator.slack.outgoing.delivery import Sender
from simulator.slack.outgoing.events import RETRY_DELAYS, Events
from simulator.slack.outgoing.interactions import Interactions
from simulator.slack.workspace import Workspace


class Control:
    """The steering wheel: each command is a method that takes the JSON body and returns JSON."""

    def __init__(
        self,
        *,
        workspace: Workspace,
        web_api: WebApi,
        faults: Faults,
        sender: Sender,
        interactions: Interactions,
        events: Events,
    ) -> None:
        self.workspace = workspace
        self.web_api = web_api
        self.faults = faults
        self.sender = sender
        self.interactions = interactions
        self.events = events
        self.base_url = ""
        self._sending: set[asyncio.Task[Any]] = set()
        self._commands: dict[str, Callable[[Json], Awaitable[Any]]] = {
            "configure": self.configure,
            "messages": self.messages,
            "click": self.click,
            "say": self.say,
            "fault": self.fault,
            "clear_faults": self.clear_faults,
            "deliveries": self.deliveries,
            "calls": self.calls,
            "send_event": self.send_event,
            "verify_url": self.verify_url,
        }

    async def handle(self, request: web.Request) -> web.Response:
        """Run a command; 400 with `{error}` when it makes no sense."""
        command = self._commands.get(request.match_info["command"])
        if command is None:
            return web.json_response({"error": f"no such command; known: {', '.join(self._commands)}"}, status=404)
        try:
            body = json.loads(await request.text() or "{}")
            return web.json_response({"result": await command(body)})
        except (ControlError, ApiError) as error:
            return web.json_response({"error": str(error)}, status=400)
        except (KeyError, TypeError, ValueError) as error:
            return web.json_response({"error": f"malformed command: {error!r}"}, status=400)

    async def configure(self, body: Json) -> Json:
        """Set `interactivity_url`, `events_url`, `enforce_pace`; answers the settings now in force."""
        if "interactivity_url" in body:
            self.interactions.url = str(body["interactivity_url"])
        if "events_url" in body:
            self.events.url = str(body["events_url"])
        if "enforce_pace" in body:
            self.faults.enforce_pace = bool(body["enforce_pace"])
        return {
            "interactivity_url": self.interactions.url,
            "events_url": self.events.url,
            "enforce_pace": self.faults.enforce_pace,
        }

    async def messages(self, body: Json) -> list[Json]:
        """Every message, replies and ephemeral ones too, oldest first."""
        channel = body.get("channel")
        found = self.workspace.channel(channel, by_name=True).id if channel else None
        return [self._message(message) for message in self.workspace.messages(found)]

    async def click(self, body: Json) -> Json:
        """Click as a person; waits for the app's answer."""
        delivery = await self.interactions.click(
            str(body["message_ts"]),
            str(body["action_id"]),
            str(body["user"]),
            body.get("value"),
            self.base_url,
        )
        return delivery.to_json()

    async def say(self, body: Json) -> Json:
        """A person writes a message; sent on as an event when an events URL is set."""
        user = self.workspace.users.get(str(body["user"]))
        if user is None:
            raise ControlError(f"no user {body['user']!r}; known: {', '.join(self.workspace.users)}")
        channel = self.workspace.channel(body["channel"], by_name=True)
        text = str(body["text"]).strip()
        if user.id not in channel.members or not text:
            raise ControlError("only members write in a channel, and only messages with text")
        thread_ts = self.workspace.message(channel.id, body["thread_ts"]).ts if body.get("thread_ts") else None
        message = self.workspace.post(channel, user.id, text=self._typed(text), thread_ts=thread_ts)
        if self.events.url:
            event = message_json(self.workspace, message) | {"channel": channel.id, "event_ts": message.ts}
            if f"@{self.workspace.app.bot_user_id}" in pings(message):
                event["type"] = "app_mention"
            task = asyncio.create_task(self.events.send(event))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        return self._message(message)

    async def fault(self, body: Json) -> Json:
        """Arm a fault: `kind` and the fields of faults.Fault; `for_seconds` instead of a count."""
        fields = dict(body)
        for_seconds = fields.pop("for_seconds", None)
        if fields.get("kind") not in KINDS:
            raise ControlError(f"kind must be one of {', '.join(KINDS)}")
        fields["methods"] = tuple(fields.get("methods", ()))
        if for_seconds is not None:
            fields["until"] = self.faults.now() + float(for_seconds)
        self.faults.arm(Fault(**fields))
        return {"armed": len(self.faults.armed)}

    async def clear_faults(self, body: Json) -> Json:
        """Disarm the given `kinds`, or everything."""
        self.faults.clear(*body.get("kinds", ()))
        return {"armed": len(self.faults.armed)}

    async def deliveries(self, _body: Json) -> list[Json]:
        """Every request that was sent to the app, oldest first."""
        return [delivery.to_json() for delivery in self.sender.deliveries]

    async def calls(self, _body: Json) -> list[Json]:
        """Every Web API call that arrived: method, channel, outcome, time."""
        return self.web_api.calls

    async def send_event(self, body: Json) -> list[Json]:
        """Send an event with Slack's retries; answers every attempt."""
        delays = [float(delay) for delay in body.get("retry_delays", RETRY_DELAYS)]
        attempts = await self.events.send(body["event"], event_id=body.get("event_id"), retry_delays=delays)
        return [attempt.to_json() for attempt in attempts]

    async def verify_url(self, _body: Json) -> Json:
        """Challenge the events URL."""
        verified, delivery = await self.events.verify_url()
        return {"verified": verified, "delivery": delivery.to_json()}

    def _typed(self, text: str) -> str:
        """What a person typed, as Slack stores it: nothing in it is a command except `@name` of a member."""
        names = {user.name.lower(): user.id for user in self.workspace.users.values()}
        names[self.workspace.app.name.lower()] = self.workspace.app.bot_user_id
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return re.sub(
            r"(?<![\w@])@(\w+)",
            lambda at: f"<@{names[at[1].lower()]}>" if at[1].lower() in names else at[0],
            escaped,
        )

    def _message(self, message: Message) -> Json:
        return message_json(self.workspace, message, metadata=True) | {
            "channel": message.channel,
            "visible_to": message.visible_to,
            "notifies": pings(message),
        }
