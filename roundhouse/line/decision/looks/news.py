"""Looks at the news of the node: good by now, overtaken, or of nothing that is broken. Pure."""

from __future__ import annotations

from roundhouse.line.breaker import TAKING
from roundhouse.line.decision.facts import View
from roundhouse.line.decision.looks.made import close, human, wait
from roundhouse.line.decision.verdict import Decision, Guard
from roundhouse.line.event import CauseClass, Health
from roundhouse.line.incident import Outcome
from roundhouse.line.state import NodeStatus

PROVISIONING_GIVE_UP_S = 5400  # a launch that still fails after 90 min does not heal by trying again


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
        # One of the same name from before this was opened is another incident, which a restored table has lost.
        mine = entry.incident_id == incident.incident_id and entry.claimed_at >= incident.opened_at
        other = entry.incident_id is not None and not mine and entry.kind in TAKING
        if other and entry.state == "CONFIRMED" and entry.claimed_at > incident.last_event_at:
            reason = f"{entry.kind} for {entry.incident_id} came after the last bad news of this one, and it is Running"
            return close(Outcome.RECOVERED, reason)
    return None


def powered_off(view: View) -> Decision | None:
    """Slurm switched it off: off is not broken. HyperPod's own word outranks that."""
    if view.slurm and view.slurm.powered_off and not view.corroborated:
        return close(
            Outcome.IGNORED, f"powered down by Slurm ({view.slurm_node_text}): off, not broken", Guard.POWERED_OFF
        )
    return None


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


def unknown_cause(view: View) -> Decision | None:
    """Unknown is not fatal: watched through the grace, then shown to people, never acted upon."""
    incident = view.facts.incident
    if incident.cause is not CauseClass.UNKNOWN:
        return None
    reason = f"{incident.code or 'a signal without a code'} is not known to us: held, watched, and now shown to people"
    return human(Guard.UNKNOWN_CAUSE, reason)
