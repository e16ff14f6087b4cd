"""end_rehearsal: DeleteCluster of what a rehearsal made, and of nothing else. Keeps ledger and rehearsal."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.rehearsal.end import end
from roundhouse.steps.rehearsal.tidy import tidy


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{rehearsal_id, turn, cause, cluster}`, see `roundhouse.steps.rehearsal.end.end`; or, without an id, the
    schedule's: what was left over is looked for, see `roundhouse.steps.rehearsal.tidy.tidy`."""
    shared: dict[str, Any] = {
        "reader": runtime.reader(),
        "writer": runtime.writer(),
        "rehearsals": runtime.rehearsals(),
        "ledger": runtime.ledger(),
        "outbox": runtime.outbox(),
        "spec": runtime.settings().cluster_spec(),
        "now": runtime.clock().now(),
    }
    if "rehearsal_id" not in event:
        return tidy(**shared)
    return end(event["rehearsal_id"], event["turn"], event["cause"], event["cluster"], **shared)
