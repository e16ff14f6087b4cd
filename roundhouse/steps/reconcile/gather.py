"""Reading what is compared. Ports only; changes nothing.

The order matters: how an execution stands is read before the incident's record is read again, so that a workflow that
closes its incident at this very moment is never taken for one that forgot to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.commands import owner
from roundhouse.contracts.executions import ExecutionState, repair_execution
from roundhouse.errors import Throttled, Unavailable
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState
from roundhouse.line.policy import Policy
from roundhouse.line.reconcile import ENDS_BY_ITSELF, RUNNING, Creation, Facts
from roundhouse.line.restart import Workflow
from roundhouse.line.slurm import bare_reason
from roundhouse.line.state import Cluster
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
RECENT = timedelta(days=1)  # how long after its end an incident's execution is looked for


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
        workflows, unread = self._workflows(known, now)
        cluster = look.live(self.reader, self.control, self.policy, now)
        fresh = [self._fresh(incident) for incident in known]
        return Facts(
            now=now,
            policy=self.policy,
            contract={group.name: group.count for group in self.spec.groups if group.role == "Compute"},
            cluster=cluster,
            incidents=[*fresh, *self._older(cluster, {incident.incident_id for incident in fresh})],
            workflows=workflows,
            approvals=self.approvals.of_cluster(self.policy.cluster, since),
            ledger=self.ledger.of_cluster(self.policy.cluster, since),
            breaker=guard.load(self.breaker, self.policy.cluster),
            creation=self._creation(),
            pause=self.control.pause(),
            unread=unread,
        )

    def _workflows(self, known: Sequence[Incident], now: datetime) -> tuple[Mapping[str, Workflow], tuple[str, ...]]:
        """The executions of incidents that should have one, then of those that should not any more.

        Where Step Functions asks to slow down the rest is left to the next run: what was not looked at does not differ.
        """
        found: dict[str, Workflow] = {}
        late = [i for i in known if i.closed_at is not None and ENDS_BY_ITSELF <= now - i.closed_at < RECENT]
        try:
            for incident in (i for i in known if i.state is not IncidentState.CLOSED):
                found[incident.incident_id] = begin.look(self.workflows, self.machines.of(incident), incident)
            for incident in late:
                name = repair_execution(incident.incident_id, len(incident.restarts))
                state = self.workflows.status(self.machines.of(incident), name)
                found[incident.incident_id] = Workflow(1, state, state is ExecutionState.RUNNING)
        except (Throttled, Unavailable):
            return found, ("some executions",)
        return found, ()

    def _older(self, cluster: Cluster | None, known: set[str]) -> list[Incident]:
        """Incidents from before that are still named by a drain of ours."""
        snapshot = cluster.slurm if cluster else None
        named = {owner(bare_reason(node.reason)) for node in snapshot.nodes.values()} if snapshot else set()
        found = [
            self.incidents.get(incident_id)
            for incident_id in sorted(each for each in named if each and each not in known)
        ]
        return [incident for incident in found if incident is not None]

    def _fresh(self, incident: Incident) -> Incident:
        """An open incident as it is by now: the list lags behind."""
        if incident.state is IncidentState.CLOSED:
            return incident
        return self.incidents.get(incident.incident_id) or replace(incident, state=IncidentState.CLOSED)

    def _creation(self) -> Creation | None:
        known = self.runs.get(self.spec.cluster)
        if known is None:
            return None
        try:
            execution = self.workflows.status(self.machines.create, known.run_id)
        except (Throttled, Unavailable):  # not told: then it is as the record says
            execution = ExecutionState.RUNNING if known.status == RUNNING else ExecutionState.SUCCEEDED
        if execution is not ExecutionState.RUNNING:  # it may have written its end between the two looks
            known = self.runs.get(self.spec.cluster) or known
        return Creation(known.run_id, known.status, known.started_at, known.finished_at, execution)
