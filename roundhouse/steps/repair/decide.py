"""Deciding about an incident: gather facts, ask the pure decision, write down what it said. Ports only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from roundhouse.line import action
from roundhouse.line.breaker import BreakerEntry, BreakerStatus
from roundhouse.line.decision import Decision, Facts, Guard, Verdict, applied, decide, held_since
from roundhouse.line.incident import Incident, IncidentState, begin_step, end_step, heard, with_recovery
from roundhouse.line.policy import Policy
from roundhouse.line.recall import recalled
from roundhouse.line.state import Cluster
from roundhouse.ports import IncidentStore, Outbox
from roundhouse.steps import guard, words
from roundhouse.steps.people.questions import question_number, seen_of
from roundhouse.steps.repair.facts import Sources
from roundhouse.steps.revise import revise

GRACE = "grace"


def step(
    incident_id: str, *, sources: Sources, incidents: IncidentStore, outbox: Outbox, now: datetime
) -> dict[str, Any]:
    """Decide, and answer in plain members: `status` is the verdict's name, the rest see `plain`."""
    incident = revise(incidents, incident_id, _seen)
    facts = sources.gather(incident, now)
    if _recalled(incident, facts) is not incident:
        incident = revise(incidents, incident_id, lambda i: _recalled(i, facts))
        facts = replace(facts, incident=incident)
    decision = decide(facts)
    if decision.guard is Guard.BREAKER:
        _open_breaker(decision, facts, sources, outbox, now)

    def write(current: Incident) -> Incident:
        if current.state is IncidentState.CLOSED:
            return current  # how it ended stays on record
        if facts.cluster is not None and facts.cluster.node_recovery:
            current = with_recovery(current, facts.cluster.node_recovery, now)
        after = applied(_located(current, decision, facts.cluster), decision, now)
        return end_step(after, GRACE, now) if _grace_over(after, decision) else after

    incident = revise(incidents, incident_id, write)
    if decision.verdict in {Verdict.ASK, Verdict.ACT}:
        outbox.tell(words.opened(incident, decision.reason))
    _count_theirs(decision, incident, facts, sources, outbox, now)
    said = {
        **plain(decision, sources.policy),
        "seen": seen_of(facts.incident),
        "heard": heard(facts.incident),
        "question": question_number(incident, decision.rung.value, decision.instance_id),
    }
    if decision.verdict is Verdict.HOLD:
        said["wait_s"] = _patience(incident, sources.policy, now)
    return said


def plain(decision: Decision, policy: Policy) -> dict[str, Any]:
    """A decision as workflow data: times in seconds, enums as their values."""
    return {
        "status": decision.verdict.value,
        "reason": decision.reason,
        "rung": decision.rung.value,
        "instance_id": decision.instance_id,
        "guard": decision.guard.value if decision.guard else None,
        "unguarded": decision.unguarded,
        "wait_s": max(1, decision.wait_s),
        "outcome": decision.outcome.value if decision.outcome else None,
        "advice": list(decision.advice),
        "approval_s": policy.approval_ttl_s,
    }


def _recalled(incident: Incident, facts: Facts) -> Incident:
    """The incident with the calls that only the ledger knows of: the record may have been set back to before them."""
    return recalled(incident, facts.history.entries, facts.cluster, facts.now, action.SHOWS_EFFECT_S)


def _patience(incident: Incident, policy: Policy, now: datetime) -> int:
    """Seconds until a hold is looked at again: a quarter of its age, from one poll to ten. Many nodes may be held."""
    since = held_since(incident) or now
    return max(policy.poll_s, min(round((now - since).total_seconds() / 4), 10 * policy.poll_s))


def _count_theirs(
    decision: Decision, incident: Incident, facts: Facts, sources: Sources, outbox: Outbox, now: datetime
) -> None:
    """HyperPod's own repair takes a node away as ours would: the breaker counts it, once a node and incident."""
    theirs = decision.guard is Guard.IN_HAND and not incident.attempts and decision.instance_id
    if not theirs or facts.cluster is None or facts.breaker is None:
        return
    known = any(e.kind == "theirs" and e.instance_id == decision.instance_id for e in facts.breaker.entries)
    if not known:
        entry = action.counted(incident, "theirs", decision.instance_id, now)
        guard.note(sources.breaker, outbox, sources.policy, entry, facts.cluster, now)


def _located(incident: Incident, decision: Decision, cluster: Cluster | None) -> Incident:
    """What intake could not know, when HyperPod was away as the news came: where the node stands, and its names."""
    node = cluster.by_instance(decision.instance_id) if cluster and decision.instance_id else None
    if node is None or (incident.group and incident.logical_id and incident.slurm_name):
        return incident
    name = node.hostname.split(".")[0] if node.hostname else None
    return replace(
        incident,
        group=incident.group or node.group,
        logical_id=incident.logical_id or node.logical_id,
        slurm_name=incident.slurm_name or name,
    )


def _seen(incident: Incident) -> Incident:
    """The grace becomes a step of its own, measured from the opening."""
    if incident.state is IncidentState.CLOSED or any(step.name == GRACE for step in incident.steps):
        return incident
    return begin_step(incident, GRACE, incident.opened_at, "time for HyperPod's own repair and for late news")


def _grace_over(incident: Incident, decision: Decision) -> bool:
    running = any(step.name == GRACE and step.ended_at is None for step in incident.steps)
    return running and decision.verdict is not Verdict.WAIT


def _open_breaker(decision: Decision, facts: Facts, sources: Sources, outbox: Outbox, now: datetime) -> None:
    """A hold by a breaker that the facts showed closed is its opening: let the store decide, and people be told."""
    if facts.breaker is None or facts.breaker.status is not BreakerStatus.CLOSED:
        return
    incident = facts.incident
    entry = BreakerEntry(now, "drain", decision.instance_id, incident.group or "", incident.cause.value)
    guard.open_if_refused(sources.breaker, outbox, sources.policy, entry, facts.cluster, now)
