"""finish_run: how a creation ended and what it costs. Reads HyperPod; keeps the run."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.creation import finish


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{run_id, result}`. Answer: see `roundhouse.steps.creation.finish.finish`."""
    return finish.finish(
        event["run_id"],
        event["result"],
        reader=runtime.reader(),
        runs=runtime.runs(),
        outbox=runtime.outbox(),
        spec=runtime.settings().cluster_spec(),
        now=runtime.clock().now(),
    )
