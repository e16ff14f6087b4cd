"""Beginning an incident's workflow, for the first time or again after the former one ended too early. Ports only."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from roundhouse.contracts.executions import repair_execution
from roundhouse.errors import Throttled, Unavailable
from roundhouse.line.incident import Incident, IncidentState
from roundhouse.line.policy import Policy
from roundhouse.line.restart import Workflow, grace_left, may_restart, restarted, workflow_of
from roundhouse.ports import IncidentStore, Workflows
from roundhouse.steps.revise import revise

YOUNG = timedelta(minutes=2)  # as long as the reconciler leaves an incident alone


def look(workflows: Workflows, machine: str, incident: Incident) -> Workflow:
    """The incident's executions now."""
    return workflow_of(incident, partial(workflows.status, machine))


def begin(
    incident: Incident,
    *,
    workflows: Workflows,
    machine: str,
    incidents: IncidentStore,
    policy: Policy,
    now: datetime,
    at_once: bool = False,
) -> bool:
    """See that the open incident has a workflow: begin the first, or another where all have ended. True if one began.

    Safe beside itself: names are taken in order, and a name is begun once. One that was begun again too often within a
    day is left alone: the reconciler hands it to people. While Step Functions cannot be asked nothing is begun, and in
    its first minutes a workflow is not looked for: news come in a rush then, and each would ask.
    """
    if incident.state is IncidentState.CLOSED:
        return False
    grace = 1 if at_once else policy.rule(incident.cause).grace_s
    payload: dict[str, object] = {"incident_id": incident.incident_id, "grace_s": grace_left(incident, grace, now)}
    if not incident.restarts and workflows.start(machine, incident.incident_id, payload):
        return True
    if now - incident.opened_at < YOUNG:
        return False
    try:
        known = look(workflows, machine, incident)
    except (Throttled, Unavailable):
        return False
    if known.alive:
        return False
    if not known.taken:
        return workflows.start(machine, incident.incident_id, payload)
    if not may_restart(incident, now):
        return False
    incident = revise(incidents, incident.incident_id, lambda i: restarted(i, known.taken, now))
    if incident.state is IncidentState.CLOSED:
        return False
    return workflows.start(machine, repair_execution(incident.incident_id, known.taken), payload)
