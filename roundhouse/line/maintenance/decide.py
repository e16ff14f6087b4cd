"""Deciding about a node that AWS will work on: when to drain it, when it may go back. Pure.

Where the node stands is read from the incident and the windows alone, so that whoever asks again, after a crash or a
moved window, gets the move that is right now.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil

from roundhouse.line.decision import Decision, Guard, Verdict
from roundhouse.line.decision.facts import View
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState, Outcome, begin_step, end_step
from roundhouse.line.maintenance import guards
from roundhouse.line.maintenance.facts import Facts
from roundhouse.line.maintenance.window import Window, ahead
from roundhouse.line.policy import Mode
from roundhouse.line.state import GONE, Cluster

DUE = "due"  # name of the step from the moment that a drain is due until it comes, or never does
CALLED_OFF = "AWS has called it off, or it is over: no window is ahead any more"
WINDOW = "window"  # name of the step while AWS works on a node that we have drained: no repair begins meanwhile
LONGEST_WAIT_S = 3600  # Health may move or cancel a window at any time
WATCH_S = 900  # the same while the node is drained


class Move(StrEnum):
    """What is to be done now."""

    WAIT = "wait"
    ASK = "ask"
    CORDON = "cordon"
    PROVE = "prove"  # our drain is no longer needed: prove the node, then take it back and end with the outcome, if any
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Mind:
    """The move, and the decision behind it with its reason in words. `window` is the one that it is about."""

    move: Move
    decision: Decision
    window: Window | None = None
    deadline: datetime | None = None  # CORDON: until when jobs may run on
    due: bool = False


def decide(facts: Facts) -> Mind:
    """The move that is right now."""
    incident, cluster, now = facts.incident, facts.cluster, facts.now
    window = next(iter(ahead(facts.windows, now)), None)
    if incident.state is IncidentState.CLOSED:
        return _close(incident.outcome or Outcome.IGNORED, "the incident is closed already")
    if cluster is None or (not cluster.nodes and cluster.status not in {GONE, "Deleting"}):
        return _wait(facts, "HyperPod could not be read: the node's state is unknown, so nothing is done", window)
    if cluster.status == "Deleting" or (cluster.status == GONE and window is None):
        return _close(Outcome.IGNORED, "the cluster is gone, or being deleted")
    if cluster.status == GONE:
        return _wait(facts, "HyperPod says that there is no such cluster: not believed before the window", window)
    view = facts.view(cluster)
    minded = _drained(facts, view, window) if incident.drained_by_us else _in_work(facts, view, cluster, window)
    named = minded.decision.instance_id or view.instance
    return replace(minded, decision=replace(minded.decision, instance_id=named), window=minded.window or window)


def applied(incident: Incident, minded: Mind, now: datetime) -> Incident:
    """The incident after the move: the decision in words, its state, and how long a due drain has waited."""
    if incident.state is IncidentState.CLOSED:
        return incident
    state = {Move.ASK: IncidentState.APPROVAL, Move.CORDON: IncidentState.ACTING, Move.PROVE: IncidentState.PROVING}
    after = (
        IncidentState.HELD if minded.decision.verdict is Verdict.HOLD else state.get(minded.move, IncidentState.OPEN)
    )
    if minded.due and minded.move is not Move.CLOSE:
        incident = begin_step(incident, DUE, now, minded.decision.reason)
    if minded.move is Move.CORDON:
        incident = end_step(incident, DUE, now, minded.decision.reason)
    window = minded.window
    if incident.drained_by_us and window is not None and window.starts <= now < window.over_at:
        incident = begin_step(incident, WINDOW, now, window.in_words)
    elif in_window(incident):
        incident = end_step(incident, WINDOW, now)
    if (incident.state, incident.decision) == (after, minded.decision.reason):
        return incident
    return replace(incident, state=after, decision=minded.decision.reason)


def in_window(incident: Incident) -> bool:
    """True while AWS works on the node of this incident, and we have drained it for that."""
    return any(step.name == WINDOW and step.ended_at is None for step in incident.steps)


# Before the drain ------------------------------------------------------------------------------------------------
def _in_work(facts: Facts, view: View, cluster: Cluster, window: Window | None) -> Mind:
    incident, rule = facts.incident, facts.policy.rule(CauseClass.MAINTENANCE)
    if view.node is None:
        heir = cluster.by_logical(incident.logical_id) if incident.logical_id else None
        other = f": {heir.instance_id} stands in its place, and AWS said nothing of that one" if heir else ""
        return _close(Outcome.SUPERSEDED, f"{incident.instance_id} is gone{other}")
    if window is None:
        return _missed(facts, view) if _was_due(incident) else _close(Outcome.IGNORED, CALLED_OFF)
    would = f"drain {view.instance} {_hours(facts.lead)} before {window.in_words}"
    if rule.mode is Mode.OBSERVE:
        reason = f"AWS will work on {view.instance} ({window.in_words}); the policy says observe: nothing is done"
        return _ended(Decision(Verdict.OBSERVE, reason, guard=Guard.OBSERVE, outcome=Outcome.OBSERVED), would)
    if (people := guards.people_only(view)) is not None:
        return _ended(people, would)
    due_at = window.starts - facts.lead
    if facts.now < due_at:
        left = ceil((due_at - facts.now).total_seconds())
        return _wait(facts, f"AWS will work on it: {window.in_words}; its drain begins {_at(due_at)}", window, left)
    if facts.answer in {"deny", "expired"}:
        outcome = Outcome.DENIED if facts.answer == "deny" else Outcome.EXPIRED
        return _close(outcome, "people were asked, and it is not drained")
    instead = guards.elsewhere(facts, view) or guards.held(facts, view)
    if instead is not None:
        return Mind(Move.WAIT, replace(instead, unguarded=would), window, due=True)
    deadline = max(window.starts, facts.now + timedelta(seconds=facts.policy.poll_s))
    if window.starts <= facts.now:  # heard of too late: jobs get what any drain gives them
        deadline = facts.now + timedelta(seconds=facts.policy.drain_deadline_s)
    reason = f"AWS will work on it: {window.in_words}; jobs may run until {_at(deadline)}"
    proposal = Decision(Verdict.ACT, reason, instance_id=view.instance, wait_s=facts.policy.poll_s)
    if facts.answer != "approve":
        if rule.mode is Mode.ASK:
            return Mind(Move.ASK, replace(proposal, verdict=Verdict.ASK), window, deadline, due=True)
        if window.long:
            asked = replace(guards.too_long(window, view.instance), unguarded=would, wait_s=facts.policy.poll_s)
            return Mind(Move.ASK, asked, window, deadline, due=True)
    return Mind(Move.CORDON, proposal, window, deadline, due=True)


def _missed(facts: Facts, view: View) -> Mind:
    """The window is over, or called off, and a drain that was due has not come: people are told why, if not already."""
    instead = guards.elsewhere(facts, view) or guards.held(facts, view)
    guard = instead.guard if instead is not None else Guard.LIVE_STATE
    if guard is Guard.FOREIGN_DRAIN:
        return _close(Outcome.IGNORED, "no window is ahead any more; somebody else's drain is left as it is", guard)
    last = facts.incident.decision or "no decision"
    return _close(Outcome.EXPIRED, f"no window is ahead any more, and the node was not drained: {last}", guard)


def _was_due(incident: Incident) -> bool:
    return any(step.name == DUE and step.ended_at is None for step in incident.steps)


# After the drain -------------------------------------------------------------------------------------------------
def _drained(facts: Facts, view: View, window: Window | None) -> Mind:
    """Drained by us: until the last window that is near is over, then proved, then back. A new instance is no part of
    the work: it is proved at once, since the drain that it has inherited with its name is ours."""
    if facts.incident.undrained_at is not None:
        return _close(Outcome.IGNORED, "our drain was taken back by hand: people want the node in use")
    if facts.pause is not None and (window is None or view.node is None or facts.now < window.starts - facts.lead):
        pause = facts.pause
        reason = f"paused by {pause.by} since {pause.since:%d %b %H:%M} UTC: {pause.why}; our drain stays until then"
        held = Decision(Verdict.HOLD, reason, guard=Guard.PAUSED, wait_s=facts.policy.poll_s)
        return Mind(Move.WAIT, held, window)
    if facts.repair:
        reason = f"{facts.repair} repairs this node: our drain stays until that is over"
        return Mind(Move.WAIT, Decision(Verdict.WAIT, reason, guard=Guard.IN_HAND, wait_s=facts.policy.poll_s), window)
    if view.node is None:
        return _prove(f"{view.instance} is gone: what stands there now is proved", window, Outcome.SUPERSEDED)
    if window is None:
        return _prove("the work of AWS is over, or called off: the node is proved", window, Outcome.RETURNED)
    if facts.now < window.starts - facts.lead:
        return _prove(f"postponed to {window.in_words}: the node is proved, and goes back until then", window, None)
    if facts.now < window.starts:
        left = ceil((window.starts - facts.now).total_seconds())
        return _wait(facts, f"drained; AWS begins {_at(window.starts)}", window, min(left, WATCH_S))
    left = ceil((window.over_at - facts.now).total_seconds())
    gone = round((facts.now - window.starts).total_seconds() / 10)
    seconds = min(left, max(facts.policy.poll_s, gone), WATCH_S)
    return _wait(facts, f"drained; AWS works on it until {_at(window.over_at)}", window, seconds)


# Words -----------------------------------------------------------------------------------------------------------
def _prove(reason: str, window: Window | None, outcome: Outcome | None) -> Mind:
    return Mind(Move.PROVE, Decision(Verdict.WAIT, reason, outcome=outcome), window)


def _wait(facts: Facts, reason: str, window: Window | None, seconds: int | None = None) -> Mind:
    poll = facts.policy.poll_s
    wait_s = max(1, poll if seconds is None else min(seconds, LONGEST_WAIT_S))
    return Mind(Move.WAIT, Decision(Verdict.WAIT, reason, wait_s=wait_s), window)


def _close(outcome: Outcome, reason: str, guard: Guard | None = None) -> Mind:
    return Mind(Move.CLOSE, Decision(Verdict.CLOSE, reason, outcome=outcome, guard=guard))


def _ended(decision: Decision, would: str) -> Mind:
    return Mind(Move.CLOSE, replace(decision, unguarded=would))


def _at(moment: datetime) -> str:
    return f"{moment:%d %b %H:%M} UTC"


def _hours(lead: timedelta) -> str:
    minutes = lead // timedelta(minutes=1)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"
