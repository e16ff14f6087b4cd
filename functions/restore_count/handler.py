"""restore_count: add a deleted node again, once: BatchAdd, or UpdateCluster on legacy. Keeps ledger and incident."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.repair.restore import Restorer


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{incident_id}`. Answer: see `roundhouse.steps.repair.restore.Restorer.step`."""
    restorer = Restorer(
        reader=runtime.reader(),
        writer=runtime.writer(),
        incidents=runtime.incidents(),
        ledger=runtime.ledger(),
        locks=runtime.locks(),
        spec=runtime.settings().cluster_spec(),
        policy=runtime.settings().policy(),
        now=runtime.clock().now(),
    )
    return restorer.step(event["incident_id"])
