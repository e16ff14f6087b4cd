"""Asking people: the question is stored and queued for Slack, the task token kept apart. Ports only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import ConditionFailed
from roundhouse.line.approval import GONE, Approval, ApprovalStatus
from roundhouse.ports import ApprovalStore, Outbox, SettleQueue, TokenStore
from roundhouse.steps.revise import revise


def question_notice_id(approval_id: str) -> str:
    """The notice that carries the buttons of an approval."""
    return f"ask:{approval_id}"


def ask(
    approval: Approval,
    thread: str,
    facts: dict[str, str],
    token: str,
    *,
    approvals: ApprovalStore,
    tokens: TokenStore,
    outbox: Outbox,
    settle: SettleQueue,
) -> str:
    """Store the question (once), keep the token, queue the Slack message; returns the approval's status.

    Run again after a crash, or for a question asked anew because Slack was away, it keeps the newer token; where `read`
    has given more time, the message is redrawn with it. A question answered meanwhile is settled at once.
    """
    try:
        stored = approvals.put(approval)
    except ConditionFailed:
        stored = revise(approvals, approval.approval_id, lambda known: known)
    tokens.keep(stored.approval_id, token)
    # It may have been answered or withdrawn before there was a token to answer: whoever did so could not settle it.
    stored = approvals.get(stored.approval_id) or stored
    if stored.status is not ApprovalStatus.PENDING:
        settle.settle(stored.approval_id)
        return stored.status.value
    question = question_notice_id(stored.approval_id)
    later = stored.expires_at - stored.asked_at > approval.expires_at - approval.asked_at
    outbox.tell(
        Notice(
            notice_id=f"{question}:{stored.expires_at.isoformat()}" if later else question,
            replaces=question if later else None,
            thread=thread,
            kind=NoticeKind.APPROVAL_ASKED,
            title=stored.question,
            text=_silence(stored),
            facts=facts,
            approval={
                "approval_id": stored.approval_id,
                "instance_id": stored.instance_id,
                "options": [[o.choice, o.label, o.style, o.confirm] for o in stored.options],
            },
            broadcast=True,
        )
    )
    return stored.status.value


def _until(approval: Approval, expires_at: datetime) -> Approval:
    return replace(approval, expires_at=expires_at) if approval.status is ApprovalStatus.PENDING else approval


def _silence(approval: Approval) -> str:
    label = next((o.label for o in approval.options if o.choice == approval.on_silence), approval.on_silence)
    return f"No answer by {approval.expires_at:%d %b %H:%M} UTC means: {label}."


def read(
    approval_id: str,
    posted: bool,
    *,
    approvals: ApprovalStore,
    outbox: Outbox,
    thread: str,
    now: datetime,
    give_up_at: datetime,
    round_s: float,
) -> dict[str, Any]:
    """What was answered, from the stored record alone. Called once the waiting task has ended, however it ended.

    Status: the choice that was made (`approve`, `deny`, `roll_back`, …), `ask_again` when nobody can have seen the
    question (Slack was away) and `give_up_at` is not reached, or the choice that silence stands for. A question that
    a round of `round_s` went by unseen gets two: whenever Slack comes back, people have one whole round to answer.
    """
    before = approvals.get(approval_id)
    if before is None:
        return {"status": "deny", "by": None, "why": "the question was never stored"}
    if before.status is ApprovalStatus.PENDING and now < give_up_at:
        if not posted:
            later = now + timedelta(seconds=2 * round_s)
            revise(approvals, approval_id, lambda known: _until(known, later))
            return {"status": "ask_again", "by": None, "why": "Slack has not shown the question yet"}
        if before.expires_at - now > timedelta(seconds=round_s / 2):  # more than clocks differ
            return {"status": "ask_again", "by": None, "why": "Slack has shown the question only a short while ago"}

    def expire(approval: Approval) -> Approval:
        if approval.status is not ApprovalStatus.PENDING:
            return approval
        return replace(
            approval, status=ApprovalStatus.EXPIRED, choice=approval.on_silence, decided_at=now, decided_by=None
        )

    approval = revise(approvals, approval_id, expire)
    if approval.status is ApprovalStatus.EXPIRED:
        outbox.tell(settled(approval, thread))
    if approval.status is ApprovalStatus.OUTDATED:
        return {"status": "outdated", "by": None, "why": approval.why or GONE, "approval_id": approval_id}
    why = "nobody answered in time" if approval.status is ApprovalStatus.EXPIRED else "answered in Slack"
    return {
        "status": approval.choice,
        "expired": approval.status is ApprovalStatus.EXPIRED,
        "by": approval.decided_by,
        "why": why,
        "approval_id": approval_id,
    }


def settled(approval: Approval, thread: str) -> Notice:
    """The notice that replaces the buttons of a question by its answer."""
    outdated = approval.status is ApprovalStatus.OUTDATED
    label = next((o.label for o in approval.options if o.choice == approval.choice), approval.choice or "nothing")
    when = f"{approval.decided_at:%d %b %H:%M} UTC" if approval.decided_at else ""
    if approval.status is ApprovalStatus.DECIDED:
        text = f"{label}: decided by {approval.decided_by} at {when}"
    elif outdated:
        text = f"Taken back at {when}: {approval.why or GONE}. Nothing was done; it is decided anew"
    else:
        text = f"Nobody answered by {when}: {label}"
    return Notice(
        notice_id=f"settled:{approval.approval_id}",
        thread=thread,
        kind=NoticeKind.APPROVAL_SETTLED,
        title=approval.question,
        text=text,
        facts={
            "Outcome": "taken back" if outdated else label,
            "By": approval.decided_by or "nobody",
            **({"Instance": approval.instance_id} if approval.instance_id else {}),
        },
        replaces=question_notice_id(approval.approval_id),
    )
