"""mind_window: where a node stands before, in and after AWS's maintenance. Reads HyperPod; keeps incidents."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.maintenance.gather import Gathering
from roundhouse.steps.maintenance.mind import Minder
from roundhouse.steps.repair.prove import QuietTest


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{incident_id}`. Answer: see `roundhouse.steps.maintenance.mind.Minder.step`."""
    reader, policy = runtime.reader(), runtime.settings().policy()
    minder = Minder(
        gathering=Gathering(
            reader=reader,
            control=runtime.control(),
            incidents=runtime.incidents(),
            maintenances=runtime.maintenances(),
            approvals=runtime.approvals(),
            breaker=runtime.breaker(),
            policy=policy,
        ),
        incidents=runtime.incidents(),
        breaker=runtime.breaker(),
        outbox=runtime.outbox(),
        test=QuietTest(reader, policy),
        policy=policy,
    )
    return minder.step(event["incident_id"], runtime.clock().now())
