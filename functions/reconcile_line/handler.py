"""reconcile_line: records and live state compared; each difference mended or shown. By schedule and deploys."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.metrics import MetricUnit

from functions import runtime
from roundhouse.steps.reconcile import Machines, Mender, Reading, reconcile


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: not looked at. Answer: see `roundhouse.steps.reconcile.reconcile`."""
    reading = Reading(
        reader=runtime.reader(),
        control=runtime.control(),
        incidents=runtime.incidents(),
        ledger=runtime.ledger(),
        approvals=runtime.approvals(),
        breaker=runtime.breaker(),
        runs=runtime.runs(),
        workflows=runtime.workflows(),
        machines=Machines(
            remediate=runtime.require("REMEDIATE_ARN"),
            maintain=runtime.require("MAINTAIN_ARN"),
            create=runtime.require("CREATE_ARN"),
        ),
        policy=runtime.settings().policy(),
        spec=runtime.settings().cluster_spec(),
    )
    mender = Mender(
        reading=reading,
        settle=runtime.settle_queue(),
        agent=runtime.agent_queue(),
        intake=runtime.intake_queue(),
        outbox=runtime.outbox(),
    )
    said = reconcile(reading, mender, runtime.clock().now())
    runtime.metrics.add_metric(name="ReconcileMended", unit=MetricUnit.Count, value=len(said["mended"]))
    runtime.metrics.add_metric(name="ReconcileShown", unit=MetricUnit.Count, value=len(said["shown"]))
    runtime.metrics.add_metric(name="ReconcileRuns", unit=MetricUnit.Count, value=1)
    return said
