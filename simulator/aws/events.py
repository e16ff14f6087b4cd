"""EventBridge and CloudWatch Logs at virtual time, and the way in for what AWS itself emits.

Replaces a few functions of MiniStack's EventBridge: the clock, PutEvents with a Time, and deliveries that fail (they go
to the target's dead-letter queue). A target's resource policy must let EventBridge in, as in the cloud.
"""

import contextvars
import json
import logging
import queue
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

from simulator.aws import metrics, policies
from simulator.aws.settings import Settings

logger = logging.getLogger("simulator.events")

SCHEDULE_TICK = 0.25
"""Real seconds between looks at the scheduled rules; a rule fires at most once a look, however fast the clock."""

_event_time: contextvars.ContextVar[float | None] = contextvars.ContextVar("event_time", default=None)


class LiveSignals:
    """The launcher's `Signals`: delivers events and log records in order from one thread of its own."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._queue: queue.Queue[Callable[[], None]] = queue.Queue()
        threading.Thread(target=self._run, daemon=True, name="signals").start()

    def event(
        self, *, source: str, detail_type: str, detail: dict[str, Any], resources: list[str], time: datetime
    ) -> None:
        """Put an event on the default bus with virtual `time`; sources 'aws.*' are allowed."""
        entry = {
            "Source": source,
            "DetailType": detail_type,
            "Detail": json.dumps(detail),
            "Resources": list(resources),
        }
        self._queue.put(lambda: self._event(entry, time))

    def log(self, *, group: str, stream: str, message: str, time: datetime) -> None:
        """Append one log record; its group and stream are made if absent, subscription filters fire."""
        self._queue.put(lambda: self._log(group, stream, message, time))

    def _run(self) -> None:
        as_account(self._settings)
        while True:
            deliver = self._queue.get()
            try:
                deliver()
            except Exception:
                logger.exception("a signal was lost")

    def _event(self, entry: dict[str, Any], time: datetime) -> None:
        from ministack.services import eventbridge

        token = _event_time.set(time.timestamp())
        try:
            status, _, body = eventbridge._put_events({"Entries": [entry]}, allow_aws_source=True)
        finally:
            _event_time.reset(token)
        if status != 200 or json.loads(body).get("FailedEntryCount"):
            raise RuntimeError(f"event refused: {body!r}")

    def _log(self, group: str, stream: str, message: str, time: datetime) -> None:
        from ministack.services import cloudwatch_logs as logs

        if group not in logs._log_groups:
            logs._create_log_group({"logGroupName": group})
        if stream not in logs._log_groups[group]["streams"]:
            logs._create_log_stream({"logGroupName": group, "logStreamName": stream})
        record = {"timestamp": int(time.timestamp() * 1000), "message": message}
        logs._put_log_events({"logGroupName": group, "logStreamName": stream, "logEvents": [record]})


def as_account(settings: Settings) -> None:
    """Let the calling thread act in the run's account and region, as a request does."""
    from ministack.core import responses

    responses.set_request_account_id(settings.account)
    responses.set_request_region(settings.region)


def install(settings: Settings) -> None:
    """Put EventBridge on the virtual clock and give failed deliveries their dead-letter queue."""
    from ministack.services import eventbridge, lambda_svc

    put_events, invoke_target = eventbridge._put_events, eventbridge._invoke_target

    def now() -> float:
        given = _event_time.get()
        return settings.clock.timestamp() if given is None else given

    def put_events_at_their_time(data: dict[str, Any], allow_aws_source: bool = False) -> Any:
        entries = data.get("Entries") or []
        if len(entries) > 10 or not any("Time" in entry for entry in entries):
            return put_events(data, allow_aws_source)
        results: list[dict[str, Any]] = []
        reply = put_events({"Entries": []}, allow_aws_source)
        for entry in entries:
            token = _event_time.set(_epoch(entry["Time"]) if "Time" in entry else None)
            try:
                reply = put_events({"Entries": [entry]}, allow_aws_source)
            finally:
                _event_time.reset(token)
            results += json.loads(reply[2])["Entries"]
        failed = sum("ErrorCode" in result for result in results)
        return reply[0], reply[1], json.dumps({"FailedEntryCount": failed, "Entries": results}).encode()

    def invoke_or_bury(target: dict[str, Any], event: dict[str, Any], rule: dict[str, Any], view: Any = None) -> None:
        refusal = policies.event_target_refusal(target.get("Arn", ""), rule.get("Arn", ""), settings)
        if refusal is None:
            invoke_target(target, event, rule, view)
            return
        code, message = refusal
        logger.warning("rule %s could not deliver to %s: %s", rule.get("Name"), target.get("Arn"), message)
        metrics.count_delivery_failure(rule, buried="DeadLetterConfig" in target)
        if dead_letters := (target.get("DeadLetterConfig") or {}).get("Arn"):
            view = view or eventbridge._pattern_event_view(event)
            _bury(dead_letters, json.dumps(view.event_with_detail()), rule, target, code, message)

    def dispatch_to_lambda(arn: str, payload: str) -> None:
        func, config, _ = lambda_svc._get_func_record_for_ref(arn)
        record = lambda_svc._execution_record_for_config(func, config)
        lambda_svc.invoke_async_with_retry(record, json.loads(payload))

    eventbridge._dispatch_to_lambda = dispatch_to_lambda
    eventbridge._now_ts = now
    eventbridge._put_events = put_events_at_their_time
    eventbridge._invoke_target = invoke_or_bury
    eventbridge._SCHEDULER_TICK_INTERVAL = SCHEDULE_TICK


def _bury(queue_arn: str, payload: str, rule: dict[str, Any], target: dict[str, Any], code: str, why: str) -> None:
    from ministack.core.arn import parse_arn
    from ministack.services import eventbridge, sqs

    found = sqs._queue_by_arn(queue_arn)
    if not found:
        logger.error("dead-letter queue %s of rule %s does not exist", queue_arn, rule.get("Name"))
        return
    eventbridge._dispatch_to_sqs(parse_arn(queue_arn), payload, target.get("SqsParameters") or {})
    attributes = {
        "RULE_ARN": rule.get("Arn", ""),
        "TARGET_ARN": target.get("Arn", ""),
        "ERROR_CODE": code,
        "ERROR_MESSAGE": why,
        "EXHAUSTED_RETRY_CONDITION": "MaximumRetryAttempts",
        "RETRY_ATTEMPTS": "0",
    }
    found["messages"][-1]["message_attributes"] = {
        name: {"DataType": "String", "StringValue": value} for name, value in attributes.items() if value
    }


def _epoch(value: Any) -> float:
    if isinstance(value, int | float):
        return float(value)
    return datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp()
