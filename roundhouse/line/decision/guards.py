"""Guards: what may stand between a proposed action and the call. Pure.

Each takes the view and the proposal and returns a decision in its place, or None to let it pass. Whatever a guard puts
in its place is never more destructive than the proposal.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from roundhouse.line.breaker import BreakerEntry, admit
from roundhouse.line.decision.facts import View
from roundhouse.line.decision.looks import CAPACITY_ADVICE, PATCHING, human, wait
from roundhouse.line.decision.verdict import Decision, Guard, Verdict
from roundhouse.line.drains import DRAIN
from roundhouse.line.incident import Outcome
from roundhouse.line.policy import Mode
from roundhouse.line.slurm import set_by_people
from roundhouse.line.state import Cluster, NodeStatus
from roundhouse.line.theirs import is_shortage

APPROVAL = "approval"  # name of the step in which people are asked
SHORTAGE_MEMORY = timedelta(hours=1)


def hold(view: View, guard: Guard, reason: str) -> Decision:
    return Decision(Verdict.HOLD, reason, guard=guard, wait_s=view.facts.policy.poll_s)


def observe_only(view: View, proposal: Decision) -> Decision | None:
    """Observe is the default: say what would have been done, and leave it."""
    if view.rule.mode is not Mode.OBSERVE:
        return None
    reason = f"the policy says observe for {view.facts.incident.cause}: nothing is done"
    return Decision(Verdict.OBSERVE, reason, guard=Guard.OBSERVE, outcome=Outcome.OBSERVED)


def protected(view: View, proposal: Decision) -> Decision | None:
    """Groups and nodes that the environment reserves to people."""
    policy, incident = view.facts.policy, view.facts.incident
    if view.group in policy.protected_groups:
        return human(Guard.PROTECTED, f"group {view.group} is protected: people decide there")
    names = {view.instance, incident.instance_id, incident.logical_id, incident.slurm_name}
    if view.node is not None:
        names |= {view.node.logical_id, view.node.hostname}
    listed = sorted(name for name in names if name and name in policy.protected_nodes)
    if listed:
        return human(Guard.PROTECTED, f"node {listed[0]} is protected: people decide there")
    return None


def paused(view: View, proposal: Decision) -> Decision | None:
    """A person has stopped all automatic action."""
    pause = view.facts.pause
    if pause is None:
        return None
    return hold(view, Guard.PAUSED, f"paused by {pause.by} since {pause.since:%d %b %H:%M} UTC: {pause.why}")


def breaker(view: View, proposal: Decision) -> Decision | None:
    """The circuit breaker, asked without being changed: an open one holds, and so does one that this would open."""
    state = view.facts.breaker
    if state is None:
        return hold(view, Guard.BREAKER, "the breaker could not be read, and an unreadable breaker stops action")
    entry = BreakerEntry(view.facts.now, "drain", view.instance, view.group or "", view.facts.incident.cause.value)
    targets = compute_targets(view.cluster)
    admission, _ = admit(
        state, entry, view.facts.policy.breaker, targets.get(entry.group, 0), sum(targets.values()), view.facts.now
    )
    return None if admission.allowed else hold(view, Guard.BREAKER, admission.reason)


def compute_targets(cluster: Cluster) -> dict[str, int]:
    """Group → target count, for the groups whose nodes do the work: what the breaker's percentages are of."""
    return {group.name: group.target for group in cluster.groups.values() if group.role == "Compute"}


def shortage(view: View, proposal: Decision) -> Decision | None:
    """While there is no capacity, giving an instance away means never to see one come back."""
    if not proposal.rung.destructive:
        return None
    since = view.facts.now - SHORTAGE_MEMORY
    for event in view.facts.events:
        here = event.group is None or event.group == view.group
        if event.at > since and here and is_shortage(f"{event.failure} {event.description}"):
            reason = f"no capacity for group {view.group} at {event.at:%H:%M} UTC: a new instance would not come"
            return replace(hold(view, Guard.CAPACITY, reason), advice=CAPACITY_ADVICE)
    return None


def floor(view: View, proposal: Decision) -> Decision | None:
    """So many nodes of the group must stay Running."""
    need = view.facts.policy.capacity_floor.get(view.group or "", 0)
    running = view.cluster.running(view.group or "")
    after = running - (view.node is not None and view.node.status is NodeStatus.RUNNING)
    if after >= need:
        return None
    return hold(view, Guard.FLOOR, f"{after} nodes of {view.group} would stay Running; the floor is {need}")


def evidence(view: View, proposal: Decision) -> Decision | None:
    """What a node says about itself or another can be forged there: alone it destroys nothing without people, and
    while HyperPod has the node Running and has never spoken against it, it reboots nothing either, unless the policy
    lets Slurm's word suffice for that."""
    if proposal.verdict is not Verdict.ACT or view.corroborated:
        return None
    if not proposal.rung.destructive and (view.facts.policy.slurm_may_reboot or not proposal.rung.changes_hyperpod):
        return None
    said = "HyperPod has it Running, and only Slurm or a log on a node speaks against it: people decide"
    return replace(proposal, verdict=Verdict.ASK, guard=Guard.EVIDENCE, reason=f"{proposal.reason}; {said}")


