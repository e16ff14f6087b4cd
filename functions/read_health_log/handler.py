"""read_health_log: records of HyperPod's health agent, from CloudWatch Logs into the intake queue. Judges nothing."""

from __future__ import annotations

import json
from typing import Any

from aws_lambda_powertools.utilities.data_classes import CloudWatchLogsEvent

from functions import runtime
from roundhouse.contracts import names
from roundhouse.triage import health_log


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: a CloudWatch Logs subscription's. The decoded payload goes on, in pieces, as details of our own envelopes.
    A second try sends all of them again, which intake is made for."""
    payload = CloudWatchLogsEvent(event).parse_logs_data().raw_event
    for piece in health_log.pieces(payload):
        envelope = {"source": names.LOG_SOURCE, "detail-type": names.LOG_FINDING, "detail": piece}
        runtime.intake_queue().put(json.dumps(envelope))
    return {"records": len(payload.get("logEvents", []))}
