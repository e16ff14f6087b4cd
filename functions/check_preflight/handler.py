"""check_preflight: everything that can be known before money is spent. Reads the account; keeps the run."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps import preflight


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{run_id}`. Answer: see `roundhouse.steps.preflight.preflight`."""
    return preflight.preflight(
        event["run_id"],
        reader=runtime.reader(),
        surroundings=runtime.surroundings(),
        runs=runtime.runs(),
        control=runtime.control(),
        outbox=runtime.outbox(),
        spec=runtime.settings().cluster_spec(),
        now=runtime.clock().now(),
    )
