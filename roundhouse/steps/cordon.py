"""Asking Slurm, through the controller agent, to drain a node or to take our own drain back. Ports only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.contracts.commands import REASON_PREFIX, Command, Verb
from roundhouse.line.incident import Incident, Step
from roundhouse.line.policy import Policy
from roundhouse.ports import AgentQueue, IncidentStore
from roundhouse.steps.revise import revise


def cordon(
    incident_id: str, *, incidents: IncidentStore, agent: AgentQueue, policy: Policy, now: datetime
) -> dict[str, Any]:
    """Queue a drain with a deadline for the incident's node, once. The agent refuses it over anybody else's drain."""
    deadline = now + timedelta(seconds=policy.drain_deadline_s)

    def mark(incident: Incident) -> Incident:
        if incident.drained_by_us:
            return incident
        step = Step("cordon", now, now, f"drain asked for, running jobs may end until {deadline:%H:%M} UTC")
        return replace(incident, drained_by_us=True, steps=(*incident.steps, step))

    incident = revise(incidents, incident_id, mark)
    agent.send(_command(incident, Verb.CORDON, incident.instance_id, policy, now, deadline))
    return {"status": "cordoned", "deadline": deadline.isoformat()}


def resume(
    incident_id: str,
    result: dict[str, Any],
    *,
    incidents: IncidentStore,
    agent: AgentQueue,
    policy: Policy,
    now: datetime,
) -> dict[str, Any]:
    """Undo our own drain, if there is one, for the instance that now stands behind the node; `result` goes on."""
    incident = revise(incidents, incident_id, lambda same: same)
    if incident.drained_by_us:
        instance = incident.current_instance_id or incident.instance_id
        agent.send(_command(incident, Verb.RESUME, instance, policy, now, None))
        step = Step("resume", now, now, f"our drain taken back on {instance}")
        revise(incidents, incident_id, lambda i: replace(i, drained_by_us=False, steps=(*i.steps, step)))
    return result


def _command(
    incident: Incident, verb: Verb, instance: str, policy: Policy, now: datetime, deadline: datetime | None
) -> Command:
    return Command(
        command_id=f"{incident.incident_id}/{verb}/{instance}",
        cluster=policy.cluster,
        verb=verb,
        instance_id=instance,
        slurm_name=incident.slurm_name,
        reason=f"{REASON_PREFIX} {incident.incident_id} {incident.code}",
        issued_at=now,
        deadline=deadline,
    )
