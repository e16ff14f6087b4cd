"""roll_back: delete the unverified nodes, or the whole cluster. Keeps ledger and run; never touches storage."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.creation import stop
from roundhouse.steps.creation.site import Works


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{run_id, why}`. Answer: see `roundhouse.steps.creation.stop.roll_back`."""
    works = Works(
        reader=runtime.reader(),
        writer=runtime.writer(),
        runs=runtime.runs(),
        ledger=runtime.ledger(),
        locks=runtime.locks(),
        outbox=runtime.outbox(),
        spec=runtime.settings().cluster_spec(),
        now=runtime.clock().now(),
    )
    return stop.roll_back(event["run_id"], event.get("why") or {}, works)  # none from older definitions
