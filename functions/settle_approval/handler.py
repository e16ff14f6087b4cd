"""SQS: a decided approval is re-read and its state machine answered. The only function that reads task tokens.

What to settle comes from the record, never from the message: whoever can write to the queue can at most cause a look.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roundhouse.errors import MalformedEvent, RoundhouseError, StoreFailure
from roundhouse.line.approval import Approval, ApprovalStatus
from roundhouse.ports import ApprovalStore, Outbox, TokenStore, Workflows
from roundhouse.steps.people.ask import settled
from roundhouse.steps.words import incident_thread, run_thread

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ports:
    """What settling needs."""

    approvals: ApprovalStore
    tokens: TokenStore
    workflows: Workflows
    outbox: Outbox


def handle(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Lambda entry point: a batch of the settle queue."""
    return settle_batch(event, wire())


def settle_batch(event: Mapping[str, Any], ports: Ports) -> dict[str, Any]:
    """Settle each message; those that failed are reported and come again alone."""
    failures = []
    for record in event["Records"]:
        try:
            settle(_approval_id(record["body"]), ports)
        except RoundhouseError:
            logger.exception("message %s of the settle queue failed", record["messageId"])
            failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}


def settle(approval_id: str, ports: Ports) -> None:
    """Answer the state machine that waits for this approval and tell people. Any number of times: once in effect.

    Raises StoreFailure while the approval or its token is not (yet) stored, AwsFailure when a call fails.
    """
    approval = ports.approvals.get(approval_id)
    if approval is None:
        raise StoreFailure(f"approval {approval_id!r} is not stored: it cannot be settled")
    if approval.status is ApprovalStatus.PENDING:
        logger.info("approval %s is not decided: nothing to settle", approval_id)
        return
    token = ports.tokens.token(approval_id)
    if token is None and approval.status is ApprovalStatus.DECIDED:
        raise StoreFailure(f"approval {approval_id!r} is decided but its task token is not stored yet")
    if token is not None:
        answered = ports.workflows.succeed(token, {"approval_id": approval_id, "choice": approval.choice})
        logger.info("approval %s: %s", approval_id, "passed on" if answered else "its task is gone, so settled before")
    ports.outbox.tell(settled(approval, _thread(approval)))


def _thread(approval: Approval) -> str:
    return run_thread(approval.subject) if approval.kind == "discount" else incident_thread(approval.subject)


def _approval_id(body: str) -> str:
    try:
        approval_id = json.loads(body)["approval_id"]
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedEvent(f"not a message for the settle queue: {error!r} in {body[:200]!r}") from error
    if not isinstance(approval_id, str) or not approval_id:
        raise MalformedEvent(f"approval_id is {approval_id!r} in {body[:200]!r}: a non-empty string is expected")
    return approval_id


def wire() -> Ports:
    """The ports of the deployed function."""
    from functions import runtime  # noqa: PLC0415 - tests of the logic need no AWS

    return Ports(runtime.approvals(), runtime.tokens(), runtime.workflows(), runtime.outbox())
