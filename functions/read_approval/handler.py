"""read_approval: what was answered, by the stored record alone. Keeps approval, incident and run."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.people.questions import Reading


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{kind, subject, decision}`. Answer: see `roundhouse.steps.people.questions.Reading.read`."""
    reading = Reading(
        approvals=runtime.approvals(),
        incidents=runtime.incidents(),
        runs=runtime.runs(),
        threads=runtime.threads(),
        outbox=runtime.outbox(),
        spec=runtime.settings().cluster_spec(),
    )
    return reading.read(event["kind"], event["subject"], event["decision"], runtime.clock().now())
