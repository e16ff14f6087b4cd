"""intake_signals: every signal becomes at most one incident and one workflow. Reads HyperPod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from functions import runtime
from functions.batch import each_message
from roundhouse.contracts.names import HEALTH_SOURCE
from roundhouse.steps.maintenance.hear import Hearing
from roundhouse.steps.signals.intake import Intake, envelope_of
from roundhouse.steps.signals.remembered import RememberedIncidents


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: a batch of the queue. Answer: `batchItemFailures`; a failed message comes again alone."""
    incidents = RememberedIncidents(runtime.incidents())
    intake = Intake(
        reader=runtime.reader(),
        incidents=incidents,
        control=runtime.control(),
        breaker=runtime.breaker(),
        outbox=runtime.outbox(),
        workflows=runtime.workflows(),
        approvals=runtime.approvals(),
        settle=runtime.settle_queue(),
        remediate_arn=runtime.require("REMEDIATE_ARN"),
        policy=runtime.settings().policy(),
        now=runtime.clock().now(),
    )

    hearing = Hearing(
        reader=runtime.reader(),
        control=runtime.control(),
        incidents=incidents,
        maintenances=runtime.maintenances(),
        approvals=runtime.approvals(),
        settle=runtime.settle_queue(),
        outbox=runtime.outbox(),
        workflows=runtime.workflows(),
        maintain_arn=runtime.require("MAINTAIN_ARN"),
        policy=intake.policy,
        now=intake.now,
    )

    def take(record: Mapping[str, Any]) -> None:
        envelope = envelope_of(record["body"])
        again = int(record.get("attributes", {}).get("ApproximateReceiveCount", 2)) > 1
        taker = hearing if envelope.get("source") == HEALTH_SOURCE else intake
        heard = taker.take(envelope, again)
        for told in heard:
            runtime.logger.info(told, message_id=record["messageId"])

    return each_message(event, take)
