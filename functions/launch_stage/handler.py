"""launch_stage: CreateCluster or BatchAddClusterNodes, as live counts ask for. Keeps ledger and run."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.creation import launch
from roundhouse.steps.creation.site import Works


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{run_id}`. Answer: see `roundhouse.steps.creation.launch.launch`."""
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
    return launch.launch(event["run_id"], works)
