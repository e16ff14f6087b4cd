"""Decide, and decide again right before the call. Pure: facts in, a decision with its reason out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from roundhouse.line.decision import guards, looks
from roundhouse.line.decision.facts import Facts, View, view_of
from roundhouse.line.decision.verdict import Decision, Guard, Verdict
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState, Outcome, begin_step, end_step
from roundhouse.line.ladder import DAY, Rung, next_rung
from roundhouse.line.policy import Mode
from roundhouse.line.state import GONE

MOST_QUESTIONS = 5  # taken back, one after the other: then people must look instead of being asked once more
HELD = "held"  # name of the step that runs while a guard holds an incident
GONE_FOR = timedelta(minutes=15)  # one answer that there is no such cluster may be a slip of the service
NOT_KNOWN = "HyperPod says that there is no such cluster: looked at again before that is believed"
# The steps in which an incident waits for others, by the guard that says so.
_STEPS = {
    Guard.PATCHING: looks.PATCHING,
    Guard.AUTO_RESUME: looks.AUTO_RESUME,
    Guard.IN_HAND: "in_hand",
    Guard.MISSING: looks.MISSING,
}
_THEIRS = frozenset({Guard.PATCHING, Guard.AUTO_RESUME, Guard.IN_HAND})
_Look = Callable[[View], Decision | None]
_Guard = Callable[[View, Decision], Decision | None]

# What a role, a cause or the cluster settles; then waiting for others; the order is the order of the reasons given.
_FIRST: tuple[_Look, ...] = (
    looks.controller_missing,
    looks.concerns_many,
    looks.recovered,
    looks.repaired_meanwhile,
    looks.powered_off,
    looks.failed_launch,
    looks.gone,
    looks.role,
)
_OTHERS: tuple[_Look, ...] = (
    looks.patching,
    looks.switched_on,
    looks.auto_resume,
    looks.ignored_reason,
    looks.in_hand,
    looks.busy_cluster,
)
_LAST: tuple[_Look, ...] = (looks.unknown_cause,)
_PEOPLE: tuple[_Guard, ...] = (guards.observe_only, guards.protected)
_HOLDS: tuple[_Guard, ...] = (
    guards.paused,
    guards.controller_away,
    guards.breaker,
    guards.shortage,
    guards.floor,
)
_DOUBTS: tuple[_Guard, ...] = (guards.evidence, guards.foreign_drain, guards.mended)


def decide(facts: Facts) -> Decision:
    """What to do about the incident now. Never a destructive ACT on forged, protected, paused or unknown ground."""
    start = _start(facts)
    if isinstance(start, Decision):
        return _expiring(start, facts)
    for look in (looks.called, *_FIRST, looks.grace, *_OTHERS, *_LAST):
        if (settled := look(start)) is not None:
            return _expiring(_named(settled, start), facts)
    proposal = _propose(start)
    if proposal.verdict not in {Verdict.ACT, Verdict.ASK}:
        return _named(proposal, start)
    return _expiring(_guarded(start, proposal, calling=False, approved=False), facts)


def recheck(decision: Decision, facts: Facts) -> Decision:
    """The same rules on state read right before the call, for the very rung and instance that were decided.

    An ASK comes here once people have approved it, and passes as ACT. The answer is ACT with that rung and instance,
    or something that touches nothing (ASK, WAIT, HOLD, HUMAN, CLOSE, …): never a harder rung, never another instance.
    """
    if decision.verdict not in {Verdict.ACT, Verdict.ASK}:
        return decide(facts)
    approved = decision.verdict is Verdict.ASK
    start = _start(facts)
    if isinstance(start, Decision):
        return _expiring(start, facts)
    for look in (*_FIRST, *_OTHERS, *_LAST):
        if (settled := look(start)) is not None:
            return _expiring(_named(settled, start), facts)
    if start.instance != decision.instance_id:
        reason = f"decided for {decision.instance_id}, but {start.instance or 'no instance'} stands there now"
        return _named(looks.close(Outcome.SUPERSEDED, reason), start)
    if decision.rung not in start.rule.ladder:
        return looks.human(Guard.LADDER, f"the policy no longer allows to {decision.rung.in_words} for this cause")
    proposal = replace(decision, verdict=Verdict.ACT, guard=None, unguarded="", wait_s=0)
    if not approved and start.rule.mode is Mode.ASK:
        proposal = replace(proposal, verdict=Verdict.ASK)
    if (spent := _spent(start, proposal)) is not None:
        return spent
    return _expiring(_guarded(start, proposal, calling=True, approved=approved), facts)


def held_since(incident: Incident) -> datetime | None:
    """When the hold began that the incident is under, patching included; None when it is under none."""
    held = {HELD, looks.PATCHING}
    return next((s.started_at for s in reversed(incident.steps) if s.name in held and s.ended_at is None), None)


def applied(incident: Incident, decision: Decision, now: datetime) -> Incident:
    """The incident after a decision: its state, the decision in words, and the step that measures a hold.

    Closing is left to `incident.close`, with `decision.outcome`.
    """
    match decision.verdict:
        case Verdict.HOLD:
            state = IncidentState.HELD
        case Verdict.ASK:
            state = IncidentState.APPROVAL
        case Verdict.ACT:
            state = IncidentState.ACTING
        case Verdict.WAIT:
            state = IncidentState.OPEN if incident.state is IncidentState.HELD else incident.state
        case Verdict.OBSERVE | Verdict.NOTHING | Verdict.HUMAN | Verdict.CLOSE:
            state = incident.state
    if decision.guard in _THEIRS and incident.state is IncidentState.APPROVAL:
        # What people have said was said of a state that is no more: they are asked anew, if anything is left to ask.
        state = IncidentState.HELD if state is IncidentState.HELD else IncidentState.OPEN
        incident = replace(incident, withdrawn=incident.withdrawn + 1)
    return replace(_stepped(incident, decision, now), state=state, decision=decision.reason)


def _stepped(incident: Incident, decision: Decision, now: datetime) -> Incident:
    """The step of what the incident waits for begins, and those of what it waited for before end."""
    waits = decision.verdict in {Verdict.WAIT, Verdict.HOLD}
    kept = _STEPS.get(decision.guard) if waits and decision.guard else None
    if kept is None and decision.verdict is Verdict.HOLD:
        kept = HELD
    for name in (HELD, *_STEPS.values()):
        if name != kept and any(step.name == name and step.ended_at is None for step in incident.steps):
            incident = end_step(incident, name, now)
    return incident if kept is None else begin_step(incident, kept, now, decision.reason)


def _start(facts: Facts) -> View | Decision:
    incident, cluster = facts.incident, facts.cluster
    if incident.state is IncidentState.CLOSED:
        return Decision(Verdict.NOTHING, "the incident is closed already", outcome=incident.outcome or Outcome.IGNORED)
    poll = facts.policy.poll_s
    if cluster is None:
        reason = "HyperPod could not be read: the node's state is unknown, so nothing is done"
        return Decision(Verdict.HOLD, reason, guard=Guard.LIVE_STATE, wait_s=poll)
    if cluster.status == "Deleting" or (cluster.status == GONE and _gone_for(incident, facts.now) >= GONE_FOR):
        return looks.close(Outcome.IGNORED, "the cluster is gone, or being deleted", Guard.CLUSTER_BUSY)
    if cluster.status == GONE:
        return Decision(Verdict.HOLD, NOT_KNOWN, guard=Guard.LIVE_STATE, wait_s=poll)
    if not cluster.nodes:
        reason = "HyperPod lists no node at all: an empty answer is unknown, never all well"
        return Decision(Verdict.HOLD, reason, guard=Guard.LIVE_STATE, wait_s=poll)
    return view_of(facts, cluster)


def _gone_for(incident: Incident, now: datetime) -> timedelta:
    """How long the incident has been held because its cluster is not known; zero when it is held for something else."""
    held = [s for s in incident.steps if s.name == HELD and s.ended_at is None and s.detail == NOT_KNOWN]
    return now - held[0].started_at if held else timedelta()


def _propose(view: View) -> Decision:
    facts, incident = view.facts, view.facts.incident
    choice = next_rung(
        view.rule.ladder,
        incident.attempts,
        facts.history,
        facts.policy,
        view.instance,
        incident.logical_id,
        facts.now,
        incident_id=incident.incident_id,
        available=facts.available,
        tries=2 if incident.cause is CauseClass.PROVISIONING else 1,
    )
    if choice.rung is Rung.HUMAN:
        guard = Guard.BUDGET if choice.guard == "budget" else Guard.LADDER
        return looks.human(guard, f"{incident.code}: {choice.reason}")
    if choice.wait_s:
        return looks.wait(view, Guard.COOLDOWN, f"{choice.reason}; {choice.wait_s} s more", choice.wait_s)
    spoke = "HyperPod itself speaks against it" if view.corroborated else "only Slurm or a log speaks against it"
    reason = f"{incident.code} on {view.instance} ({incident.cause}); {spoke}; {choice.reason}"
    verdict = Verdict.ASK if view.rule.mode is Mode.ASK else Verdict.ACT
    return Decision(verdict, reason, choice.rung, view.instance)


def _guarded(view: View, proposal: Decision, *, calling: bool, approved: bool) -> Decision:
    """Send the proposal past the guards; what the first one says stands, with what would have been done without it."""
    without = f"{proposal.verdict} {proposal.rung.in_words} {proposal.instance_id}"
    for guard in (*_PEOPLE, *_HOLDS):
        if (instead := guard(view, proposal)) is not None:
            return replace(_named(instead, view), unguarded=without)
    if (instead := guards.undrained(view, proposal, approved=approved)) is not None:
        proposal = replace(_named(instead, view), unguarded=without)
        if proposal.verdict is Verdict.HUMAN:
            return proposal
    if not approved:
        for guard in _DOUBTS:
            if (instead := guard(view, proposal)) is not None:
                proposal = replace(instead, unguarded=without)
    if proposal.verdict is Verdict.ASK and view.facts.incident.withdrawn >= MOST_QUESTIONS:
        return replace(guards.asked_enough(view), instance_id=view.instance, unguarded=without)
    instead = guards.running_job(view, proposal, calling=calling, approved=approved)
    return proposal if instead is None else replace(instead, instance_id=view.instance, unguarded=without)


def _spent(view: View, proposal: Decision) -> Decision | None:
    """The budget, counted anew: other incidents may have used it up while people were asked."""
    budget = view.facts.policy.budget(proposal.rung)
    since, mine = view.facts.now - DAY, view.facts.incident.incident_id
    others = [
        entry
        for entry in view.facts.history.of_kind(proposal.rung.value, since)
        if not (entry.incident_id == mine and entry.subject == proposal.instance_id)
    ]
    if len(others) < budget.per_day:
        return None
    return looks.human(
        Guard.BUDGET, f"the day's budget of {budget.per_day} x {proposal.rung.in_words} is used up by now"
    )


def _named(decision: Decision, view: View) -> Decision:
    return decision if decision.instance_id else replace(decision, instance_id=view.instance)


def _expiring(decision: Decision, facts: Facts) -> Decision:
    """A hold does not last for ever: what was decided hours ago no longer fits. Blindness ends with people."""
    since = held_since(facts.incident)
    if decision.verdict is not Verdict.HOLD or since is None or decision.guard is Guard.PATCHING:
        return decision  # patching has a limit of its own
    held = (facts.now - since).total_seconds()
    if held < facts.policy.breaker.hold_expiry_s:
        return decision
    reason = f"held for {round(held / 60)} min, longer than a decision lives: {decision.reason}"
    if decision.guard is Guard.LIVE_STATE:
        return looks.human(Guard.LIVE_STATE, reason)
    return replace(
        looks.close(Outcome.EXPIRED, reason, decision.guard),
        unguarded=decision.unguarded,
        instance_id=decision.instance_id,
    )
