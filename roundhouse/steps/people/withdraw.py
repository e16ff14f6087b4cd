"""Taking a question back: others acted meanwhile, so what was asked no longer fits. Ports only.

Whoever learns of it first does so: intake by an event, the reconciler by live state. Any number of times, from several
processes at once: a question is withdrawn once, and an answer that was there before stands.
"""

from __future__ import annotations

from datetime import datetime

from roundhouse.line.approval import Approval, ApprovalStatus, outdate
from roundhouse.ports import ApprovalStore, SettleQueue
from roundhouse.steps.revise import revise


def withdraw(
    approval_id: str,
    why: str,
    *,
    approvals: ApprovalStore,
    settle: SettleQueue,
    now: datetime,
    said_at: datetime | None = None,
) -> bool:
    """Take a pending question back, and wake its workflow; True when it is withdrawn by now.

    `why` says who did what, in words for people: it is shown in the place of the buttons. `said_at` is when that
    happened; news from well before the question change nothing (see `line.approval.outdate`). A question that is not
    stored yet is left alone: it is asked on live state that shows the news.
    """
    known = approvals.get(approval_id)
    if known is None:
        return False

    def change(approval: Approval) -> Approval:
        return outdate(approval, now, why, said_at)

    approval = revise(approvals, approval_id, change)
    if approval.status is not ApprovalStatus.OUTDATED:
        return False
    settle.settle(approval_id)  # also when it was withdrawn before: that order may have been lost
    return True
