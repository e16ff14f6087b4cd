"""Approval: a question to people, answered at most once. Pure.

An approval belongs to one instance id (a repair) or one creation run (a lost discount). The task token is kept
elsewhere: nothing here, and nothing in Slack, can answer the state machine.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

GONE = "what this was about is gone"
NEWS_LAG = timedelta(minutes=10)  # what happened so long before a question is in the live state that it was asked on
MOST_WHY = 300


class ApprovalStatus(StrEnum):
    PENDING = "pending"
    DECIDED = "decided"
    EXPIRED = "expired"
    OUTDATED = "outdated"  # what it was about is gone (other instance, incident closed)


@dataclass(frozen=True, slots=True)
class Option:
    """One button. `choice` is machine-readable (`approve`, `deny`, `roll_back`, `hold`, `accept`)."""

    choice: str
    label: str
    style: str = ""  # "", "primary" or "danger"
    confirm: str = ""  # a question asked before the click counts


@dataclass(frozen=True, slots=True)
class Approval:
    """One question. `subject` is an incident id or a run id; `on_silence` is the choice taken at `expires_at`."""

    approval_id: str
    kind: str  # repair | discount
    cluster: str
    subject: str
    question: str
    options: tuple[Option, ...]
    on_silence: str
    asked_at: datetime
    expires_at: datetime
    approvers: tuple[str, ...]  # Slack user ids who may answer
    instance_id: str | None = None
    rung: str | None = None
    status: ApprovalStatus = ApprovalStatus.PENDING
    choice: str | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None
    why: str = ""  # why it was taken back (OUTDATED)
    version: int = 0


@dataclass(frozen=True, slots=True)
class Click:
    """A verified button click. `user` is a Slack user id; `instance_id` is what the button was drawn for."""

    approval_id: str
    choice: str
    user: str
    clicked_at: datetime
    instance_id: str | None = None
    response_url: str | None = None


class AnswerOutcome(StrEnum):
    """What became of a click."""

    DECIDED = "decided"
    ALREADY_DECIDED = "already_decided"
    EXPIRED = "expired"
    NOT_ALLOWED = "not_allowed"
    OUTDATED = "outdated"
    WRONG_INSTANCE = "wrong_instance"
    UNKNOWN_CHOICE = "unknown_choice"


@dataclass(frozen=True, slots=True)
class Answer:
    """The approval as it is to be stored (the very same object when nothing changed), and what to tell the person."""

    outcome: AnswerOutcome
    approval: Approval
    message: str


def approval_id(subject: str, rung: str, instance_id: str, attempt: int = 1) -> str:
    """Deterministic and short, so that a retried task asks once: `apr-` + 16 hex digits.

    >>> approval_id("inc-1-1", "replace", "i-0123456789abcdef0")
    'apr-a9a75c7eedd6c662'
    """
    return "apr-" + hashlib.sha256(f"{subject}\n{rung}\n{instance_id}\n{attempt}".encode()).hexdigest()[:16]


def answer(approval: Approval, click: Click, now: datetime, behind: str | None = None) -> Answer:
    """Apply a verified click. Nothing but DECIDED changes what will be done.

    `behind` is the instance that live state shows behind the node, where the caller has read it. A person who may not
    answer learns nothing about the question's state.
    """
    if click.user not in approval.approvers:
        return Answer(AnswerOutcome.NOT_ALLOWED, approval, "You are not among those who may answer this.")
    match approval.status:
        case ApprovalStatus.DECIDED:
            return Answer(AnswerOutcome.ALREADY_DECIDED, approval, f"Already decided: {_decided(approval)}.")
        case ApprovalStatus.EXPIRED:
            return Answer(
                AnswerOutcome.EXPIRED, approval, f"Too late: nobody answered in time, so: {_decided(approval)}."
            )
        case ApprovalStatus.OUTDATED:
            return Answer(AnswerOutcome.OUTDATED, approval, f"Outdated: {approval.why or GONE}. Nothing was done.")
        case ApprovalStatus.PENDING:
            pass
    if behind is not None and approval.instance_id is not None and behind != approval.instance_id:
        message = f"Outdated: asked for {approval.instance_id}, and {behind} stands there now. Nothing was done."
        return Answer(
            AnswerOutcome.OUTDATED, replace(approval, status=ApprovalStatus.OUTDATED, decided_at=now), message
        )
    if now >= approval.expires_at or click.clicked_at >= approval.expires_at:
        late = expire(approval, max(now, approval.expires_at))
        return Answer(AnswerOutcome.EXPIRED, late, f"Too late: nobody answered in time, so: {_decided(late)}.")
    if click.instance_id is not None and click.instance_id != approval.instance_id:
        message = f"This button was for {click.instance_id}; the question is about {approval.instance_id}."
        return Answer(AnswerOutcome.WRONG_INSTANCE, approval, message)
    if click.choice not in {option.choice for option in approval.options}:
        return Answer(AnswerOutcome.UNKNOWN_CHOICE, approval, f"{click.choice[:40]!r} is not one of the answers.")
    decided = replace(
        approval, status=ApprovalStatus.DECIDED, choice=click.choice, decided_by=click.user, decided_at=now
    )
    return Answer(AnswerOutcome.DECIDED, decided, f"Noted: {_decided(decided)}.")


def expire(approval: Approval, now: datetime) -> Approval:
    """Nobody answered in time: the choice that silence stands for. Earlier, or settled: unchanged."""
    if approval.status is not ApprovalStatus.PENDING or now < approval.expires_at:
        return approval
    return replace(approval, status=ApprovalStatus.EXPIRED, choice=approval.on_silence, decided_by=None, decided_at=now)


def outdate(approval: Approval, now: datetime, why: str = "", said_at: datetime | None = None) -> Approval:
    """What it was about is gone, or somebody else acted meanwhile: it can no longer be answered. Settled: unchanged.

    `said_at` is when the news happened that speak against it. News from well before the question change nothing: it
    was asked on live state that showed them.
    """
    if approval.status is not ApprovalStatus.PENDING:
        return approval
    if said_at is not None and said_at < approval.asked_at - NEWS_LAG:
        return approval
    return replace(approval, status=ApprovalStatus.OUTDATED, decided_at=now, why=why[:MOST_WHY])


def _decided(approval: Approval) -> str:
    label = next((o.label for o in approval.options if o.choice == approval.choice), approval.choice or "nothing")
    return f"{label}, by {approval.decided_by}" if approval.decided_by else label
