"""Drains that people take back by hand: written down, told once, and their questions asked anew. Ports only."""

from __future__ import annotations

from datetime import datetime

from roundhouse.line.drains import after_snapshot
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState
from roundhouse.line.state import SlurmSnapshot
from roundhouse.ports import ApprovalStore, IncidentStore, Outbox, SettleQueue
from roundhouse.steps import words
from roundhouse.steps.people.withdraw import withdraw
from roundhouse.steps.revise import revise

WHY = "our drain of the node was taken back by hand"


def look(
    snapshot: SlurmSnapshot,
    known: list[Incident],
    *,
    incidents: IncidentStore,
    approvals: ApprovalStore,
    settle: SettleQueue,
    outbox: Outbox,
    now: datetime,
) -> None:
    """Compare a snapshot with the drains of the `known` incidents. Any number of times for one snapshot."""
    for each in known:
        if each.state is IncidentState.CLOSED or not each.drained_by_us or each.cause is CauseClass.MAINTENANCE:
            continue
        incident = revise(incidents, each.incident_id, lambda i: after_snapshot(i, snapshot))
        if incident.undrained_at is None or incident.undrained_at != snapshot.taken_at:
            continue
        outbox.tell(
            words.step(
                incident,
                "undrained",
                f"Drain of {words.node_name(incident)} taken back by hand",
                "It is not drained again, and nothing is done to it unless somebody approves.",
            )
        )
        if incident.asked:
            withdraw(incident.asked, WHY, approvals=approvals, settle=settle, now=now, said_at=snapshot.taken_at)
