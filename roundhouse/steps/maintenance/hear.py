"""Hearing of maintenance: a message of AWS Health in, at most one incident and one workflow for each node out.

Safe to run any number of times on the same message, in any order, from several Lambdas at once: each message is put
into the record of its event, and whatever follows is made of the record as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from typing import Any

from roundhouse.contracts.names import SCHEDULED_CHANGE
from roundhouse.errors import ConditionFailed, Unavailable
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState, IntakeVerdict, incident_key
from roundhouse.line.maintenance import Window, admit, ahead
from roundhouse.line.policy import Policy
from roundhouse.line.state import GONE, Cluster, Node
from roundhouse.ports import (
    ApprovalStore,
    ClusterReader,
    ControlStore,
    IncidentStore,
    MaintenanceStore,
    Outbox,
    SettleQueue,
    Workflows,
)
from roundhouse.steps import look
from roundhouse.steps.begin import begin
from roundhouse.steps.maintenance import words
from roundhouse.steps.people.withdraw import withdraw
from roundhouse.steps.revise import TRIES, revise
from roundhouse.triage import aws_health
from roundhouse.triage.aws_health import HealthNotice
from roundhouse.triage.maintenance import Maintenance, key_of, windows, with_notice

_EMPTY = {GONE, "Creating", "Deleting"}  # a cluster that may well list no node
KEPT = 20  # ids of messages to people
NOT_SAID = ("EC2", "SAGEMAKER")  # services whose maintenance may be about our nodes although it does not name them


@dataclass
class Hearing:
    """The ports of hearing."""

    reader: ClusterReader
    control: ControlStore
    incidents: IncidentStore
    maintenances: MaintenanceStore
    approvals: ApprovalStore
    settle: SettleQueue
    outbox: Outbox
    workflows: Workflows
    maintain_arn: str
    policy: Policy
    now: datetime

    def take(self, envelope: dict[str, Any], again: bool = True) -> list[str]:
        """Take one envelope of AWS Health. What became of it, in words.

        Raises MalformedEvent for what is not what it should be, Unavailable while HyperPod cannot be read or lists
        nothing: nobody can say then whose instances these are, and the message comes again. Also when it does not come
        `again` and names an instance that is not listed: one list that omits a node may only lag.
        """
        notice = aws_health.read(envelope)
        if notice is None:
            return [f"not ours: {envelope.get('detail-type')!r}"]
        if notice.category != SCHEDULED_CHANGE:
            return [f"{notice.code} is of category {notice.category!r}: information only"]
        record = self._kept(notice)
        cluster = look.live(self.reader, self.control, self.policy, self.now)
        if cluster is None or (not cluster.nodes and cluster.status not in _EMPTY):
            raise Unavailable("HyperPod could not be read: whose instances Health names is not known")
        announced = ahead(windows(record), self.now)
        named = {e: n for e in record.change.entities if (n := cluster.by_instance(e)) is not None}
        coming = [w for w in announced if w.instance_id in named]
        told = [self._window(window, named[window.instance_id]) for window in coming]
        told += self._gone_off(record, {w.instance_id for w in announced})
        self._tell(record, cluster, named, announced)
        if not again and any(w.instance_id.startswith("i-") and w.instance_id not in named for w in announced):
            raise Unavailable("Health names instances that HyperPod does not list, and one list may lag: read again")
        missing = len(record.change.missing_pages)
        note = f"; {missing} pages have not come yet" if missing else ""
        return told or [
            f"{record.change.code}: names no node of {self.policy.cluster} that it still lies ahead of{note}"
        ]

    def _kept(self, notice: HealthNotice) -> Maintenance:
        """The event's record with this message in it."""
        key = key_of(notice)
        for _ in range(TRIES):
            known = self.maintenances.get(key) or Maintenance(key, self.policy.cluster, self.now)
            record = with_notice(known, notice)
            if record is known:
                return known
            try:
                return self.maintenances.put(record)
            except ConditionFailed:
                continue
        raise ConditionFailed(f"the record of {notice.event_arn} is changing too fast: lost {TRIES} races in a row")

    def _window(self, window: Window, node: Node) -> str:
        mode = self.policy.rule(CauseClass.MAINTENANCE).mode
        for _ in range(TRIES):
            known = list(self._of_instance(window.instance_id))
            found = admit(window, node, known, mode, self.policy.cluster, self.now)
            incident = found.incident
            if incident is not None and found.verdict in {IntakeVerdict.OPEN, IntakeVerdict.JOIN}:
                try:
                    incident = self.incidents.put(incident)
                except ConditionFailed:
                    continue  # another Lambda has just stored it: look again
            if incident is not None:
                self._begin(incident)
            if incident is not None and found.verdict is IntakeVerdict.JOIN:
                self._take_back(incident, f"the window is another one: {window.in_words}")
            return f"{found.verdict.value}: {found.reason}"
        raise ConditionFailed(f"incidents of {window.instance_id} are changing too fast")

    def _of_instance(self, instance_id: str) -> Iterator[Incident]:
        """Every incident of maintenance of that instance, by its id: no index is trusted with that."""
        for occurrence in count(1):
            key = incident_key(self.policy.cluster, instance_id, CauseClass.MAINTENANCE, occurrence)
            found = self.incidents.get(key)
            if found is None:
                return
            yield found

    def _begin(self, incident: Incident) -> None:
        begin(
            incident,
            workflows=self.workflows,
            machine=self.maintain_arn,
            incidents=self.incidents,
            policy=self.policy,
            now=self.now,
        )

    def _gone_off(self, record: Maintenance, coming: set[str]) -> list[str]:
        """Nodes that no window lies ahead of any more: their workflows find that out, an open question does not."""
        told = []
        for entity in record.change.entities:
            if entity in coming:
                continue
            for incident in self._of_instance(entity):
                if incident.state is not IncidentState.CLOSED and self._take_back(incident, "AWS has called it off"):
                    told.append(f"{incident.incident_id}: its question is taken back")
        return told

    def _take_back(self, incident: Incident, why: str) -> bool:
        if not incident.asked:
            return False
        return withdraw(incident.asked, why, approvals=self.approvals, settle=self.settle, now=self.now)

    def _tell(self, record: Maintenance, cluster: Cluster, named: dict[str, Node], coming: Sequence[Window]) -> None:
        """One message to people for what is new: other windows, more nodes, or that it is off. While a window lies
        ahead it is not off, though no node be listed for it."""
        change = record.change
        nodes = [named[w.instance_id] for w in coming if w.instance_id in named]
        if change.starts is None and not change.closed:
            nodes = list(named.values())
        whole = bool({cluster.arn, cluster.name} & set(change.entities)) and not change.closed
        unnamed = not change.entities and change.service.startswith(NOT_SAID) and not change.closed
        ended = not (nodes or whole or unnamed)
        if ended and (coming or not record.announced or (change.starts is not None and change.starts <= self.now)):
            return  # nobody knows of it, or it has run its course: each node's end is told where something was done
        mode = self.policy.rule(CauseClass.MAINTENANCE).mode
        notice = words.announced(record, cluster, nodes, mode, ended=ended)
        if notice.notice_id in record.announced:
            return
        base = notice.notice_id.rpartition(":")[0]
        former = next((known for known in reversed(record.announced) if known.rpartition(":")[0] == base), None)
        self.outbox.tell(replace(notice, replaces=former))
        revise(self.maintenances, record.key, lambda known: _announced(known, notice.notice_id))


def _announced(record: Maintenance, notice_id: str) -> Maintenance:
    if notice_id in record.announced:
        return record
    return replace(record, announced=(*record.announced, notice_id)[-KEPT:])
