"""Looks at HyperPod's own repair: whether it may come, is asked for by Slurm, or has begun. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from roundhouse.line.decision.facts import View
from roundhouse.line.decision.looks.made import human, wait
from roundhouse.line.decision.verdict import Decision, Guard
from roundhouse.line.incident import RECOVERY
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import LEAST_GRACE_S
from roundhouse.line.slurm import bare_reason, hyperpod_action, meant_for_hyperpod
from roundhouse.line.theirs import Phase, repair_phase

AUTOMATIC = "Automatic"
AUTO_RESUME = "auto_resume"  # name of the step that runs while HyperPod is to act upon Slurm's word
_OURS = {Rung.REBOOT: "reboot", Rung.REPLACE: "replace", Rung.DELETE_RESTORE: "replace"}


def grace(view: View) -> Decision | None:
    """Time for HyperPod's own repair where it is switched on, and for news that arrive late. Over once we have acted.

    What was patched meanwhile gets the time again: whether the fault is still there shows by its news.
    """
    incident, node = view.facts.incident, view.node
    begun = incident.opened_at
    if node is not None and node.updated_at is not None and node.updated_at > incident.last_event_at:
        begun = max(begun, node.updated_at)
    left = view.left(begun, view.rule.grace_s)
    if incident.attempts or not left:
        return None
    own = "HyperPod's own repair and for late news"
    if view.cluster.node_recovery != AUTOMATIC:
        own = "late news; HyperPod's own repair is switched off (NodeRecovery None)"
    return wait(view, Guard.GRACE, f"grace: {left} s more for {own}", left)


def switched_on(view: View) -> Decision | None:
    """HyperPod's own repair was switched on meanwhile: from then on it gets its time, as if the incident were new."""
    incident = view.facts.incident
    if incident.attempts or view.cluster.node_recovery != AUTOMATIC:
        return None
    seconds = max(view.rule.grace_s, LEAST_GRACE_S)
    now_only = incident.node_recovery not in {"", AUTOMATIC}
    since = view.facts.now if now_only else _switched_at(view)
    left = view.left(since, seconds) if since else 0
    if not left:
        return None
    return wait(view, Guard.GRACE, f"HyperPod's own repair was switched on meanwhile: {left} s more for it", left)


def _switched_at(view: View) -> datetime | None:
    steps = [s for s in view.facts.incident.steps if s.name == RECOVERY and s.detail == AUTOMATIC]
    return steps[-1].started_at if steps else None


def auto_resume(view: View) -> Decision | None:
    """Slurm has it failing with the exact reason that HyperPod obeys: it waits for running jobs, then acts. That reason
    is never written over, so nothing is drained meanwhile."""
    node = view.slurm_node
    if node is None or view.slurm is None or not view.slurm.failing:
        return None
    action = hyperpod_action(node.reason)
    if action is None or node.instance_id not in {None, view.instance}:
        return None
    said = f"Slurm has {node.name} {node.state} with reason {bare_reason(node.reason)}"
    if node.jobs:
        jobs = ", ".join(str(job) for job in node.jobs[:5])
        return wait(view, Guard.IN_HAND, f"{said}: HyperPod will {action} it once job {jobs} has ended")
    since = view.running_step(AUTO_RESUME) or view.facts.now
    timeout = view.facts.policy.repair_timeout_s
    if view.facts.now - since >= timedelta(seconds=timeout):
        advice = (
            "Look whether the cluster is InService: HyperPod acts on nodes of such clusters alone.",
            f"Replace or reboot it by hand (batch-{action}-cluster-nodes), or set it to resume.",
        )
        return human(Guard.AUTO_RESUME, f"{said}, and HyperPod has not acted within {timeout // 60} min", advice)
    return wait(view, Guard.AUTO_RESUME, f"{said}: HyperPod will {action} it, and has {timeout // 60} min for that")


def ignored_reason(view: View) -> Decision | None:
    """A reason that is nearly one that HyperPod obeys: it is ignored silently, and the node hangs there for ever."""
    node = view.slurm_node
    if node is None or view.slurm is None or not view.slurm.failing:
        return None
    meant = meant_for_hyperpod(node.reason)
    if meant is None:
        return None
    reason = f'HyperPod ignores the reason "{bare_reason(node.reason)[:80]}" of {node.name} for ever'
    advice = (
        f"It obeys {meant} alone, with exactly these letters and no blank.",
        f'scontrol update nodename={node.name} state=fail reason="{meant}"',
        f"Or give it back: scontrol update nodename={node.name} state=resume",
    )
    return human(Guard.AUTO_RESUME, f"{reason}: the exact text is {meant}", advice)


def their_repair(view: View) -> tuple[str, Phase] | None:
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
