"""act_on_node: one call to HyperPod for one instance, claimed first. Keeps ledger, incident and breaker."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.repair.act import Actor
from roundhouse.steps.repair.facts import Sources


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{incident_id, decision}`. Answer: see `roundhouse.steps.repair.act.Actor.step`."""
    actor = Actor(
        sources=Sources(
            reader=runtime.reader(),
            control=runtime.control(),
            ledger=runtime.ledger(),
            breaker=runtime.breaker(),
            policy=runtime.settings().policy(),
            incidents=runtime.incidents(),
        ),
        incidents=runtime.incidents(),
        ledger=runtime.ledger(),
        breaker=runtime.breaker(),
        approvals=runtime.approvals(),
        writer=runtime.writer(),
        outbox=runtime.outbox(),
    )
    return actor.step(event["incident_id"], event["decision"], runtime.clock().now())
