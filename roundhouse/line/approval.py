"""Approval: a question to people, answered at most once. Pure.

An approval belongs to one instance id (a repair) or one creation run (a lost discount). The task token is kept
elsewhere: nothing here, and nothing in Slack, can answer the state machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


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
