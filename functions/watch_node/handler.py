"""watch_node: where a repaired node is now. Reads HyperPod; keeps incident and ledger."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.repair import watch
from roundhouse.steps.repair.facts import Sources


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{incident_id}`. Answer: see `roundhouse.steps.repair.watch.watch`."""
    return watch.watch(
        event["incident_id"],
        sources=Sources(
            reader=runtime.reader(),
            control=runtime.control(),
            ledger=runtime.ledger(),
            breaker=runtime.breaker(),
            policy=runtime.settings().policy(),
        ),
        incidents=runtime.incidents(),
        ledger=runtime.ledger(),
        now=runtime.clock().now(),
    )
