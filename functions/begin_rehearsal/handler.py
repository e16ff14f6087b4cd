"""begin_rehearsal: CreateCluster of a throw-away cluster for its scripts. Reads S3; keeps ledger and rehearsal."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.rehearsal.begin import begin


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{rehearsal_id, turn, by}`. Answer: see `roundhouse.steps.rehearsal.begin.begin`."""
    return begin(
        event["rehearsal_id"],
        event["turn"],
        event["by"],
        reader=runtime.reader(),
        writer=runtime.writer(),
        surroundings=runtime.surroundings(),
        rehearsals=runtime.rehearsals(),
        ledger=runtime.ledger(),
        control=runtime.control(),
        outbox=runtime.outbox(),
        spec=runtime.settings().cluster_spec(),
        now=runtime.clock().now(),
    )
