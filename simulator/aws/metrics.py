"""Metrics that AWS makes by itself: embedded metric format in Lambda logs, queue depths, execution results, deliveries.

Adds to MiniStack, which makes Lambda's own metrics only. All at virtual time.
"""

import json
import logging
import time
from collections.abc import Iterator
from typing import Any

logger = logging.getLogger("simulator.metrics")

EXECUTION_METRICS = {
    "RUNNING": "ExecutionsStarted",
    "SUCCEEDED": "ExecutionsSucceeded",
    "FAILED": "ExecutionsFailed",
    "TIMED_OUT": "ExecutionsTimedOut",
    "ABORTED": "ExecutionsAborted",
}

Datum = tuple[str, str, float, str, dict[str, str]]
"""Namespace, metric name, value, unit, dimensions."""


def embedded(line: str) -> Iterator[Datum]:
    """The metrics in one log line in CloudWatch's embedded metric format; none if it is an ordinary line."""
    if not line.startswith("{") or '"_aws"' not in line:
        return
    try:
        record = json.loads(line)
        directives = record["_aws"]["CloudWatchMetrics"]
    except (ValueError, KeyError, TypeError):
        return
    for directive in directives:
        for names in directive.get("Dimensions") or [[]]:
            dimensions = {name: str(record[name]) for name in names if name in record}
            for metric in directive.get("Metrics") or []:
                value = record.get(metric["Name"])
                for each in value if isinstance(value, list) else [value]:
                    if isinstance(each, int | float) and not isinstance(each, bool):
                        unit = metric.get("Unit", "None")
                        yield directive["Namespace"], metric["Name"], float(each), unit, dimensions


def install() -> None:
    """Turn log lines and execution results into metrics."""
    from ministack.services import cloudwatch, lambda_svc, stepfunctions

    emit_logs, emit_status = lambda_svc._emit_lambda_logs, stepfunctions._emit_execution_status_event

    def emit_lambda_logs(
        func: Any, request_id: str, log_text: str, error: bool, duration_ms: int, *, log_source: str | None = None
    ) -> None:
        emit_logs(func, request_id, log_text, error, duration_ms, log_source=log_source)
        for line in log_text.splitlines():
            for datum in embedded(line):
                cloudwatch.record_metric(*datum)

    def emit_execution_status(execution: dict[str, Any]) -> None:
        emit_status(execution)
        if name := EXECUTION_METRICS.get(execution["status"]):
            machine = {"StateMachineArn": execution["stateMachineArn"]}
            cloudwatch.record_metric("AWS/States", name, 1, "Count", machine)

    lambda_svc._emit_lambda_logs = emit_lambda_logs
    stepfunctions._emit_execution_status_event = emit_execution_status


def count_delivery_failure(rule: dict[str, Any], buried: bool) -> None:
    """A rule could not deliver; `buried` says whether its dead-letter queue took the event."""
    from ministack.services import cloudwatch

    dimensions = {"RuleName": rule.get("Name", "")}
    cloudwatch.record_metric("AWS/Events", "FailedInvocations", 1, "Count", dimensions)
    if buried:
        cloudwatch.record_metric("AWS/Events", "InvocationsSentToDlq", 1, "Count", dimensions)


def record_queues() -> None:
    """Depth and age of every queue of the current account, as SQS reports them."""
    from ministack.services import cloudwatch, sqs

    now = time.time()  # SQS itself runs in real time
    for queue in list(sqs._queues.values()):
        dimensions = {"QueueName": queue["name"]}
        waiting = list(queue["messages"])
        visible = sum(message["visible_at"] <= now for message in waiting)
        oldest = max((now - message["sent_at"] for message in waiting), default=0.0)
        for name, value, unit in (
            ("ApproximateNumberOfMessagesVisible", visible, "Count"),
            ("ApproximateNumberOfMessagesNotVisible", len(waiting) - visible, "Count"),
            ("ApproximateAgeOfOldestMessage", oldest, "Seconds"),
        ):
            cloudwatch.record_metric("AWS/SQS", name, value, unit, dimensions)
