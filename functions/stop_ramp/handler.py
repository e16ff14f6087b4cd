"""stop_ramp: cancel what is pending. Calls BatchDeleteClusterNodes; keeps ledger and run."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.creation import stop
from roundhouse.steps.creation.site import Works


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{run_id, reason}`, the reason as watch_stage gave it. Answer: see `steps.creation.stop.stop_ramp`."""
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
    return stop.stop_ramp(event["run_id"], event["reason"], works)
