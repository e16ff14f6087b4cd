"""How a history must end: everything closed or told, the count restored, nothing of ours left behind, nothing lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from roundhouse.contracts.commands import Verb, owner
from roundhouse.contracts.ledger import LedgerState
from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.approval import ApprovalStatus
from roundhouse.line.breaker import BreakerStatus
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState, Outcome
from roundhouse.line.state import NodeStatus
from tests.steps.world import T0

if TYPE_CHECKING:
    from tests.histories.house import House

MENDED = frozenset({Outcome.REPAIRED, Outcome.RECOVERED, Outcome.SUPERSEDED, Outcome.IGNORED})
KEEPS_DRAIN = frozenset({Outcome.ESCALATED})
TAKES = ("reboot", "replace", "delete_restore")


def broken(house: House) -> Iterator[str]:
    """What is wrong now that nothing moves any more; each begins with the rule's name."""
    yield from _open(house)
    yield from _untold(house)
    yield from _count(house)
    yield from _lost(house)
    yield from _drains(house)
    yield from _ledger(house)
    yield from _discount(house)


def _open(house: House) -> Iterator[str]:
    for execution in house.executions.values():
        if execution.status == "RUNNING":
            yield f"open: execution {execution.name} still runs, at {execution.visited[-4:]}"
        elif execution.status == "FAILED" and not _handed_over(house, execution.given):
            yield f"open: execution {execution.name} failed: {execution.errors[-3:]}"
    for incident in house.incidents.records.values():
        if incident.state is not IncidentState.CLOSED:
            yield f"open: incident {incident.incident_id} is {incident.state}: {incident.decision}"
    for approval in house.approvals.records.values():
        if approval.status is ApprovalStatus.PENDING:
            yield f"open: question {approval.question} is still pending"


def _handed_over(house: House, given: dict[str, object]) -> bool:
    """True when people have the incident: HyperPod was away for longer than the retries of a step."""
    incident = house.incidents.records.get(str(given.get("incident_id")))
    return incident is not None and incident.outcome is Outcome.ESCALATED


def _untold(house: House) -> Iterator[str]:
    """What needs people was said to them."""
    told = {notice.thread.removeprefix("incident:") for notice in house.told(NoticeKind.INCIDENT_CLOSED)}
    for incident in house.incidents.records.values():
        lost = incident.group == "controller" and house.told(NoticeKind.CONTROLLER_LOST)  # one message for all of them
        if incident.outcome is Outcome.ESCALATED and incident.incident_id not in told and not lost:
            yield f"untold: {incident.incident_id} needs people, and nobody was told: {incident.decision}"
    breaker = house.breaker.records.get(house.cluster.name)
    said = {notice.notice_id for notice in house.told(NoticeKind.BREAKER_OPENED)}
    if breaker is not None and breaker.status is BreakerStatus.OPEN and breaker.since is not None:
        if not any(breaker.since.isoformat() in identity for identity in said):
            yield f"untold: the breaker is open since {breaker.since:%H:%M}, and nobody was told"


def _count(house: House) -> Iterator[str]:
    group = house.cluster.groups["workers"]
    contract = house.spec.group("workers").count
    meant = contract + house.cluster.by_hand
    people = any(i.outcome is Outcome.ESCALATED for i in house.incidents.records.values())
    if group.target > max(contract, meant):
        yield f"count: {group.target} workers are meant, and the contract has {contract}"
    if group.target < min(contract, meant) and not people:
        yield f"count: {group.target} workers, the contract has {contract}, colleagues {house.cluster.by_hand:+d}"


def _lost(house: House) -> Iterator[str]:
    """A node that HyperPod said to be broken since it was last repaired, and that still is, is not taken for mended."""
    for node in house.cluster.nodes:
        instance = node.instance_id or ""
        if instance not in house.cluster.faults or node.status not in {NodeStatus.RUNNING, NodeStatus.FAILURE}:
            continue
        healed = max((t.at for t in house.cluster.taken if t.instance_id == instance), default=T0)
        heard = [at for at in house.judge.bad_news.get(instance, ()) if at > healed]
        about = [i for i in house.incidents.records.values() if instance in {i.instance_id, i.current_instance_id}]
        if heard and not about:
            yield f"lost: {instance} is broken, HyperPod said so, and no incident knows"
        about = [i for i in about if i.instance_id == instance] or about  # its own say more than its forerunner's
        about = [i for i in about if i.cause is not CauseClass.UNREACHABLE] or about  # and health more
        about = [i for i in about if i.outcome is not Outcome.IGNORED] or about  # a record of good news ends nothing
        last = max(about, key=lambda i: (i.closed_at or house.now, i.opened_at), default=None)
        if heard and last is not None and last.outcome in MENDED and not _later_said_well(house, last, instance):
            ended = f"{last.incident_id} ended {last.outcome}: {last.decision}"
            yield f"lost: {instance} is broken, HyperPod said so, and {ended}"


def _later_said_well(house: House, last: Incident, instance: str) -> bool:
    """The newest that was said of it was good (a false alarm before, or a forged record): nothing to know it by."""
    return last.health == "healthy" and max(house.judge.bad_news[instance]) <= last.last_event_at


def _drains(house: House) -> Iterator[str]:
    """None of our drains is left on a node whose incident ended well or was let be."""
    sent: dict[str, Counter[str]] = {}
    for command in house.agent.commands:
        sent.setdefault(command.command_id.split("/")[0], Counter())[command.verb.value] += 1
    for incident in house.incidents.records.values():
        verbs = sent.get(incident.incident_id, Counter())
        if verbs[Verb.CORDON.value] and not verbs[Verb.RESUME.value] and incident.outcome not in KEEPS_DRAIN:
            if incident.state is IncidentState.CLOSED and not _tried_in_vain(incident):
                yield f"drain: {incident.incident_id} ended {incident.outcome}, and its drain was never taken back"
    if not house.slurm.agent:
        return
    for node in house.cluster.nodes:
        entry = house.slurm.of(node) if node.hostname else None
        mine = owner(entry.reason) if entry and entry.drained else None
        incident = house.incidents.records.get(mine) if mine else None
        if incident is not None and incident.outcome in MENDED:
            ended = f"{incident.incident_id}, which ended {incident.outcome}"
            yield f"drain: {node.instance_id} still has the drain of {ended}"


def _tried_in_vain(incident: Incident) -> bool:
    """What failed or was not proved stays out of service."""
    return bool(incident.attempts) and incident.outcome not in MENDED


def _ledger(house: House) -> Iterator[str]:
    for entry in house.ledger.records.values():
        closed = house.incidents.records.get(entry.incident_id or "")
        told = closed is not None and closed.outcome is Outcome.ESCALATED
        if entry.kind in TAKES and entry.state in {LedgerState.CLAIMED, LedgerState.UNKNOWN} and not told:
            yield f"ledger: {entry.action_id} is {entry.state} for ever: {entry.detail}"


def _discount(house: House) -> Iterator[str]:
    """A node that came back at the full price is told to people, whatever else is well with it."""
    for incident in house.incidents.records.values():
        dear = incident.current_instance_id in house.cluster.launched_on_demand
        new = bool(incident.attempts) and incident.attempts[-1].rung.destructive
        if dear and new and incident.outcome is Outcome.REPAIRED:
            yield f"discount: {incident.current_instance_id} came on demand, and {incident.incident_id} ended repaired"
