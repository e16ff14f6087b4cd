"""Watching a repaired node come back. Ports only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.contracts.ledger import LedgerEntry
from roundhouse.line.action import REPAIR, SHOWS_EFFECT_S
from roundhouse.line.heir import heir_of
from roundhouse.line.incident import Attempt, Incident, IncidentState, begin_step, end_step, with_result
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Policy
from roundhouse.line.state import Cluster, ClusterEvent, Node, NodeStatus
from roundhouse.line.theirs import repair_phase
from roundhouse.ports import IncidentStore, Ledger
from roundhouse.steps.repair.facts import Sources
from roundhouse.steps.repair.restore import (
    addition_of,
    confirm,
    entry_of,
    restore_wanted,
    restored_elsewhere,
    restored_node,
)
from roundhouse.steps.revise import revise

PROOF = "proof"
SET_BACK = "the record was set back to before this step: decided anew, on what the ledger knows"


def watch(
    incident_id: str, *, sources: Sources, incidents: IncidentStore, ledger: Ledger, now: datetime
) -> dict[str, Any]:
    """Where the node is: status `wait` · `running` (prove it) · `restore` (the delete is through) · `decide` (it did
    not come back, or nothing happened: the next rung)."""
    policy = sources.policy
    incident = revise(incidents, incident_id, lambda same: same)
    if not incident.attempts:
        return {"status": "decide", "reason": SET_BACK, "wait_s": policy.poll_s}
    attempt = incident.attempts[-1]
    facts = sources.gather(incident, now)
    if facts.cluster is None or not facts.cluster.nodes:
        return _wait(policy, "HyperPod could not be read")
    entry = entry_of(ledger, incident, attempt)
    added = addition_of(ledger, incident, attempt, facts.cluster)
    back, why = _back(incident, attempt, facts.cluster, facts.events, added, now)
    if back is not None and back.instance_id is not None:
        confirm(ledger, entry, why, now)
        instance = back.instance_id
        revise(incidents, incident_id, lambda i: _came_back(i, instance, why, now))
        return {"status": "running", "reason": why, "instance_id": instance, "wait_s": policy.poll_s}
    if attempt.rung is Rung.DELETE_RESTORE and facts.cluster.by_instance(attempt.instance_id) is None:
        if added is not None and restored_elsewhere(added, facts.cluster):
            return {"status": "decide", "reason": added.detail, "wait_s": policy.poll_s}
        if restore_wanted(incident, added, facts.cluster) and not _late(attempt, policy, now):
            return {"status": "restore", "reason": f"{attempt.instance_id} is deleted", "wait_s": policy.poll_s}
    if attempt.rung is Rung.REBOOT and (heir := _heir(incident, attempt, facts.cluster)) is not None:
        reason = f"{attempt.instance_id} did not reboot: {heir.instance_id} stands in its place"
        confirm(ledger, entry, reason, now)
        revise(incidents, incident_id, lambda i: _failed(i, reason, now))
        return {"status": "decide", "reason": reason, "wait_s": policy.poll_s}
    elapsed = now - attempt.at
    unmoved = facts.cluster.by_instance(attempt.instance_id)
    nothing = unmoved is not None and unmoved.status is NodeStatus.RUNNING and attempt.rung is not Rung.REBOOT
    if _late(attempt, policy, now) or (nothing and elapsed.total_seconds() > SHOWS_EFFECT_S):
        reason = f"{attempt.rung.in_words} did not bring the node back: {why}"
        confirm(ledger, entry, reason, now)
        revise(incidents, incident_id, lambda i: _failed(i, reason, now))
        return {"status": "decide", "reason": reason, "wait_s": policy.poll_s}
    return _wait(policy, why)


def _late(attempt: Attempt, policy: Policy, now: datetime) -> bool:
    return now - attempt.at > timedelta(seconds=policy.repair_timeout_s)


def _back(
    incident: Incident,
    attempt: Attempt,
    cluster: Cluster,
    events: Sequence[ClusterEvent],
    added: LedgerEntry | None,
    now: datetime,
) -> tuple[Node | None, str]:
    """The node, when it is Running again after the attempt, and what is known of it otherwise."""
    if attempt.rung is Rung.REBOOT:
        node = cluster.by_instance(attempt.instance_id)
        if node is None:
            return None, f"{attempt.instance_id} is not listed"
        if node.status is not NodeStatus.RUNNING:
            return None, f"{attempt.instance_id} is {node.status}"
        # The list may lag behind: before the reboot has shown itself, Running means nothing.
        began = any(
            e.at >= attempt.at and e.instance_id == node.instance_id and repair_phase(e.description) for e in events
        )
        if began or (now - attempt.at).total_seconds() > SHOWS_EFFECT_S:
            return node, f"{attempt.instance_id} is Running after its reboot"
        return None, f"{attempt.instance_id} has not begun to reboot yet"
    if attempt.rung is Rung.DELETE_RESTORE and not incident.logical_id:
        node, why = restored_node(attempt, added, cluster)
    else:
        node, why = heir_of(
            cluster,
            attempt.instance_id,
            logical_id=incident.logical_id,
            slurm_name=incident.slurm_name,
            group=incident.group,
            # HyperPod had begun by itself before we called: any time since the trouble began will do.
            since=incident.opened_at if attempt.result == "in_hand" else attempt.at,
        )
    if node is None or node.status is NodeStatus.RUNNING:
        return node, why
    return None, f"{node.instance_id} is {node.status}"


def _heir(incident: Incident, attempt: Attempt, cluster: Cluster) -> Node | None:
    """Another instance that stands behind the node of a reboot: somebody has replaced it meanwhile."""
    node, _ = heir_of(
        cluster,
        attempt.instance_id,
        logical_id=incident.logical_id,
        slurm_name=incident.slurm_name,
        group=incident.group,
        since=incident.opened_at,
    )
    return node


def _came_back(incident: Incident, instance: str, why: str, now: datetime) -> Incident:
    moved = end_step(incident, REPAIR, now, why) if _runs(incident, REPAIR) else incident
    moved = begin_step(moved, PROOF, now, f"{instance} must stay Running and quiet")
    return replace(moved, current_instance_id=instance, state=IncidentState.PROVING)


def _failed(incident: Incident, reason: str, now: datetime) -> Incident:
    moved = end_step(incident, REPAIR, now, reason) if _runs(incident, REPAIR) else incident
    return replace(with_result(moved, "failed"), state=IncidentState.OPEN)


def _runs(incident: Incident, name: str) -> bool:
    return any(step.name == name and step.ended_at is None for step in incident.steps)


def _wait(policy: Policy, reason: str) -> dict[str, Any]:
    return {"status": "wait", "reason": reason, "wait_s": policy.poll_s}
