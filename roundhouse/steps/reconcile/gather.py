"""Reading what is compared. Ports only; changes nothing.

The order matters: how an execution stands is read before the incident's record is read again, so that a workflow that
closes its incident at this very moment is never taken for one that forgot to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.executions import ExecutionState
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState
from roundhouse.line.policy import Policy
from roundhouse.line.reconcile import Creation, Facts
from roundhouse.line.restart import Workflow
from roundhouse.ports import (
    ApprovalStore,
    BreakerStore,
    ClusterReader,
    ControlStore,
    IncidentStore,
    Ledger,
    RunStore,
    Workflows,
)
from roundhouse.steps import begin, guard, look

BACK = timedelta(days=30)  # an execution lasts a fortnight at most
RECENT = timedelta(days=1)  # closed incidents whose executions are still looked at


@dataclass(frozen=True)
class Machines:
    """ARNs of the state machines."""

    remediate: str
    maintain: str
    create: str

    def of(self, incident: Incident) -> str:
        """The machine that works on the incident."""
        return self.maintain if incident.cause is CauseClass.MAINTENANCE else self.remediate


@dataclass(frozen=True)
class Reading:
    """The ports that are read."""

    reader: ClusterReader
    control: ControlStore
    incidents: IncidentStore
    ledger: Ledger
    approvals: ApprovalStore
    breaker: BreakerStore
    runs: RunStore
    workflows: Workflows
    machines: Machines
    policy: Policy
    spec: ClusterSpec

    def facts(self, now: datetime) -> Facts:
        """Everything, read now."""
        since = now - BACK
        known = self.incidents.of_cluster(self.policy.cluster, since)
        workflows = self._workflows(known, now)
        return Facts(
            now=now,
            policy=self.policy,
            contract={group.name: group.count for group in self.spec.groups if group.role == "Compute"},
            cluster=look.live(self.reader, self.control, self.policy, now),
            incidents=[self._fresh(incident) for incident in known],
            workflows=workflows,
            approvals=self.approvals.of_cluster(self.policy.cluster, since),
            ledger=self.ledger.of_cluster(self.policy.cluster, since),
            breaker=guard.load(self.breaker, self.policy.cluster),
            creation=self._creation(),
            pause=self.control.pause(),
        )

    def _workflows(self, known: Sequence[Incident], now: datetime) -> Mapping[str, Workflow]:
        return {
            incident.incident_id: begin.look(self.workflows, self.machines.of(incident), incident)
            for incident in known
            if incident.closed_at is None or now - incident.closed_at < RECENT
        }

    def _fresh(self, incident: Incident) -> Incident:
        """An open incident as it is by now: the list lags behind."""
        if incident.state is IncidentState.CLOSED:
            return incident
        return self.incidents.get(incident.incident_id) or replace(incident, state=IncidentState.CLOSED)

    def _creation(self) -> Creation | None:
        known = self.runs.get(self.spec.cluster)
        if known is None:
            return None
        execution = self.workflows.status(self.machines.create, known.run_id)
        if execution is not ExecutionState.RUNNING:  # it may have written its end between the two looks
            known = self.runs.get(self.spec.cluster) or known
        return Creation(known.run_id, known.status, known.started_at, known.finished_at, execution)
