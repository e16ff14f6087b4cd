"""decide_repair: what to do about an incident now. Reads HyperPod; keeps incident and breaker; changes no node."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.repair import decide
from roundhouse.steps.repair.facts import Sources


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{incident_id}`. Answer: a decision, see `roundhouse.steps.repair.decide.plain`."""
    return decide.step(
        event["incident_id"],
        sources=Sources(
            reader=runtime.reader(),
            control=runtime.control(),
            ledger=runtime.ledger(),
            breaker=runtime.breaker(),
            policy=runtime.settings().policy(),
            incidents=runtime.incidents(),
        ),
        incidents=runtime.incidents(),
        outbox=runtime.outbox(),
        now=runtime.clock().now(),
    )
