"""close_incident: how an incident ended, in the record, the breaker and Slack. Changes no node."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps import look
from roundhouse.steps.repair import close


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{incident_id, result}`. Answer: `{status: closed, outcome, reason}`."""
    policy, now = runtime.settings().policy(), runtime.clock().now()
    return close.step(
        event["incident_id"],
        event["result"],
        incidents=runtime.incidents(),
        breaker=runtime.breaker(),
        outbox=runtime.outbox(),
        cluster=look.live(runtime.reader(), runtime.control(), policy, now),
        policy=policy,
        now=now,
    )
