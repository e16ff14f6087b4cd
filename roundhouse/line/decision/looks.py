"""Looks: the rules that settle an incident, or make it wait, before any action is thought of. Pure.

Each takes the view and returns a decision, or None to let the next one look.
"""

from __future__ import annotations

from roundhouse.line.breaker import TAKING
from roundhouse.line.decision.facts import View
from roundhouse.line.decision.verdict import Decision, Guard, Verdict
from roundhouse.line.event import LOST_READY, CauseClass, Health
from roundhouse.line.incident import IncidentState, Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.state import NodeStatus
from roundhouse.line.theirs import Phase, repair_phase

COMING = frozenset(
    {NodeStatus.PENDING, NodeStatus.DEEP_HEALTH_CHECK, NodeStatus.SHUTTING_DOWN, NodeStatus.SYSTEM_UPDATING}
)
_OURS = {Rung.REBOOT: "reboot", Rung.REPLACE: "replace", Rung.DELETE_RESTORE: "replace"}
PROVISIONING_GIVE_UP_S = 5400  # a launch that still fails after 90 min does not heal by trying again

_SETTLED_BY_COUNTS = frozenset({LOST_READY, "cluster_failed", "cluster_rollingback"})

CONTROLLER_ADVICE = (
    "A controller can be neither deleted nor replaced by HyperPod's node calls.",
    "Check that it is really gone: describe-cluster-node, and sinfo from a login node.",
    "Reboot it with batch-reboot-cluster-nodes if it still runs: its disks are kept.",
    "If that fails, open a Support case (production down) with the cluster's ARN and the instance id.",
    "Running jobs go on meanwhile, but nothing new starts: tell the users.",
)
CAPACITY_ADVICE = (
    "Do not replace running nodes of this group: none would come back.",
    "Compare the AZ id of the group's subnet with that of its training plan or reservation: they must be equal.",
    "Check the plan: status Active, window not over, AvailableInstanceCount above 0, its ARN in the group.",
    "If all of that is right, ask the AWS account team; HyperPod goes on trying by itself.",
)


def close(outcome: Outcome, reason: str, guard: Guard | None = None) -> Decision:
    return Decision(Verdict.CLOSE, reason, outcome=outcome, guard=guard)


def human(guard: Guard, reason: str, advice: tuple[str, ...] = ()) -> Decision:
    return Decision(Verdict.HUMAN, reason, Rung.HUMAN, guard=guard, outcome=Outcome.ESCALATED, advice=advice)


def wait(view: View, guard: Guard, reason: str, seconds: int | None = None) -> Decision:
    poll = view.facts.policy.poll_s
    return Decision(Verdict.WAIT, reason, guard=guard, wait_s=max(1, poll if seconds is None else min(seconds, poll)))


def recovered(view: View) -> Decision | None:
    """Healthy by the newest event and Running by HyperPod; a launch that came up; a node that Slurm has back."""
    incident, node = view.facts.incident, view.node
    if view.failed_attempt or node is None or node.status is not NodeStatus.RUNNING:
        return None
    if incident.health == Health.HEALTHY:
        return close(Outcome.RECOVERED, "the newest news of this node are good, and HyperPod has it Running")
    if incident.cause in {CauseClass.PROVISIONING, CauseClass.LIFECYCLE} and incident.instance_id.startswith("node:"):
        return close(Outcome.RECOVERED, f"the launch came through: {view.instance} is Running")
    snapshot, state = view.cluster.slurm, view.slurm
    if incident.cause is CauseClass.UNREACHABLE and not incident.trusted and snapshot and state:
        broken = state.down or state.not_responding or state.failing or state.invalid or not state.known
        if snapshot.taken_at > incident.last_event_at and not broken:
            return close(Outcome.RECOVERED, f"Slurm has the node back ({view.slurm_node_text})")
    return None


def repaired_meanwhile(view: View) -> Decision | None:
    """The node was repaired under another incident after the last bad news of this one: these are old news by now."""
    incident, node = view.facts.incident, view.node
    if incident.attempts or node is None or node.status is not NodeStatus.RUNNING:
        return None
    for entry in view.facts.history.of_node(view.instance, None):
        other = entry.incident_id not in {None, incident.incident_id} and entry.kind in TAKING
        if other and entry.state == "CONFIRMED" and entry.claimed_at > incident.last_event_at:
            reason = f"{entry.kind} for {entry.incident_id} came after the last bad news of this one, and it is Running"
            return close(Outcome.RECOVERED, reason)
    return None


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