def foreign_drain(view: View, proposal: Decision) -> Decision | None:
    """Somebody else drained it for a reason of theirs: they are asked before anything happens to it."""
    if proposal.verdict is not Verdict.ACT or view.slurm is None or view.slurm_node is None:
        return None
    taken = view.slurm.draining or view.slurm.failing
    if not (taken and set_by_people(view.slurm_node.reason)):
        return None
    said = f'somebody else drained it ("{view.slurm_node.reason[:80]}"): people decide'
    return replace(proposal, verdict=Verdict.ASK, guard=Guard.FOREIGN_DRAIN, reason=f"{proposal.reason}; {said}")


def undrained(view: View, proposal: Decision, *, approved: bool) -> Decision | None:
    """People have taken our drain back by hand: they want the node, and say so themselves before anything is done.

    An approval from before that does not count. Where nobody may approve, people are told.
    """
    incident = view.facts.incident
    if incident.undrained_at is None or proposal.verdict not in {Verdict.ACT, Verdict.ASK}:
        return None
    answered = [s.ended_at for s in incident.steps if s.name == APPROVAL and s.ended_at is not None]
    if approved and answered and answered[-1] > incident.undrained_at:
        return None
    said = f"our drain was taken back by hand at {incident.undrained_at:%H:%M} UTC: people want the node in use"
    if not view.facts.policy.approvers:
        return human(Guard.UNDRAINED, f"{proposal.reason}; {said}, and nobody may approve: look at it")
    return replace(proposal, verdict=Verdict.ASK, guard=Guard.UNDRAINED, reason=f"{proposal.reason}; {said}")


def mended(view: View, proposal: Decision) -> Decision | None:
    """The node was patched, or rebooted by others, after the last bad news: perhaps there is nothing left to mend.
    Looked at, not acted upon, unless HyperPod has it in Failure."""
    incident, node = view.facts.incident, view.node
    if proposal.verdict is not Verdict.ACT or incident.attempts or node is None:
        return None
    if node.status is not NodeStatus.RUNNING:
        return None
    patched = node.updated_at
    if patched is None:  # not told: it may have been, while the group was
        patched = next((s.ended_at for s in reversed(incident.steps) if s.name == PATCHING and s.ended_at), None)
    others = [o for o in incident.others if o.kind in {"reboot", "check"} and o.at > incident.last_event_at]
    if patched is not None and patched > incident.last_event_at:
        said = f"it was patched at {patched:%H:%M} UTC, after the last bad news, and runs: people decide"
    elif others:
        said = f"{others[-1].who} called {others[-1].call} after the last bad news, and it runs: people decide"
    else:
        return None
    return replace(proposal, verdict=Verdict.ASK, guard=Guard.MENDED, reason=f"{proposal.reason}; {said}")


def asked_enough(view: View) -> Decision:
    """Each time that people were asked, others acted before they had answered."""
    count = view.facts.incident.withdrawn
    return human(
        Guard.ASKED_ENOUGH, f"asked {count} times, and each time others acted on the node meanwhile: people must look"
    )


def controller_away(view: View, proposal: Decision) -> Decision | None:
    """Without a controller nobody knows of jobs and drains, and a node that seems lost may only be out of touch."""
    away = view.cluster.controller_away
    if not away:
        return None
    return hold(view, Guard.CONTROLLER_AWAY, f"{away}: no node is acted upon until it is back")


def running_job(view: View, proposal: Decision, *, calling: bool, approved: bool) -> Decision | None:
    """Drain before force: jobs get until the drain's deadline; after it people are asked, unless they said yes.

    Before the cordon (`calling` False) a node that nobody drains yet is no reason to wait: the drain comes next.
    """
    incident, deadline_s = view.facts.incident, view.facts.policy.drain_deadline_s
    draining = view.slurm is not None and view.slurm.draining
    if not calling and not draining:
        return None
    left = view.left(_drained_at(view), deadline_s)
    if view.slurm is None or view.slurm_node is None:
        unknown = calling and proposal.rung.changes_hyperpod and not approved and left
        said = f"Slurm is not known now, so jobs may still run: {left} s more until the drain's deadline"
        return wait(view, Guard.JOB, said, left) if unknown else None
    dead = view.slurm.down and view.slurm.not_responding
    if not view.slurm_node.jobs or dead:
        return None
    jobs = ", ".join(str(job) for job in view.slurm_node.jobs[:5])
    if left:
        return wait(view, Guard.JOB, f"job {jobs} still runs on {incident.slurm_name}: {left} s more to end", left)
    if approved or proposal.verdict is not Verdict.ACT:
        return None
    said = f"job {jobs} still runs after the drain's deadline: people decide"
    return replace(proposal, verdict=Verdict.ASK, guard=Guard.JOB, reason=f"{proposal.reason}; {said}")


def _drained_at(view: View) -> datetime:
    steps = view.facts.incident.steps
    return next((s.started_at for s in reversed(steps) if s.name == DRAIN), view.facts.incident.opened_at)
