"""Looks at others who act on the node: HyperPod, another incident of ours, an earlier run of this one. Pure."""

from __future__ import annotations

from roundhouse.line.decision.facts import View
from roundhouse.line.decision.looks.made import close, human, wait
from roundhouse.line.decision.verdict import Decision, Guard, Verdict
from roundhouse.line.incident import IncidentState, Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.state import NodeStatus
from roundhouse.line.theirs import Phase, repair_phase

COMING = frozenset(
    {NodeStatus.PENDING, NodeStatus.DEEP_HEALTH_CHECK, NodeStatus.SHUTTING_DOWN, NodeStatus.SYSTEM_UPDATING}
)
_OURS = {Rung.REBOOT: "reboot", Rung.REPLACE: "replace", Rung.DELETE_RESTORE: "replace"}


def gone(view: View) -> Decision | None:
    """The instance is not there any more: whatever was wrong with it, there is nothing left to repair."""
    incident = view.facts.incident
    if view.node is not None or incident.instance_id.startswith(("node:", "group:", "cluster")):
        return None
    heir = view.cluster.by_logical(incident.logical_id) if incident.logical_id else None
    if heir and heir.instance_id:
        return close(Outcome.SUPERSEDED, f"{view.instance} is gone: {heir.instance_id} stands in its place")
    if view.role == "Controller":
        return None  # nobody stands there: the cluster has no controller, and that is for people to know
    return close(Outcome.SUPERSEDED, f"{view.instance or incident.instance_id} is gone; HyperPod lists it no more")


def grace(view: View) -> Decision | None:
    """Time for HyperPod's own repair, and for news that arrive late. Over once we have acted ourselves."""
    incident = view.facts.incident
    left = view.left(incident.opened_at, view.rule.grace_s)
    if incident.attempts or not left:
        return None
    return wait(view, Guard.GRACE, f"grace: {left} s more for HyperPod's own repair and for late news", left)


def in_hand(view: View) -> Decision | None:
    """Somebody repairs it already: HyperPod, or another incident of ours."""
    incident, node, policy = view.facts.incident, view.node, view.facts.policy
    late = view.waited(policy.repair_timeout_s)
    minutes = policy.repair_timeout_s // 60
    if node is not None and node.status in COMING:
        if late:
            return human(Guard.IN_HAND, f"{view.instance} has been {node.status} for more than {minutes} min: stuck")
        return wait(view, Guard.IN_HAND, f"HyperPod has it {node.status}: it is being worked on")
    for entry in view.facts.history.of_node(view.instance, incident.logical_id):
        busy = entry.state in {"CLAIMED", "CALLED", "UNKNOWN"} and entry.incident_id != incident.incident_id
        if busy and view.left(entry.claimed_at, policy.repair_timeout_s):
            return wait(view, Guard.IN_HAND, f"{entry.kind} for {entry.incident_id} is under way on this node")
    if late:
        return None
    begun = _their_repair(view)
    if begun is not None and begun[1] is Phase.STARTED:
        return wait(view, Guard.IN_HAND, f"HyperPod has begun to {begun[0]} it")
    if incident.repair_begun and not incident.attempts and not (begun and begun[1] is Phase.FAILED):
        return wait(view, Guard.IN_HAND, f"HyperPod says that it repairs the node; it has {minutes} min for that")
    return None


def called(view: View) -> Decision | None:
    """Our own call for this incident whose end is not written down: the execution that made it was stopped, or this is
    its twin. The same rung again leads to the watch, since the ledger knows the call; the next rung would be wrong,
    and an instance that is gone is what the call was for: the count is still to be restored, the new one to be proved.
    """
    incident = view.facts.incident
    last = incident.attempts[-1] if incident.attempts else None
    if last is None or last.result != "called":
        return None
    under_way = any(
        entry.state in {"CLAIMED", "CALLED", "UNKNOWN"}
        and ((entry.kind, entry.subject) == (last.rung.value, last.instance_id) or entry.kind == "add_nodes")
        for entry in view.facts.history.entries
        if entry.incident_id == incident.incident_id
    )
    if not under_way and incident.state is not IncidentState.PROVING:
        return None
    reason = f"{last.rung.in_words} {last.instance_id} was called already: it is watched to its end"
    return Decision(Verdict.ACT, reason, last.rung, last.instance_id)


def _their_repair(view: View) -> tuple[str, Phase] | None:
    """The newest word of a repair of this node that is not our own: what we called ourselves is watched elsewhere.

    A start counts as long as the grace: a node that still runs after it is not being repaired any more.
    """
    incident = view.facts.incident
    newest = None
    for event in sorted(view.facts.events, key=lambda e: e.at):
        here = event.instance_id == view.instance or (event.logical_id and event.logical_id == incident.logical_id)
        told = repair_phase(event.description) if here else None
        if told is None or any(_OURS.get(a.rung) == told[0] and a.at <= event.at for a in incident.attempts):
            continue
        stale = told[1] is Phase.STARTED and not view.left(event.at, view.rule.grace_s)
        newest = None if stale else told
    return newest