def powered_off(view: View) -> Decision | None:
    """Slurm switched it off: off is not broken. HyperPod's own word outranks that."""
    if view.slurm and view.slurm.powered_off and not view.corroborated:
        return close(
            Outcome.IGNORED, f"powered down by Slurm ({view.slurm_node_text}): off, not broken", Guard.POWERED_OFF
        )
    return None


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


def busy_cluster(view: View) -> Decision | None:
    """No repair while HyperPod patches, creates, deletes or rolls back."""
    policy, status = view.facts.policy, view.cluster.status
    if status == "Failed":
        return human(Guard.CLUSTER_BUSY, "the cluster has Failed: node repair is refused, it must be made again")
    if view.cluster.patching:
        reason = "HyperPod is patching: repair is suspended until it is done"
        return Decision(Verdict.HOLD, reason, guard=Guard.PATCHING, wait_s=policy.poll_s)
    if status != "InService":
        reason = f"the cluster is {status}: HyperPod takes no repair now"
        return Decision(Verdict.HOLD, reason, guard=Guard.CLUSTER_BUSY, wait_s=policy.poll_s)
    return None


def concerns_many(view: View) -> Decision | None:
    """Causes that no action on a node can mend: a shortage, the cluster as a whole, launches of no known node."""
    incident = view.facts.incident
    subject = incident.instance_id
    of_a_node = not subject.startswith("group:") and subject != "cluster"
    if of_a_node and incident.cause not in {CauseClass.CAPACITY, CauseClass.CLUSTER}:
        return None
    groups = [g for g in view.cluster.groups.values() if subject in {f"group:{g.name}", "cluster"}]
    if incident.code == LOST_READY and any(g.current != g.target for g in groups):
        return close(Outcome.IGNORED, "nodes come and go while a group is being scaled")
    if incident.health == Health.HEALTHY:
        return close(Outcome.RECOVERED, "the newest news of it are good")
    full = all(view.cluster.running(g.name) >= g.target for g in groups) and bool(groups)
    counts = incident.cause is not CauseClass.CLUSTER or incident.code in _SETTLED_BY_COUNTS
    if full and counts and view.cluster.status == "InService":
        return close(Outcome.RECOVERED, "every node that was asked for is Running")
    if (waiting := grace(view)) is not None:
        return waiting
    missing = (
        ", ".join(f"{g.name} {view.cluster.running(g.name)} of {g.target} Running" for g in groups) or "no group known"
    )
    if incident.cause is CauseClass.CAPACITY:
        return human(
            Guard.CAPACITY, f"no capacity for more instances ({missing}): retrying does not help", CAPACITY_ADVICE
        )
    lame = [
        f"{n.instance_id or n.logical_id} {n.status}" for n in view.cluster.nodes if n.status is not NodeStatus.RUNNING
    ]
    detail = f"; not Running: {', '.join(lame[:10])}" if lame else ""
    return human(Guard.CLUSTER, f"{incident.code} concerns more than one node ({missing}){detail}: people must look")


def failed_launch(view: View) -> Decision | None:
    """A launch that fails is retried by HyperPod; between two attempts the node is not even listed."""
    incident = view.facts.incident
    if not incident.instance_id.startswith("node:") or (view.node is not None and view.instance):
        if incident.cause is CauseClass.PROVISIONING and view.left(incident.opened_at, PROVISIONING_GIVE_UP_S) == 0:
            return human(
                Guard.LADDER, f"{incident.code}: still no node after {PROVISIONING_GIVE_UP_S // 60} min of trying"
            )
        return None
    if view.waited(view.facts.policy.repair_timeout_s):
        return human(Guard.IN_HAND, f"{incident.code}: no instance has come up behind {incident.instance_id}")
    return wait(
        view, Guard.IN_HAND, f"{incident.code}: HyperPod tries again; no instance stands there between two attempts"
    )


def role(view: View) -> Decision | None:
    """Controller and login nodes are never touched by a machine."""
    code = view.facts.incident.code
    if view.role == "Controller":
        return human(
            Guard.CONTROLLER, f"the controller is in trouble ({code}): only people may act on it", CONTROLLER_ADVICE
        )
    if view.role == "Login":
        return human(Guard.LOGIN, f"a login node is in trouble ({code}): people work there, so people decide")
    return None


def unknown_cause(view: View) -> Decision | None:
    """Unknown is not fatal: watched through the grace, then shown to people, never acted upon."""
    incident = view.facts.incident
    if incident.cause is not CauseClass.UNKNOWN:
        return None
    reason = f"{incident.code or 'a signal without a code'} is not known to us: held, watched, and now shown to people"
    return human(Guard.UNKNOWN_CAUSE, reason)
