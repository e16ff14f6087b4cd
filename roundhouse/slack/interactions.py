"""What a verified request of Slack asks for. Standard library, contracts and line only; no I/O.

Only a click on a button of ours is a `Click`. Everything else that Slack may send to this address is `Ignored` with a
reason for the log; only what Slack never sends is a `BadRequest`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

from roundhouse.contracts.slack import CHOICES, ButtonValue
from roundhouse.errors import MalformedEvent
from roundhouse.line.approval import Click


@dataclass(frozen=True, slots=True)
class Ignored:
    """Well formed, but not for us. `respond_to` is set where the person should be told."""

    reason: str
    respond_to: str | None = None


@dataclass(frozen=True, slots=True)
class BadRequest:
    """Not what Slack documents: answer 400."""

    reason: str


@dataclass(frozen=True, slots=True)
class CertificateCheck:
    """`ssl_check=1`: answer 200, do nothing."""


Request = Click | Ignored | BadRequest | CertificateCheck


def read_request(body: bytes, *, clicked_at: datetime, team: str = "", app: str = "") -> Request:
    """The request in a verified body. `team` and `app` are the ids it must come from; empty means not checked.

    `clicked_at` is our clock's time, which approvals expire by.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        return BadRequest(f"body is not UTF-8 at byte {error.start}")
    if text.lstrip().startswith("{"):
        return _event_callback(text)
    try:
        form = parse_qs(text, keep_blank_values=True, strict_parsing=False, errors="strict", max_num_fields=50)
    except ValueError as error:  # too many fields, or percent-encoded bytes that are not UTF-8
        return BadRequest(f"body is not a form: {error}")
    payloads = form.get("payload", [])
    if not payloads and form.get("ssl_check") == ["1"]:
        return CertificateCheck()
    if len(payloads) != 1:
        return BadRequest(f"{len(payloads)} payload fields, exactly one is expected")
    try:
        payload = json.loads(payloads[0])
    except (ValueError, RecursionError) as error:
        return BadRequest(f"payload is not JSON: {error}")
    if not isinstance(payload, dict):
        return BadRequest("payload is not a JSON object")
    return _interaction(payload, clicked_at, team, app)


def _event_callback(text: str) -> Request:
    """The Events API's JSON. We subscribe to nothing; anything but a 2xx would only be sent again."""
    try:
        kind = json.loads(text).get("type")
    except (ValueError, RecursionError) as error:
        return BadRequest(f"body is not JSON: {error}")
    return Ignored(f"event of type {kind!r}: this address takes button clicks only")


def _interaction(payload: Mapping[str, Any], clicked_at: datetime, team: str, app: str) -> Request:
    kind = payload.get("type")
    if not isinstance(kind, str):
        return BadRequest("payload has no type")
    if kind != "block_actions":
        return Ignored(f"interaction of type {kind!r}: only block_actions are for us")
    user, respond_to = _text(payload, "user", "id"), _text(payload, "response_url")
    # `team` is null in installations for a whole organisation, which is then named by its own id.
    whole = team.startswith("E")
    from_team = (
        _text(payload, "enterprise", "id")
        if whole
        else _text(payload, "team", "id") or _text(payload, "user", "team_id")
    )
    if team and from_team != team:
        return Ignored(f"team {from_team!r} is not {team!r}: refused", respond_to)
    if app and _text(payload, "api_app_id") != app:
        return Ignored(f"app {_text(payload, 'api_app_id')!r} is not {app!r}: refused", respond_to)
    actions = payload.get("actions")
    if not isinstance(actions, list):
        return BadRequest("block_actions without a list of actions")
    if user is None:
        return BadRequest("block_actions without a user id")
    reasons = []
    for action in actions:
        value = _our_button(action)
        if isinstance(value, ButtonValue):
            return Click(value.approval_id, value.choice, user, clicked_at, value.instance_id, respond_to)
        reasons.append(value)
    return Ignored("; ".join(reasons) or "no action")


def _our_button(action: object) -> ButtonValue | str:
    """The value of a button of ours, or why it is none."""
    if not isinstance(action, Mapping):
        return "an action that is not an object"
    action_id, value = action.get("action_id"), action.get("value")
    if action.get("type") != "button":
        return f"{action.get('type')!r} {action_id!r} is not a button"
    if action_id not in CHOICES:
        return f"button {action_id!r} is not one of ours"
    if not isinstance(value, str) or not value:
        return f"button {action_id!r} carries no value"
    try:
        return ButtonValue.from_text(value, action_id)
    except MalformedEvent as error:
        return str(error)


def _text(payload: Mapping[str, Any], *path: str) -> str | None:
    """The non-empty string at `path`, None where anything on the way is null, absent or of another kind."""
    at: object = payload
    for key in path:
        at = at.get(key) if isinstance(at, Mapping) else None
    return at if isinstance(at, str) and at else None
