"""POST /slack/interactions: a click is verified, recorded once by a conditional write, and passed on.

Slack waits three seconds and never sends a click again, so nothing slow happens here: the state machine is answered by
settle_approval. A click that could not be recorded is answered 500, which Slack shows to the person at the button.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roundhouse.errors import BadInput, RoundhouseError
from roundhouse.line.approval import Approval, ApprovalStatus, Click, answer
from roundhouse.ports import ApprovalStore, Clock, Messenger, SettleQueue
from roundhouse.slack.interactions import BadRequest, Ignored, read_request
from roundhouse.slack.signature import is_certificate_check, signed_by_slack
from roundhouse.steps.revise import revise

logger = logging.getLogger(__name__)

UNKNOWN = "This question is not known here (any more). Nothing was done."
ELSEWHERE = "This button belongs to another workspace or app. Nothing was done."
NOT_RECORDED = "Your answer could not be recorded. Please click once more."


@dataclass(frozen=True, slots=True)
class Ports:
    """What a request needs. `team` and `app` are Slack ids it must come from; empty means not checked."""

    approvals: ApprovalStore
    settle: SettleQueue
    messenger: Messenger
    clock: Clock  # the line's: approvals expire by it
    wall_clock: Clock  # the machine's: Slack signs by it
    signing_secret: str
    team: str = ""
    app: str = ""


def handle(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Lambda entry point: API Gateway HTTP API (payload 2.0) or Function URL."""
    return answer_request(event, wire())


def answer_request(event: Mapping[str, Any], ports: Ports) -> dict[str, Any]:
    """The HTTP answer: 200 for all that Slack sends, 401 unsigned, 400 malformed, 500 when nothing was recorded."""
    body = signed_by_slack(event, ports.signing_secret, ports.wall_clock.now())
    if body is None:
        if is_certificate_check(event):
            return _http(200)
        logger.warning("request without a valid signature of Slack refused")
        return _http(401, "signature missing, wrong or too old")
    request = read_request(body, clicked_at=ports.clock.now(), team=ports.team, app=ports.app)
    if isinstance(request, Click):
        return _answer_click(request, ports)
    if isinstance(request, BadRequest):
        logger.warning("bad request: %s", request.reason)
        return _http(400, request.reason)
    if isinstance(request, Ignored):
        logger.info("ignored: %s", request.reason)
        if request.respond_to:
            ports.messenger.whisper(request.respond_to, ELSEWHERE)
    return _http(200)


def _answer_click(click: Click, ports: Ports) -> dict[str, Any]:
    try:
        message = _record(click, ports)
    except RoundhouseError:
        logger.exception("click of %s on approval %s not recorded", click.user, click.approval_id)
        _whisper(click, NOT_RECORDED, ports)
        return _http(500, NOT_RECORDED)
    _whisper(click, message, ports)
    return _http(200)


def _record(click: Click, ports: Ports) -> str:
    """Write the answer unless there is one; returns what the person is told. The first conditional write wins."""
    messages = [UNKNOWN]

    def change(known: Approval) -> Approval:
        result = answer(known, click, ports.clock.now())
        messages.append(result.message)
        return result.approval

    try:
        approval = revise(ports.approvals, click.approval_id, change)
    except BadInput:
        logger.warning("click of %s on unknown approval %s", click.user, click.approval_id)
        return UNKNOWN
    who_when_what = (click.user, click.clicked_at.isoformat(), click.choice, click.approval_id, click.instance_id)
    logger.info("click: user %s at %s chose %s on approval %s for instance %s", *who_when_what)
    if approval.status is not ApprovalStatus.PENDING:
        # A second click lands here too, and so makes good an order to settle that was lost after the first.
        ports.settle.settle(approval.approval_id)
    return messages[-1]


def _whisper(click: Click, message: str, ports: Ports) -> None:
    if click.response_url:
        ports.messenger.whisper(click.response_url, message)


def _http(status: int, body: str = "") -> dict[str, Any]:
    return {"statusCode": status, "headers": {"content-type": "text/plain; charset=utf-8"}, "body": body}


def wire() -> Ports:
    """The ports of the deployed function."""
    from functions import runtime  # noqa: PLC0415 - tests of the logic need no AWS
    from functions.answer_slack.settings import Settings  # noqa: PLC0415

    return Ports(
        approvals=runtime.approvals(),
        settle=runtime.settle_queue(),
        messenger=runtime.messenger(),
        clock=runtime.clock(),
        wall_clock=runtime.wall_clock(),
        signing_secret=runtime.slack_secret().signing_secret,
        team=runtime.settings().policy().slack_team,
        app=Settings.from_env().app_id,
    )
