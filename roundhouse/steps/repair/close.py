"""Closing an incident: its outcome, in the record, in the breaker and to people. Ports only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from roundhouse.contracts.notices import Notice
from roundhouse.line.decision.guards import APPROVAL
from roundhouse.line.drains import DRAIN
from roundhouse.line.event import CauseClass, Health
from roundhouse.line.incident import ENDED_WELL, SHOWS, Evidence, Incident, IncidentState, Outcome, close
from roundhouse.line.policy import Policy
from roundhouse.line.state import Cluster
from roundhouse.ports import BreakerStore, IncidentStore, Outbox
from roundhouse.steps import guard, words
from roundhouse.steps.revise import revise

TOLD = {Outcome.ESCALATED, Outcome.OBSERVED}
MENDED = {Outcome.REPAIRED, Outcome.RECOVERED}
OWN_NOTICE = {"breaker", "controller_away", None}  # guards whose holds are told elsewhere, once for all nodes


def step(
    incident_id: str,
    result: dict[str, Any],
    *,
    incidents: IncidentStore,
    breaker: BreakerStore,
    outbox: Outbox,
    cluster: Cluster | None,
    policy: Policy,
    now: datetime,
) -> dict[str, Any]:
    """Close it with the outcome that `result` names. Closing twice changes nothing and tells nobody again.

    Status `closed` · `decide`: bad news came after that outcome was found, and the incident stays open for them.
    """
    outcome, why = _outcome(result)

    def write(incident: Incident) -> Incident:
        heir = cluster.by_logical(incident.logical_id) if cluster and incident.logical_id else None
        if incident.state is not IncidentState.CLOSED and heir and heir.instance_id:
            incident = replace(incident, current_instance_id=heir.instance_id)
        return incident if _unheard(incident, outcome, result) else close(incident, outcome, now, why)

    incident = revise(incidents, incident_id, write)
    if (news := _unheard(incident, outcome, result)) is not None:
        reason = f"bad news came while it was being closed: {news.at:%H:%M:%S} {news.source}: {news.code}"
        return {"status": "decide", "incident_id": incident_id, "reason": reason, "wait_s": policy.poll_s}
    ended = incident.outcome or outcome
    fit = ended in ENDED_WELL or result.get("status") == "pass"  # proved, though its discount may be lost
    announced = incident.cause is CauseClass.MAINTENANCE  # says nothing about the node's health, whoever tried it
    if not announced:
        guard.canary(breaker, outbox, policy, incident, fit, now)
    if ended in ENDED_WELL or (announced and ended is not Outcome.ESCALATED):
        guard.recovered(breaker, outbox, policy, incident, cluster, now)
    for notice in _told(incident, result, why):
        outbox.tell(notice)
    return {"status": "closed", "incident_id": incident_id, "outcome": ended.value, "reason": incident.decision}


def _unheard(incident: Incident, outcome: Outcome, result: dict[str, Any]) -> Evidence | None:
    """Bad news of what is taken for mended, which whoever found that had not heard; None when there are none.

    `result.heard` are the ids of the news that were heard; results without it are of older definitions.
    """
    if incident.state is IncidentState.CLOSED or outcome not in MENDED or "heard" not in result:
        return None
    repaired = incident.attempts[-1].at + SHOWS if incident.attempts else None  # what is older, that was about
    unheard = [e for e in incident.evidence if e.event_id not in result["heard"] and (not repaired or e.at > repaired)]
    return next((e for e in unheard if e.health == Health.UNHEALTHY), None)


def _outcome(result: dict[str, Any]) -> tuple[Outcome, str]:
    if result.get("status") == "error":
        said = words.cause(result.get("cause"))[:400]
        return Outcome.ESCALATED, f"a step failed for good: {result.get('error')}: {said}"
    named = result.get("outcome")
    reason = str(result.get("reason") or "")
    if named:
        return Outcome(str(named)), reason
    return Outcome.ESCALATED, f"the workflow ended without an outcome ({result.get('status')}): {reason}"


def _told(incident: Incident, result: dict[str, Any], why: str) -> list[Notice]:
    """Who was told that it began is told how it ended; what needs people is always told; the rest is in the record."""
    outcome = incident.outcome
    began = bool(incident.attempts) or any(step.name in {DRAIN, APPROVAL} for step in incident.steps)
    forgotten = outcome is Outcome.EXPIRED and result.get("guard") not in OWN_NOTICE  # held until it no longer fits
    if not began and outcome not in TOLD and not forgotten:
        return []
    if incident.cause is CauseClass.MAINTENANCE and outcome is Outcome.OBSERVED:
        return []  # told once for all nodes of the event, when Health was heard
    if result.get("guard") == "controller":
        return [words.controller_lost(incident)]
    advice = [f"• {line}" for line in result.get("advice") or []]
    without = f"Would have been done: {result['unguarded']}." if result.get("unguarded") else ""
    return [words.closed(incident, "\n".join([why, without, *advice]).strip())]
