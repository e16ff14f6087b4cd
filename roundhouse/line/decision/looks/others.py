"""Looks at others who act on the node: HyperPod, people, another incident of ours, an earlier run of this one. Pure."""

from __future__ import annotations

from datetime import timedelta

from roundhouse.line.breaker import TAKING
from roundhouse.line.decision.facts import View
from roundhouse.line.decision.looks.hyperpod import AUTOMATIC, their_repair
from roundhouse.line.decision.looks.made import close, human, wait
from roundhouse.line.decision.verdict import Decision, Guard, Verdict
from roundhouse.line.incident import IncidentState, Outcome
from roundhouse.line.state import NodeStatus
from roundhouse.line.theirs import Phase, is_termination, repair_phase

COMING = frozenset({NodeStatus.PENDING, NodeStatus.DEEP_HEALTH_CHECK, NodeStatus.SHUTTING_DOWN})
MISSING = "missing"  # name of the step that runs while the node is not listed

PROVING = IncidentState.PROVING
WATCHED = frozenset({"called", "proved", "inconclusive"})  # results of an attempt that its incident may still wait for


def gone(view: View) -> Decision | None:
    """The instance is not there any more: whatever was wrong with it, there is nothing left to repair.

    One list that omits it is no proof, since lists lag. Another instance in its place is, or a word of its end; else a
    second look, at least a poll later.
    """
    incident = view.facts.incident
    if view.node is not None or incident.instance_id.startswith(("node:", "group:", "cluster")):
        return None
    heir = view.cluster.by_logical(incident.logical_id) if incident.logical_id else None
    name = view.instance or incident.instance_id
    if heir and heir.instance_id and view.failed_attempt and incident.attempts[-1].rung.destructive:
        # Our own: it did not come back in time, and nobody has proved it.
        done = f"{incident.attempts[-1].rung.in_words} {name} brought {heir.instance_id}, which is {heir.status}"
        return human(Guard.LADDER, f"{done} and was not proved in time: people must look")
    if heir and heir.instance_id:
        return close(Outcome.SUPERSEDED, f"{name} is gone: {heir.instance_id} stands in its place{_by_whom(view)}")
    first = view.running_step(MISSING)
    twice = first is not None and view.facts.now - first >= timedelta(seconds=view.facts.policy.poll_s)
    if heir is None and not twice and not _ended(view):
        reason = f"HyperPod's list does not show {name}: looked at again before that is believed"
        return wait(view, Guard.MISSING, reason)
    if view.role == "Controller":
        return None  # nobody stands there: the cluster has no controller, and that is for people to know
    return close(Outcome.SUPERSEDED, f"{name} is gone; HyperPod lists it no more{_by_whom(view)}")


def _ended(view: View) -> bool:
    """True when HyperPod, or the caller himself, has told of the instance's end."""
    incident = view.facts.incident
    told = any(
        event.instance_id == view.instance
        and (is_termination(event.description) or (repair_phase(event.description) or ("",))[0] == "replace")
        for event in view.facts.events
    )
    return told or any(other.kind in {"replace", "delete"} for other in incident.others)


def _by_whom(view: View) -> str:
    acts = [other for other in view.facts.incident.others if other.kind in {"replace", "delete"}]
    return f" ({acts[-1].who} called {acts[-1].call})" if acts else ""


def in_hand(view: View) -> Decision | None:
    """Somebody repairs it already: HyperPod, a person, or another incident of ours."""
    incident, node, policy = view.facts.incident, view.node, view.facts.policy
    late = view.waited(policy.repair_timeout_s)
    minutes = policy.repair_timeout_s // 60
    if view.facts.worked_upon:
        return wait(view, Guard.IN_HAND, f"AWS works on it now, as announced ({view.facts.worked_upon})")
    if node is not None and node.status in COMING:
        if late:
            return human(Guard.IN_HAND, f"{view.instance} has been {node.status} for more than {minutes} min: stuck")
        return wait(view, Guard.IN_HAND, f"HyperPod has it {node.status}: it is being worked on{_caller(view)}")
    for entry in view.facts.history.of_node(view.instance, incident.logical_id):
        at_it = entry.kind in TAKING and entry.incident_id != incident.incident_id
        busy = at_it and entry.state in {"CLAIMED", "CALLED", "UNKNOWN"}
        if busy and view.left(entry.claimed_at, policy.repair_timeout_s):
            return wait(view, Guard.IN_HAND, f"{entry.kind} for {entry.incident_id} is under way on this node")
    if said := _caller(view):
        return wait(view, Guard.IN_HAND, f"in hand{said}: what they asked for may not show yet")
    if late:
        return None
    begun = their_repair(view)
    if begun is not None and begun[1] is Phase.STARTED:
        return wait(view, Guard.IN_HAND, f"HyperPod has begun to {begun[0]} it")
    announced = incident.repair_begun and not incident.attempts and not (begun and begun[1] is Phase.FAILED)
    if announced and view.cluster.node_recovery == AUTOMATIC:
        return wait(view, Guard.IN_HAND, f"HyperPod says that it repairs the node; it has {minutes} min for that")
    return None


def _caller(view: View) -> str:
    """Whose call on the node is so young that it may not show yet, in words; "" when there is none."""
    young = [o for o in view.facts.incident.others if view.left(o.at, view.rule.grace_s)]
    return f" ({young[-1].who} called {young[-1].call} at {young[-1].at:%H:%M} UTC)" if young else ""


def called(view: View) -> Decision | None:
    """Our own call for this incident whose end is not written down: the execution that made it was stopped, or this is
    its twin. The same rung again leads to the watch, since the ledger knows the call; the next rung would be wrong,
    and an instance that is gone is what the call was for: the count is still to be restored, the new one to be proved.
    """
    incident = view.facts.incident
    last = incident.attempts[-1] if incident.attempts else None
    if last is None or last.result not in WATCHED:
        return None
    if last.result != "called":  # proved, or not; the end was not written down, and the node is proved again
        again = f"{last.rung.in_words} {last.instance_id} was {last.result} before, and not closed: it is proved again"
        return Decision(Verdict.ACT, again, last.rung, last.instance_id) if incident.state is PROVING else None
    mine = [entry for entry in view.facts.history.entries if entry.incident_id == incident.incident_id]
    under_way = any(
        entry.state in {"CLAIMED", "CALLED", "UNKNOWN"}
        and ((entry.kind, entry.subject) == (last.rung.value, last.instance_id) or entry.adds)
        for entry in mine
    )
    # The ledger may be the one that has ended, or lost, what the incident still waits for; but a count that somebody
    # else has restored brings no node of ours back.
    restored = any(entry.of_others for entry in mine)
    waits = incident.state in {IncidentState.ACTING, PROVING} and not restored
    if not under_way and not waits:
        return None
    reason = f"{last.rung.in_words} {last.instance_id} was called already: it is watched to its end"
    return Decision(Verdict.ACT, reason, last.rung, last.instance_id)
