"""plan_stage: what comes next in a creation. Reads HyperPod and the ledger; keeps the run."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps import launch


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{run_id}`. Answer: see `roundhouse.steps.launch.plan`."""
    return launch.plan(
        event["run_id"],
        reader=runtime.reader(),
        runs=runtime.runs(),
        ledger=runtime.ledger(),
        control=runtime.control(),
        spec=runtime.settings().cluster_spec(),
        now=runtime.clock().now(),
    )
