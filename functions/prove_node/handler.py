"""prove_node: is a node that came back fit to serve? Reads HyperPod, plan and run; keeps incident and breaker."""

from __future__ import annotations

from typing import Any

from functions import runtime
from roundhouse.steps.repair.prove import Prover, QuietTest


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: `{incident_id}`. Answer: see `roundhouse.steps.repair.prove.Prover.step`."""
    reader, policy = runtime.reader(), runtime.settings().policy()
    prover = Prover(
        reader=reader,
        control=runtime.control(),
        incidents=runtime.incidents(),
        surroundings=runtime.surroundings(),
        runs=runtime.runs(),
        breaker=runtime.breaker(),
        outbox=runtime.outbox(),
        test=QuietTest(reader, policy),
        policy=policy,
        spec=runtime.settings().cluster_spec(),
    )
    return prover.step(event["incident_id"], runtime.clock().now())
