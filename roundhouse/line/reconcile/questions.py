"""Questions to people against what they are about, and against the workflows that wait for the answers. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from roundhouse.contracts.executions import ExecutionState
from roundhouse.line.approval import Approval, ApprovalStatus
from roundhouse.line.incident import Incident, IncidentState
from roundhouse.line.reconcile.facts import LAG, Difference, Facts, Kind, Remedy
from roundhouse.line.reconcile.workflows import RUNNING

LATE = timedelta(minutes=10)  # the waiting task ends a little after the question: that is not for us to do
HOUR = timedelta(hours=1)


def stale(facts: Facts) -> Iterator[Difference]:
    """A pending question about an incident or creation that has ended, or an instance that is gone: taken back.

    One whose workflow was stopped is left pending: the workflow that is begun again asks the same question, and an
    answer given meanwhile counts.
    """
    for approval in _pending(facts):
        if (why := _outdated(approval, facts)) and facts.older(approval.asked_at, LAG):
            yield Difference(Kind.STALE_QUESTION, approval.approval_id, why, Remedy.WITHDRAW)


def late(facts: Facts) -> Iterator[Difference]:
    """A question that is pending beyond its time: the choice that silence stands for is written down."""
    for approval in _pending(facts):
        if facts.older(approval.expires_at, LATE) and not _outdated(approval, facts):
            words = f"nobody answered {approval.approval_id} by {approval.expires_at:%d %b %H:%M} UTC"
            yield Difference(Kind.LATE_QUESTION, approval.approval_id, words, Remedy.EXPIRE)


def unanswered_task(facts: Facts) -> Iterator[Difference]:
    """A question that is settled, and a workflow that waits for its answer all the same: the word got lost."""
    for approval in facts.approvals:
        settled = approval.status is not ApprovalStatus.PENDING and facts.older(approval.decided_at, LAG)
        if settled and _waits(approval, facts):
            words = f"{approval.approval_id} is {approval.status.value} and its workflow was not told"
            yield Difference(Kind.UNANSWERED_TASK, approval.approval_id, words, Remedy.SETTLE)


def _pending(facts: Facts) -> list[Approval]:
    return [a for a in facts.approvals if a.status is ApprovalStatus.PENDING]


def _outdated(approval: Approval, facts: Facts) -> str:
    """Why the question no longer makes sense; "" when it does, or when that is not known."""
    if approval.kind == "discount":
        run = facts.creation
        if run is None or run.run_id != approval.subject:
            return "another creation has taken over"
        return "" if run.status == RUNNING else f"the creation has ended ({run.status})"
    incident = facts.incident(approval.subject)
    if incident is None:
        return "its incident is not on record"
    if incident.state is IncidentState.CLOSED:
        return f"its incident is closed ({incident.outcome})"
    heir = _heir(incident, facts)
    if heir and approval.instance_id and heir != approval.instance_id:
        return f"{heir} stands in the place of {approval.instance_id} now"
    return ""


def _heir(incident: Incident, facts: Facts) -> str | None:
    """The instance behind the incident's node. Not being listed is no sign: lists lag behind."""
    node = facts.live.by_logical(incident.logical_id) if facts.live and incident.logical_id else None
    return node.instance_id if node else None


def _waits(approval: Approval, facts: Facts) -> bool:
    if approval.kind == "discount":
        run = facts.creation
        mine = run is not None and run.run_id == approval.subject and run.status == RUNNING
        alive = run is not None and run.execution is ExecutionState.RUNNING
        return mine and alive and not facts.older(approval.decided_at, HOUR)
    incident = facts.incident(approval.subject)
    known = facts.workflows.get(approval.subject)
    if incident is None or incident.state is IncidentState.CLOSED or known is None or not known.alive:
        return False
    return incident.asked == approval.approval_id
