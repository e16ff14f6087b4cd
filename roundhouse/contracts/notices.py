"""Notices: what is to be told to people, before anybody knows how Slack draws it. Version 1. Standard library only.

A notice goes through the outbox queue: it is never lost, posted once, in order within its thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class NoticeKind(StrEnum):
    """What a notice says; the Slack adapter draws each kind."""

    RUN_STARTED = "run_started"
    RUN_PROGRESS = "run_progress"
    RUN_FINISHED = "run_finished"
    RUN_STOPPED = "run_stopped"
    INCIDENT_OPENED = "incident_opened"
    INCIDENT_STEP = "incident_step"
    INCIDENT_CLOSED = "incident_closed"
    APPROVAL_ASKED = "approval_asked"
    APPROVAL_SETTLED = "approval_settled"  # replaces the buttons of the question by the answer
    BREAKER_OPENED = "breaker_opened"
    BREAKER_CLOSED = "breaker_closed"
    CONTROLLER_LOST = "controller_lost"
    ANOTHER_REMEDIATOR = "another_remediator"
    MAINTENANCE = "maintenance"  # AWS has announced work on instances, moved it, or called it off
    DIFFERENCES = "differences"  # found by the reconciler, and only people can mend them
    PAUSED = "paused"
    RESUMED = "resumed"


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing to tell. `thread` is the key of a conversation (`run:<run id>`, `incident:<id>`, `breaker:<cluster>`);
    the first notice of a thread opens it. `notice_id` makes posting idempotent. `replaces` is the notice_id of an
    earlier message to be redrawn instead of posting a new one. `facts` are label → value, plain text, shown in order.
    `approval` (APPROVAL_ASKED only): `{"approval_id", "instance_id", "options": [[choice, label, style, confirm]…]}`.
    """

    notice_id: str
    thread: str
    kind: NoticeKind
    title: str
    text: str
    facts: dict[str, str] = field(default_factory=dict)
    approval: dict[str, object] | None = None
    replaces: str | None = None
    broadcast: bool = False  # also show the reply in the channel
