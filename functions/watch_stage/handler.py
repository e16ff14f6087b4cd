"""watch_stage: one look at the stage under way and its discount. Reads HyperPod, plan, bill; keeps the run."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.creation import stage
from roundhouse.steps.creation.site import Site


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{run_id}`. Answer: see `roundhouse.steps.creation.stage.watch`."""
    site = Site(
        reader=runtime.reader(),
        runs=runtime.runs(),
        ledger=runtime.ledger(),
        locks=runtime.locks(),
        spec=runtime.settings().cluster_spec(),
        now=runtime.clock().now(),
    )
    return stage.watch(event["run_id"], site, runtime.surroundings(), runtime.outbox())
