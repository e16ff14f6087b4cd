"""Giving a node back after its maintenance: proved first, as after a repair. Ports only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from roundhouse.line import proof
from roundhouse.line.incident import Incident, IncidentState, begin_step, end_step
from roundhouse.line.policy import Policy
from roundhouse.line.state import Cluster, NodeStatus
from roundhouse.ports import IncidentStore, NodeTest
from roundhouse.steps.revise import revise

RETURN = "return"  # from the moment that the node should be back
PROOF = "proof"  # from the moment that it is first seen Running


@dataclass(frozen=True)
class GiveBack:
    """The ports of giving back."""

    incidents: IncidentStore
    test: NodeTest
    policy: Policy

    def prove(self, incident: Incident, cluster: Cluster | None, now: datetime) -> tuple[proof.Proof, str]:
        """PASS, WAIT, or FAIL and INCONCLUSIVE for good: the verdict on the node that stands there now.

        Nothing counts as failed before the time of a repair is over: AWS's work ends when it ends, and HyperPod may
        be repairing the node.
        """
        running = _running(incident, cluster)
        incident = revise(self.incidents, incident.incident_id, lambda i: _looked(i, running, now))
        began = _since(incident, RETURN) or now
        expected = proof.Expected(incident.logical_id, None if incident.logical_id else incident.instance_id)
        found, why = self.test.run(cluster, expected, began, _since(incident, PROOF) or began, now)
        late = now - began > timedelta(seconds=self.policy.repair_timeout_s)
        if found is proof.Proof.WAIT and late:  # its quiet began anew, again and again
            found = proof.Proof.FAIL
        if found is not proof.Proof.PASS and not late:
            return proof.Proof.WAIT, why
        revise(self.incidents, incident.incident_id, lambda i: _over(i, why, now))
        return found, why


def _running(incident: Incident, cluster: Cluster | None) -> bool:
    if cluster is None:
        return False
    node = cluster.by_logical(incident.logical_id) if incident.logical_id else cluster.by_instance(incident.instance_id)
    return node is not None and node.status is NodeStatus.RUNNING


def _looked(incident: Incident, running: bool, now: datetime) -> Incident:
    if incident.state is IncidentState.CLOSED:
        return incident
    incident = begin_step(incident, RETURN, now, "the node must be Running and quiet")
    if running:
        return begin_step(incident, PROOF, now, "quiet since it was seen Running")
    return end_step(incident, PROOF, now, "not Running any more") if _since(incident, PROOF) else incident


def _over(incident: Incident, why: str, now: datetime) -> Incident:
    for name in (PROOF, RETURN):
        if incident.state is not IncidentState.CLOSED and _since(incident, name):
            incident = end_step(incident, name, now, why)
    return incident


def _since(incident: Incident, name: str) -> datetime | None:
    """When the running step of that name began."""
    return next((s.started_at for s in reversed(incident.steps) if s.name == name and s.ended_at is None), None)
