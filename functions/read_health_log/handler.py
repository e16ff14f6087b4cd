"""read_health_log: records of HyperPod's health agent, from CloudWatch Logs into the intake queue. Judges nothing."""

from __future__ import annotations

import json
from typing import Any

from aws_lambda_powertools.utilities.data_classes import CloudWatchLogsEvent

from functions import runtime
from roundhouse.contracts import names


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: a CloudWatch Logs subscription's. The decoded payload goes on as the detail of an envelope of our own."""
    payload = CloudWatchLogsEvent(event).parse_logs_data().raw_event
    envelope = {"source": names.LOG_SOURCE, "detail-type": names.LOG_FINDING, "detail": payload}
    runtime.intake_queue().put(json.dumps(envelope))
    return {"records": len(payload.get("logEvents", []))}
