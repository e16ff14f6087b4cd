"""watch_rehearsal: one look at a rehearsal's throw-away cluster. Reads HyperPod and S3; keeps the rehearsal."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.rehearsal.look import look


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{rehearsal_id}`. Answer: see `roundhouse.steps.rehearsal.look.look`."""
    return look(
        event["rehearsal_id"],
        reader=runtime.reader(),
        surroundings=runtime.surroundings(),
        rehearsals=runtime.rehearsals(),
        ledger=runtime.ledger(),
        spec=runtime.settings().cluster_spec(),
        now=runtime.clock().now(),
    )
