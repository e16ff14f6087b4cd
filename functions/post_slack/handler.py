"""SQS FIFO: notices are posted to Slack one by one, in order within a thread, each once.

Slack away or out of patience: this message and all after it wait, as long as Slack says or ever longer. A message that
Slack can never take goes to the dead-letter queue alone, and quickly, so that its thread goes on.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from roundhouse import codec
from roundhouse.contracts.notices import Notice
from roundhouse.errors import AwsFailure, BadInput, NewerContract, RoundhouseError, SlackRateLimited, SlackRejected
from roundhouse.ports import Messenger, QueueLease, ThreadStore
from roundhouse.slack.posting import deliver, is_message_fault

logger = logging.getLogger(__name__)

FIRST_WAIT_S, LONGEST_WAIT_S = 15.0, 900.0
HOPELESS_WAIT_S = 1.0  # between the last tries of a message that Slack cannot take


@dataclass(frozen=True, slots=True)
class Ports:
    """What posting needs. `channel` is an id: names do for posting, not for redrawing. `count` adds one to a metric."""

    messenger: Messenger
    threads: ThreadStore
    lease: QueueLease
    channel: str
    count: Callable[[str], None]
    jitter: Callable[[], float] = lambda: random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


def handle(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Lambda entry point: a batch of the outbox queue."""
    from functions import runtime  # noqa: PLC0415 - tests of the logic need no AWS

    try:
        return post_batch(event, wire())
    finally:
        runtime.metrics.flush_metrics()


def post_batch(event: Mapping[str, Any], ports: Ports) -> dict[str, Any]:
    """Post each notice. Those to come again are reported; after one that must wait, all the rest are."""
    failed: list[str] = []
    held: dict[str | None, float] = {}
    wait: float | None = None
    for record in event["Records"]:
        alone, thread = None, record.get("attributes", {}).get("MessageGroupId")
        if wait is None:
            wait, alone = (None, held[thread]) if thread in held else _post(record, ports)
        if wait is not None or alone is not None:
            failed.append(record["messageId"])
            _hold(record, alone or 0.0 if wait is None else wait, ports)
            if alone is not None and alone != HOPELESS_WAIT_S:
                held[thread] = alone  # the rest of the thread stays behind it, in order
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _post(record: Mapping[str, Any], ports: Ports) -> tuple[float | None, float | None]:
    """Post one: seconds that everything must wait, or that this one alone must; None, None when it is done."""
    attempt = int(record.get("attributes", {}).get("ApproximateReceiveCount", 1))
    try:
        notice = codec.from_json(Notice, record["body"])
        done = deliver(notice, ports.messenger, ports.threads, ports.channel, attempt)
    except SlackRateLimited as error:
        ports.count("SlackRateLimited")
        logger.warning("%s", error)
        return (_back_off(attempt, ports) if error.retry_after is None else error.retry_after), None
    except NewerContract as error:  # while a deployment is under way; the rest of its thread waits behind it
        logger.warning("message %s waits for newer code, try %d: %s", record["messageId"], attempt, error)
        return None, _back_off(attempt, ports)
    except BadInput:
        ports.count("SlackMessageHopeless")
        logger.exception(
            "message %s is no notice that can be drawn: on its way to the dead letters", record["messageId"]
        )
        return None, HOPELESS_WAIT_S
    except RoundhouseError as error:
        if isinstance(error, SlackRejected):
            ports.count("SlackRejected")
            if is_message_fault(error):
                ports.count("SlackMessageHopeless")
                logger.exception("Slack cannot take message %s: on its way to the dead letters", record["messageId"])
                return None, HOPELESS_WAIT_S
        else:
            ports.count("SlackUnavailable")
        logger.exception("message %s waits, try %d", record["messageId"], attempt)
        return _back_off(attempt, ports), None
    logger.info("notice %s: %s", notice.notice_id, done)
    return None, None


def _back_off(attempt: int, ports: Ports) -> float:
    return float(min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(attempt - 1, 10)) * ports.jitter())


def _hold(record: Mapping[str, Any], seconds: float, ports: Ports) -> None:
    """Let a message come back in `seconds`. If that fails it comes back when the queue thinks fit: no harm."""
    try:
        ports.lease.extend(record["receiptHandle"], min(seconds, LONGEST_WAIT_S))
    except (AwsFailure, KeyError) as error:
        logger.warning("message %s keeps the queue's own time-out: %r", record["messageId"], error)


def wire() -> Ports:
    """The ports of the deployed function."""
    from functions import runtime  # noqa: PLC0415
    from functions.post_slack.settings import Settings  # noqa: PLC0415

    return Ports(
        messenger=runtime.messenger(),
        threads=runtime.threads(),
        lease=runtime.lease(Settings.from_env().outbox_queue_url),
        channel=runtime.settings().policy().slack_channel,
        count=lambda name: runtime.metrics.add_metric(name=name, unit="Count", value=1),
    )
