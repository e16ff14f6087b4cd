"""intake_signals: every signal becomes at most one incident and one workflow. Reads HyperPod."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from functions import runtime
from roundhouse.contracts.names import HEALTH_SOURCE
from roundhouse.steps.intake import Intake, envelope_of
from roundhouse.steps.maintenance.hear import Hearing


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: a batch of the queue. Answer: `batchItemFailures`; a failed message comes again alone."""
    intake = Intake(
        reader=runtime.reader(),
        incidents=runtime.incidents(),
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
        incidents=runtime.incidents(),
        maintenances=runtime.maintenances(),
        approvals=runtime.approvals(),
        settle=runtime.settle_queue(),
        outbox=runtime.outbox(),
        workflows=runtime.workflows(),
        maintain_arn=runtime.require("MAINTAIN_ARN"),
        policy=intake.policy,
        now=intake.now,
    )

    def take(record: SQSRecord) -> None:
        envelope = envelope_of(record.body)
        for told in (hearing if envelope.get("source") == HEALTH_SOURCE else intake).take(envelope):
            runtime.logger.info(told, message_id=record.message_id)

    # A batch that fails whole answers like any other: the queue counts the tries and keeps the dead letters.
    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
    return dict(process_partial_response(event=event, record_handler=take, processor=processor, context=context))
