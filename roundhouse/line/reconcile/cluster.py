"""Live state against what the line knows: counts, nodes in Failure, the controller, the breaker. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from roundhouse.line.breaker import BreakerStatus
from roundhouse.line.incident import ENDED_WELL, Incident, IncidentState
from roundhouse.line.ladder import Rung
from roundhouse.line.reconcile.calls import ADDITION
from roundhouse.line.reconcile.facts import LAG, Difference, Facts, Kind, Remedy
from roundhouse.line.reconcile.workflows import RUNNING
from roundhouse.line.state import Node, NodeStatus

KNOWN_FOR = timedelta(hours=24)  # what people were told of a node is not told again within a day
CONTROLLER = "Controller"


def below_contract(facts: Facts) -> Iterator[Difference]:
    """A group that is asked for fewer nodes than the contract has, and nobody is restoring them."""
    run = facts.creation
    if facts.live is None or facts.live.status != "InService" or run is None or run.status == RUNNING:
        return
    for name, wanted in sorted(facts.contract.items()):
        group = facts.live.groups.get(name)
        if group is None or group.target >= wanted or _being_restored(name, facts):
            continue
        words = (
            f"group {name} is asked for {group.target} nodes and the contract has {wanted}; nobody is restoring them: "
            f"`roundhouse create -e {facts.policy.environment}` brings it to the contract's count"
        )
        yield Difference(Kind.BELOW_CONTRACT, name, words, Remedy.SHOW)


def _being_restored(group: str, facts: Facts) -> bool:
    patience = timedelta(seconds=facts.policy.repair_timeout_s)
    at_it = any(
        i.group == group and any(a.rung is Rung.DELETE_RESTORE for a in i.attempts)
        for i in facts.open
        if not facts.older(i.opened_at, 2 * KNOWN_FOR)
    )
    moving = any(
        e.group == group and e.kind in {ADDITION, "delete_nodes", Rung.DELETE_RESTORE.value, "update_cluster"}
        for e in facts.ledger
        if not facts.older(e.updated_at, patience)
    )
    return at_it or moving


def lost_signals(facts: Facts) -> Iterator[Difference]:
    """A node that HyperPod has in Failure, and no incident knows: the message was lost. The line gets one of our own,
    and judges it on live state as any other: HyperPod's own repair has its grace there."""
    if facts.live is None or facts.live.status != "InService":
        return
    for node in facts.live.nodes:
        if (
            node.status is NodeStatus.FAILURE
            and node.instance_id
            and not any(_knows(i, node, facts) for i in facts.incidents)
        ):
            said = f": {node.message}" if node.message else ""
            words = f"{node.instance_id} of {node.group} is in Failure{said}, and no incident knows of it"
            yield Difference(Kind.LOST_SIGNAL, node.instance_id, words, Remedy.REPORT)


def _knows(incident: Incident, node: Node, facts: Facts) -> bool:
    """True when the incident is about this node, and open, or people were told of its end within a day."""
    same_node = node.logical_id is not None and incident.logical_id == node.logical_id
    subject = {incident.instance_id, incident.current_instance_id}
    if incident.state is not IncidentState.CLOSED:
        return same_node or bool(subject & {node.instance_id, f"node:{node.logical_id}", f"group:{node.group}"})
    if node.instance_id not in subject or facts.older(incident.closed_at, KNOWN_FOR):
        return False
    return incident.outcome not in ENDED_WELL or not facts.older(incident.closed_at, LAG)


def no_controller(facts: Facts) -> Iterator[Difference]:
    """A cluster in service that lists nodes, and no controller among them."""
    live = facts.live
    if live is None or live.status != "InService" or live.controllers() != []:
        return
    for group in live.groups.values():
        if group.role != CONTROLLER or group.target < 1:
            continue
        if not any(_fresh(incident, facts) for incident in _of(group.name, facts)):
            words = f"HyperPod lists no node of the controller's group {group.name}"
            yield Difference(Kind.NO_CONTROLLER, group.name, words, Remedy.REPORT)


def _fresh(incident: Incident, facts: Facts) -> bool:
    return incident.state is not IncidentState.CLOSED or not facts.older(incident.closed_at, KNOWN_FOR)


def _of(group: str, facts: Facts) -> list[Incident]:
    return [i for i in facts.incidents if i.group == group or i.instance_id == f"group:{group}"]


def canary(facts: Facts) -> Iterator[Difference]:
    """A half-open breaker whose canary's incident has ended without the breaker being told."""
    state = facts.breaker
    if state is None or state.status is not BreakerStatus.HALF_OPEN or state.canary is None or state.since is None:
        return
    tried = [
        i
        for i in facts.incidents
        if state.canary in {i.instance_id, i.current_instance_id, *(a.instance_id for a in i.attempts)}
    ]
    if any(i.state is not IncidentState.CLOSED for i in tried):
        return
    ended = [i for i in tried if i.closed_at and i.closed_at >= state.since and facts.older(i.closed_at, LAG)]
    if ended:
        last = max(ended, key=lambda i: i.closed_at or facts.now)
        words = f"the breaker waits for canary {state.canary}, and {last.incident_id} has ended ({last.outcome})"
        yield Difference(Kind.CANARY_ENDED, last.incident_id, words, Remedy.TELL_CANARY)


def breaker_not_told(facts: Facts) -> Iterator[Difference]:
    """An open breaker that still counts the signal of an incident which has ended well since."""
    state = facts.breaker
    if state is None or state.status is not BreakerStatus.OPEN:
        return
    signals = {(e.instance_id, e.cause): e.at for e in state.entries if e.kind == "signal"}
    for incident in facts.closed:
        at = signals.get((incident.instance_id, incident.cause.value))
        ended = incident.outcome in ENDED_WELL and facts.older(incident.closed_at, LAG)
        if at is not None and ended and incident.closed_at is not None and incident.closed_at >= at:
            words = f"the breaker still counts {incident.incident_id}, which has ended ({incident.outcome})"
            yield Difference(Kind.BREAKER_NOT_TOLD, incident.incident_id, words, Remedy.TELL_RECOVERY)


def healthy(incident: Incident) -> bool:
    """True when the incident has ended well: what a canary's end means to the breaker."""
    return incident.outcome in ENDED_WELL
