"""watch_stage: one look at the stage under way and its discount. Reads HyperPod, plan, bill; keeps the run."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps import stage


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{run_id}`. Answer: see `roundhouse.steps.stage.watch`."""
    return stage.watch(
        event["run_id"],
        reader=runtime.reader(),
        surroundings=runtime.surroundings(),
        runs=runtime.runs(),
        ledger=runtime.ledger(),
        outbox=runtime.outbox(),
        spec=runtime.settings().cluster_spec(),
        now=runtime.clock().now(),
    )
