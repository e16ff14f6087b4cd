"""Gathering everything that a decision about maintenance depends on, read just now. Ports only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from roundhouse.line.approval import ApprovalStatus
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState, target_instance
from roundhouse.line.maintenance import Facts, Other, Window, ahead, events_of, heard_last, window_id
from roundhouse.line.policy import Policy
from roundhouse.ports import (
    ApprovalStore,
    BreakerStore,
    ClusterReader,
    ControlStore,
    IncidentStore,
    MaintenanceStore,
)
from roundhouse.steps import guard, look
from roundhouse.steps.people.questions import BEFORE, question_number, repair_approval_id
from roundhouse.triage.maintenance import Maintenance, windows

BACK = timedelta(days=90)  # Health announces weeks ahead


@dataclass(frozen=True)
class Gathering:
    """Where facts come from."""

    reader: ClusterReader
    control: ControlStore
    incidents: IncidentStore
    maintenances: MaintenanceStore
    approvals: ApprovalStore
    breaker: BreakerStore
    policy: Policy

    def facts(self, incident: Incident, now: datetime) -> Facts:
        """The facts of one incident now. What cannot be read is None in them, and stops action."""
        records: dict[str, Maintenance | None] = {}  # many nodes are named in one event: it is read once
        announced = self._windows(incident, records)
        known = self.incidents.of_cluster(self.policy.cluster, now - BACK)
        open_ones = [i for i in known if i.state is not IncidentState.CLOSED]
        mine = incident.incident_id
        return Facts(
            incident=incident,
            cluster=look.live(self.reader, self.control, self.policy, now),
            breaker=guard.load(self.breaker, self.policy.cluster),
            policy=self.policy,
            now=now,
            windows=announced,
            pause=self.control.pause(),
            answer=self._said(incident, next(iter(ahead(announced, now)), None)),
            others=tuple(self._other(i, records, now) for i in open_ones if i.cause is CauseClass.MAINTENANCE),
            away=frozenset(target_instance(i) for i in open_ones if i.drained_by_us and i.incident_id != mine),
            repair=next((i.incident_id for i in open_ones if _repairs(i, incident)), None),
        )

    def _windows(self, incident: Incident, records: dict[str, Maintenance | None]) -> tuple[Window, ...]:
        """What Health still announces for the incident's instance, by the records that its evidence names; by the
        evidence itself where a table was set back, and the record is gone or older than what the incident has heard."""
        found: list[Window] = []
        for key in events_of(incident):
            if key not in records:
                records[key] = self.maintenances.get(key)
            record, last = records[key], heard_last(incident, key)
            if last is not None and (record is None or record.change.updated < last.updated):
                found.append(last)
            elif record is not None:
                found += [w for w in windows(record) if w.instance_id == incident.instance_id]
        return tuple(found)

    def _other(self, incident: Incident, records: dict[str, Maintenance | None], now: datetime) -> Other:
        window = next(iter(ahead(self._windows(incident, records), now)), None)
        return Other(
            incident.instance_id,
            incident.group or "",
            incident.opened_at,
            window.starts if window else None,
            incident.drained_by_us,
        )

    def _said(self, incident: Incident, window: Window | None) -> str | None:
        """What people answered to the question about this window, by the stored record alone."""
        if window is None:
            return None
        known = self.approvals.get(repair_approval_id(incident, question(incident, window)))
        if known is None or known.status not in {ApprovalStatus.DECIDED, ApprovalStatus.EXPIRED}:
            return None
        return "expired" if known.status is ApprovalStatus.EXPIRED else known.choice


def question(incident: Incident, window: Window) -> dict[str, Any]:
    """What names the question about a window, in the members of a decision; a moved window is asked about anew."""
    rung = f"{BEFORE}{window_id(window)}"
    number = question_number(incident, rung, incident.instance_id)
    return {"rung": rung, "instance_id": incident.instance_id, "question": number}


def _repairs(other: Incident, incident: Incident) -> bool:
    """True for an open incident of another kind about the same node, whichever instance stands there."""
    if other.cause is CauseClass.MAINTENANCE:
        return False
    here = {other.instance_id, other.current_instance_id} & {incident.instance_id, incident.current_instance_id}
    same = other.logical_id is not None and other.logical_id == incident.logical_id
    return bool(here - {None}) or same
