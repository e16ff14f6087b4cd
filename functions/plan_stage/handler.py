"""plan_stage: what comes next in a creation. Reads HyperPod and the ledger; keeps the run."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.creation import plan
from roundhouse.steps.creation.site import Site


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{run_id}`. Answer: see `roundhouse.steps.creation.plan.plan`."""
    site = Site(
        reader=runtime.reader(),
        runs=runtime.runs(),
        ledger=runtime.ledger(),
        locks=runtime.locks(),
        spec=runtime.settings().cluster_spec(),
        now=runtime.clock().now(),
    )
    return plan.plan(event["run_id"], site, runtime.control())
