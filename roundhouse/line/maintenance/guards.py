"""Guards of a drain before maintenance: what may stand between its time and the drain. Pure.

As with repairs, each takes the view and the proposal and returns a decision in its place, or None to let it pass.
"""

from __future__ import annotations

from roundhouse.contracts.commands import owner
from roundhouse.line import breaker
from roundhouse.line.breaker import BreakerStatus
from roundhouse.line.decision import Decision, Guard, Verdict, compute_targets, guards
from roundhouse.line.decision.facts import View
from roundhouse.line.incident import Outcome
from roundhouse.line.maintenance.facts import Facts, entry
from roundhouse.line.maintenance.window import Window
from roundhouse.line.slurm import bare_reason, set_by_people
from roundhouse.line.state import Cluster, NodeStatus


def people_only(view: View) -> Decision | None:
    """Controller, login and protected nodes: AWS will work on them, and only people may prepare for that."""
    name = {"Controller": "the controller", "Login": "a login node"}.get(view.role)
    if name is not None:
        reason = f"AWS will work on {name}: no machine prepares that; see the advice in docs/operating/maintenance.md"
        return Decision(Verdict.HUMAN, reason, guard=Guard.PROTECTED, outcome=Outcome.ESCALATED)
    return guards.protected(view, Decision(Verdict.ACT, ""))


def elsewhere(facts: Facts, view: View) -> Decision | None:
    """Somebody else has the node: HyperPod, a repair of ours, or whoever drained it for a reason of theirs."""
    node, poll = view.node, facts.policy.poll_s
    if node is not None and node.status is not NodeStatus.RUNNING:
        reason = f"{view.instance} is {node.status}: it is not drained while it does not run"
        return Decision(Verdict.WAIT, reason, guard=Guard.IN_HAND, wait_s=poll)
    if facts.repair:
        reason = f"{facts.repair} repairs this node: that comes first"
        return Decision(Verdict.WAIT, reason, guard=Guard.IN_HAND, wait_s=poll)
    if patched := view.cluster.patching(view.group):
        reason = f"HyperPod is patching ({patched}): it is not drained meanwhile"
        return Decision(Verdict.WAIT, reason, guard=Guard.PATCHING, wait_s=poll)
    if view.slurm is None or view.slurm_node is None:
        return None
    said = bare_reason(view.slurm_node.reason)[:80]
    if view.slurm.failing:
        return Decision(Verdict.WAIT, f"{view.slurm_node_text}: HyperPod acts", guard=Guard.IN_HAND, wait_s=poll)
    mine = owner(said) in {None, facts.incident.incident_id}
    if view.slurm.draining and (set_by_people(view.slurm_node.reason) or not mine):
        reason = f'it is drained already ("{said}"): that is left as it is, and ours not put over it'
        return Decision(Verdict.WAIT, reason, guard=Guard.FOREIGN_DRAIN, wait_s=poll)
    return None


def held(facts: Facts, view: View) -> Decision | None:
    """Pause, breaker, floor, and whose turn it is."""
    proposal = Decision(Verdict.ACT, "")
    return guards.paused(view, proposal) or _breaker(facts, view, proposal) or _floor(facts, view) or _turn(facts, view)


def _breaker(facts: Facts, view: View, proposal: Decision) -> Decision | None:
    """An open breaker holds, and its canary is a repair, never a drain: that proves nothing about what opened it."""
    state = facts.breaker
    if state is not None and state.status is not BreakerStatus.CLOSED:
        return guards.hold(view, Guard.BREAKER, f"breaker is {state.status.value.replace('_', ' ')}: {state.reason}")
    return guards.breaker(view, proposal)


def _floor(facts: Facts, view: View) -> Decision | None:
    """So many nodes must stay in work. A drained node is Running to HyperPod, and out of work all the same."""
    need = facts.policy.capacity_floor.get(view.group or "", 0)
    after = len(_working(facts, view.cluster, view.group or "") - {view.instance})
    if after >= need:
        return None
    return guards.hold(view, Guard.FLOOR, f"{after} nodes of {view.group} would stay in work; the floor is {need}")


def _turn(facts: Facts, view: View) -> Decision | None:
    """The oldest window first, where floor and breaker do not let all of them go."""
    due = facts.due()
    mine = next((at for at, o in enumerate(due) if o.instance_id == view.instance), len(due))
    before = due[:mine]
    if not before or facts.breaker is None:
        return None
    group, now, limits = view.group or "", facts.now, facts.policy.breaker
    left = _working(facts, view.cluster, group) - {o.instance_id for o in before if o.group == group} - {view.instance}
    fits = len(left) >= facts.policy.capacity_floor.get(group, 0)
    state, targets = facts.breaker, compute_targets(view.cluster)
    for instance, of in [*((o.instance_id, o.group) for o in before), (view.instance, group)]:
        drain = entry(instance, of, "drain", now)
        admission, state = breaker.admit(state, drain, limits, targets.get(of, 0), sum(targets.values()), now)
        fits = fits and (instance != view.instance or admission.allowed)
    if fits:
        return None
    first = before[0]
    reason = f"{len(before)} nodes with older windows come first ({first.instance_id}, {first.starts:%d %b %H:%M} UTC)"
    return guards.hold(view, Guard.TURN, reason)


def _working(facts: Facts, cluster: Cluster, group: str) -> set[str]:
    """Running nodes of the group that we keep out of work for no incident."""
    gone = facts.away | {o.instance_id for o in facts.others if o.drained}
    return {
        n.instance_id
        for n in cluster.nodes
        if n.group == group and n.status is NodeStatus.RUNNING and n.instance_id and n.instance_id not in gone
    }


def too_long(window: Window, instance: str) -> Decision:
    """A window of more than a day: so long is no node kept out of work unasked."""
    reason = f"the window of {instance} is longer than a day ({window.in_words}): people decide whether it is drained"
    return Decision(Verdict.ASK, reason, guard=Guard.LONG_WINDOW)
