"""Asking Slurm, through the controller agent, to drain a node or to take our own drain back. Ports only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.contracts.commands import REASON_PREFIX, Command, Verb
from roundhouse.errors import Unavailable
from roundhouse.line.breaker import BreakerEntry
from roundhouse.line.drains import DRAIN
from roundhouse.line.incident import Incident, begin_step, end_step, target_instance
from roundhouse.line.policy import Policy
from roundhouse.line.state import Cluster
from roundhouse.ports import AgentQueue, BreakerStore, IncidentStore, Outbox
from roundhouse.steps import guard
from roundhouse.steps.revise import revise

KEEPS_DRAIN = {"human", "error", "inconclusive"}  # what failed or was not proved stays out of service


def cordon(
    incident_id: str,
    decision: dict[str, Any],
    *,
    incidents: IncidentStore,
    agent: AgentQueue,
    breaker: BreakerStore,
    outbox: Outbox,
    cluster: Cluster | None,
    policy: Policy,
    now: datetime,
) -> dict[str, Any]:
    """Queue a drain with a deadline for the decided instance, once, if the breaker lets one more node go. The deadline
    is the decision's, or the policy's where it names none.

    Status `cordoned`, or `hold` when the breaker said no. The agent refuses to drain over anybody else's reason.
    """
    incident = revise(incidents, incident_id, lambda same: same)
    if incident.undrained_at is not None:
        return {"status": "cordoned", "reason": "people took our drain back by hand: it is not drained again"}
    # An incident may be about a launch or a name; the decision found the instance that stands there.
    instance = str(decision.get("instance_id") or target_instance(incident))
    entry = BreakerEntry(now, DRAIN, instance, incident.group or "", incident.cause.value)
    admission = guard.admit(breaker, outbox, policy, entry, cluster, now)
    if not admission.allowed:
        return {"status": "hold", "reason": admission.reason, "wait_s": policy.poll_s}
    given = decision.get("deadline")
    deadline = datetime.fromisoformat(given) if given else now + timedelta(seconds=policy.drain_deadline_s)

    def mark(current: Incident) -> Incident:
        if current.drained_by_us:
            return current
        day = "" if deadline.date() == now.date() else f"{deadline:%d %b} "
        detail = f"jobs on {current.slurm_name or instance} may run until {day}{deadline:%H:%M} UTC"
        return replace(begin_step(current, DRAIN, now, detail), drained_by_us=True)

    incident = revise(incidents, incident_id, mark)
    agent.send(_command(incident, Verb.CORDON, instance, policy, now, deadline))
    return {"status": "cordoned", "deadline": deadline.isoformat()}


def resume(
    incident_id: str,
    result: dict[str, Any],
    *,
    incidents: IncidentStore,
    agent: AgentQueue,
    cluster: Cluster | None,
    policy: Policy,
    now: datetime,
) -> dict[str, Any]:
    """Undo our own drain, if there is one, for the instance that now stands behind the node; `result` goes on.

    A node that we could not mend, or could not prove, stays drained: nothing unproved goes back to the scheduler.
    Raises Unavailable while nobody can say which instance stands there.
    """
    incident = revise(incidents, incident_id, lambda same: same)
    failed = (
        bool(incident.attempts)
        and result.get("status") != "pass"
        and result.get("outcome")
        not in {
            "recovered",
            "superseded",
        }
    )
    if not incident.drained_by_us or failed or result.get("status") in KEEPS_DRAIN:
        return result
    if cluster is None:
        raise Unavailable("HyperPod could not be read: which instance stands behind the node is not known")
    heir = cluster.by_logical(incident.logical_id) if incident.logical_id else None
    instance = (heir.instance_id if heir else None) or target_instance(incident)
    agent.send(_command(incident, Verb.RESUME, instance, policy, now, None))

    def mark(current: Incident) -> Incident:
        ended = (
            end_step(current, DRAIN, now) if any(s.name == DRAIN and not s.ended_at for s in current.steps) else current
        )
        ended = end_step(ended, "resume", now, f"our drain taken back on {instance}")
        return replace(ended, drained_by_us=False, drain_seen_at=None)  # a later drain is another one, not seen yet

    revise(incidents, incident_id, mark)
    return result


def _command(
    incident: Incident, verb: Verb, instance: str, policy: Policy, now: datetime, deadline: datetime | None
) -> Command:
    return Command(
        command_id=f"{incident.incident_id}/{verb}/{instance}{_turn(incident)}",
        cluster=policy.cluster,
        verb=verb,
        instance_id=instance,
        slurm_name=incident.slurm_name,
        reason=f"{REASON_PREFIX} {incident.incident_id} {incident.code}",
        issued_at=now,
        deadline=deadline,
    )


def _turn(incident: Incident) -> str:
    """What tells a drain from an earlier one of the same incident that was taken back; "" for the first."""
    drains = sum(step.name == DRAIN for step in incident.steps)
    return f"/{drains}" if drains > 1 else ""
