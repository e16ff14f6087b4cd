"""From a window to an incident: one per cluster and instance, whatever the number of messages about it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from roundhouse.line.incident import Incident, IncidentState, Intake, IntakeVerdict, Outcome, opened, with_event
from roundhouse.line.maintenance.window import Window, event_of, window_id
from roundhouse.line.policy import Mode
from roundhouse.line.state import Node


def admit(window: Window, node: Node, known: Sequence[Incident], mode: Mode, cluster: str, now: datetime) -> Intake:
    """Judge one window of a live node. `known` are all incidents of maintenance of that very instance.

    A window that an incident has ended with opens no second one, however often Health repeats it; a moved one does, and
    so does one that was only observed while the rule now says more. IGNORE: nothing new; its workflow may need a start.
    """
    event = event_of(window, node, cluster, now)
    current = next((i for i in known if i.state is not IncidentState.CLOSED), None)
    if current is not None:
        joined = with_event(current, event)
        if joined is current:
            return Intake(IntakeVerdict.IGNORE, current, f"{current.incident_id} knows this window")
        return Intake(IntakeVerdict.JOIN, joined, f"joins {current.incident_id}: {window.in_words}")
    about = [i for i in known if any(e.event_id == window_id(window) for e in i.evidence)]
    ended = max(about, key=lambda i: i.occurrence, default=None)  # one that was observed may have had a successor
    if ended is not None and not (ended.outcome is Outcome.OBSERVED and mode is not Mode.OBSERVE):
        return Intake(IntakeVerdict.NOTE, None, f"{ended.incident_id} has dealt with this window ({ended.outcome})")
    occurrence = 1 + max((i.occurrence for i in known), default=0)
    reason = f"{window.code} on {window.instance_id}: {window.in_words}"
    return Intake(IntakeVerdict.OPEN, opened(event, occurrence, now), reason)
