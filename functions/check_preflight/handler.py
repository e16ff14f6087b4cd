"""check_preflight: everything that can be known before money is spent. Reads the account; keeps the run."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.build.rehearsal import Unrehearsed
from roundhouse.steps.creation import preflight


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{run_id, unrehearsed: {why, by} | null}`. Answer: see `roundhouse.steps.creation.preflight.preflight`."""
    without = event.get("unrehearsed")
    return preflight.preflight(
        event["run_id"],
        Unrehearsed(str(without["why"]), str(without["by"])) if without else None,
        reader=runtime.reader(),
        surroundings=runtime.surroundings(),
        runs=runtime.runs(),
        rehearsals=runtime.rehearsals(),
        control=runtime.control(),
        outbox=runtime.outbox(),
        spec=runtime.settings().cluster_spec(),
        now=runtime.clock().now(),
    )
