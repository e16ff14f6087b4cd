"""How an incident grows: events, steps, attempts, its end. Pure; every function returns a new incident.

Sizes are bounded, so that a record never outgrows a DynamoDB item whatever rains on it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from roundhouse.line.event import CauseClass, Event, Health
from roundhouse.line.incident.record import (
    Attempt,
    Evidence,
    Incident,
    IncidentState,
    Outcome,
    Step,
    incident_key,
)
from roundhouse.line.incident.told import OTHERS_KEPT, other_of

RECOVERY = "node_recovery"  # name of the step that tells of a switch
EVIDENCE_KEPT = 20
EVIDENCE_TEXT = 500
STEPS_KEPT = 60
ATTEMPTS_KEPT = 20
DETAIL_TEXT = 500


def subject_of(event: Event) -> str:
    """What an incident of this event is about, in the place of `Incident.instance_id`.

    Nearly always the instance id. A launch that fails gets a new instance each time it is tried: it is kept by
    `node:<logical id>`, a shortage by `group:<name>`, and what concerns everything by `cluster`.
    """
    match event.cause:
        case CauseClass.CLUSTER:
            return "cluster"
        case CauseClass.CAPACITY:
            return f"group:{event.group}" if event.group else "cluster"
        case CauseClass.PROVISIONING | CauseClass.LIFECYCLE if event.logical_id:
            return f"node:{event.logical_id}"
        case _:
            return event.instance_id or (
                f"node:{event.logical_id}"
                if event.logical_id
                else f"name:{event.slurm_name}"
                if event.slurm_name
                else f"group:{event.group}"
                if event.group
                else "cluster"
            )


def target_instance(incident: Incident) -> str:
    """The instance that the next action would touch: after a replacement the new one, which starts a fresh identity."""
    return incident.current_instance_id or incident.instance_id


def opened(event: Event, occurrence: int, now: datetime) -> Incident:
    """A new incident that `event` opens."""
    subject = subject_of(event)
    blank = Incident(
        incident_id=incident_key(event.cluster, subject, event.cause, occurrence),
        cluster=event.cluster,
        instance_id=subject,
        cause=event.cause,
        occurrence=occurrence,
        opened_at=now,
        last_event_at=event.source_time,
        event_count=0,
        code=event.code,
        health=event.health.value,
    )
    return with_event(blank, event)


def heard(incident: Incident) -> list[str]:
    """Ids of the news on record: what a decision, or a proof, was made upon."""
    return [said.event_id for said in incident.evidence]


def with_event(incident: Incident, event: Event) -> Incident:
    """Add an event. What the newest one says (by its own time, not by arrival; bad news win a tie) is the health.

    An event that is in the evidence already changes nothing.
    """
    if any(known.event_id == event.event_id for known in incident.evidence):
        return incident
    said = Evidence(
        event.event_id,
        event.source.value,
        event.code,
        event.health.value,
        event.source_time,
        event.evidence[:EVIDENCE_TEXT],
    )
    evidence = sorted((*incident.evidence, said), key=lambda e: (e.at, e.event_id))[-EVIDENCE_KEPT:]
    bad = event.health is Health.UNHEALTHY
    newest = event.health is not Health.INFO and (
        event.source_time > incident.last_event_at
        or (event.source_time == incident.last_event_at and bad)
        or overrules(event, incident)
    )
    newest = newest and (bad or believed(event, incident))
    well = event.health is Health.HEALTHY and event.source.trusted
    other = other_of(event)
    better_code = bad and newest and bool(event.code) and (event.source.trusted or not incident.trusted)
    return replace(
        incident,
        evidence=tuple(evidence),
        event_count=incident.event_count + max(1, event.count),
        last_event_at=event.source_time if newest else incident.last_event_at,
        health=event.health.value if newest else incident.health,
        code=event.code if better_code else incident.code,
        trusted=incident.trusted or (bad and event.source.trusted),
        repair_begun=incident.repair_begun or event.repair_begun,
        group=incident.group or event.group,
        logical_id=incident.logical_id or event.logical_id,
        slurm_name=incident.slurm_name or event.slurm_name,
        boot_id=incident.boot_id or event.boot_id,
        others=incident.others if other is None else (*incident.others, other)[-OTHERS_KEPT:],
        healthy_at=max(incident.healthy_at or event.source_time, event.source_time) if well else incident.healthy_at,
    )


def believed(event: Event, incident: Incident) -> bool:
    """True unless it is good news from the node itself, where HyperPod has spoken against it: what is said there can be
    forged there, and does not take HyperPod's word back."""
    return event.source.trusted or not incident.trusted


def overrules(event: Event, incident: Incident) -> bool:
    """True for HyperPod's bad news when only the node itself has said anything good since."""
    bad = event.health is Health.UNHEALTHY and event.source.trusted
    after = incident.healthy_at is None or event.source_time > incident.healthy_at
    return bad and after and incident.health == Health.HEALTHY


def with_recovery(incident: Incident, setting: str, now: datetime) -> Incident:
    """Write down HyperPod's NodeRecovery as it is now. A switch in the middle of an incident is a step of no length."""
    if incident.node_recovery == setting or incident.state is IncidentState.CLOSED:
        return incident
    if incident.node_recovery:
        incident = end_step(incident, RECOVERY, now, setting)
    return replace(incident, node_recovery=setting)


def begin_step(incident: Incident, name: str, now: datetime, detail: str = "") -> Incident:
    """Begin a step, unless the newest one of that name still runs."""
    if any(step.name == name and step.ended_at is None for step in incident.steps):
        return incident
    step = Step(name, now, None, detail[:DETAIL_TEXT])
    return replace(incident, steps=(*incident.steps, step)[-STEPS_KEPT:])


def end_step(incident: Incident, name: str, now: datetime, detail: str = "") -> Incident:
    """End the running step of that name; one that never began is written down as a step of no length."""
    for index in range(len(incident.steps) - 1, -1, -1):
        step = incident.steps[index]
        if step.name == name and step.ended_at is None:
            ended = replace(step, ended_at=now, detail=(detail or step.detail)[:DETAIL_TEXT])
            return replace(incident, steps=(*incident.steps[:index], ended, *incident.steps[index + 1 :]))
    return replace(incident, steps=(*incident.steps, Step(name, now, now, detail[:DETAIL_TEXT]))[-STEPS_KEPT:])


def with_attempt(incident: Incident, attempt: Attempt) -> Incident:
    """Write down that a rung was tried."""
    return replace(incident, attempts=(*incident.attempts, attempt)[-ATTEMPTS_KEPT:])


def with_result(incident: Incident, result: str) -> Incident:
    """Write down how the newest attempt went; without one there is nothing to write."""
    if not incident.attempts:
        return incident
    return replace(incident, attempts=(*incident.attempts[:-1], replace(incident.attempts[-1], result=result)))


def close(incident: Incident, outcome: Outcome, now: datetime, why: str) -> Incident:
    """End it: running steps end too. Closing a closed incident changes nothing."""
    if incident.state is IncidentState.CLOSED:
        return incident
    steps = tuple(step if step.ended_at else replace(step, ended_at=now) for step in incident.steps)
    return replace(
        incident, state=IncidentState.CLOSED, outcome=outcome, closed_at=now, decision=why[:DETAIL_TEXT], steps=steps
    )
