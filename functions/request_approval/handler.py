"""request_approval: put a question to people. Keeps the approval, the task token apart; queues the message."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.people.questions import People


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{kind: repair|discount, subject, decision, token}`. The task goes on when the token is answered."""
    people = People(
        approvals=runtime.approvals(),
        tokens=runtime.tokens(),
        incidents=runtime.incidents(),
        runs=runtime.runs(),
        outbox=runtime.outbox(),
        settle=runtime.settle_queue(),
        policy=runtime.settings().policy(),
        spec=runtime.settings().cluster_spec(),
    )
    return people.ask(event["kind"], event["subject"], event["decision"], event["token"], runtime.clock().now())
