"""restore_count: add a deleted node again, once. Calls BatchAddClusterNodes; keeps ledger and incident."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps import watch


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{incident_id}`. Answer: see `roundhouse.steps.watch.restore`."""
    return watch.restore(
        event["incident_id"],
        reader=runtime.reader(),
        writer=runtime.writer(),
        incidents=runtime.incidents(),
        ledger=runtime.ledger(),
        spec=runtime.settings().cluster_spec(),
        policy=runtime.settings().policy(),
        now=runtime.clock().now(),
    )
