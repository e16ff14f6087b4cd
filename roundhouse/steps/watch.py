"""Watching a repaired node come back, and restoring the count after a delete. Ports only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.ledger import LedgerEntry, LedgerState, action_id
from roundhouse.errors import AwsFailure, BadInput, ConditionFailed
from roundhouse.line import action
from roundhouse.line.incident import Attempt, Incident, IncidentState, begin_step, end_step, with_result
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Policy
from roundhouse.line.state import Cluster, ClusterEvent, Node, NodeStatus
from roundhouse.line.theirs import repair_phase
from roundhouse.ports import ClusterReader, ClusterWriter, IncidentStore, Ledger
from roundhouse.steps.act import LEDGER_BACK, REPAIR, SHOWS_EFFECT_S
from roundhouse.steps.facts import Sources
from roundhouse.steps.revise import revise

PROOF = "proof"


def watch(
    incident_id: str, *, sources: Sources, incidents: IncidentStore, ledger: Ledger, now: datetime
) -> dict[str, Any]:
    """Where the node is: status `wait` · `running` (prove it) · `restore` (the delete is through) · `decide` (it did
    not come back, or nothing happened: the next rung)."""
    policy = sources.policy
    incident = revise(incidents, incident_id, lambda same: same)
    if not incident.attempts:
        raise BadInput(f"incident {incident_id} has no attempt to watch: the workflow is out of step with its record")
    attempt = incident.attempts[-1]
    facts = sources.gather(incident, now)
    if facts.cluster is None or not facts.cluster.nodes:
        return _wait(policy, "HyperPod could not be read")
    back, why = _back(incident, attempt, facts.cluster, facts.events, now)
    entry = _entry(ledger, incident, attempt)
    if back is not None and back.instance_id is not None:
        _confirm(ledger, entry, why, now)
        instance = back.instance_id
        revise(incidents, incident_id, lambda i: _came_back(i, instance, why, now))
        return {"status": "running", "reason": why, "instance_id": instance, "wait_s": policy.poll_s}
    if attempt.rung is Rung.DELETE_RESTORE and facts.cluster.by_instance(attempt.instance_id) is None:
        added = ledger.get(_restore_id(incident, attempt))
        if added is not None and added.state is LedgerState.CONFIRMED:
            return {"status": "decide", "reason": added.detail, "wait_s": policy.poll_s}
        stands = incident.logical_id is not None and facts.cluster.by_logical(incident.logical_id) is not None
        if not stands and (added is None or added.state is not LedgerState.CALLED):
            return {"status": "restore", "reason": f"{attempt.instance_id} is deleted", "wait_s": policy.poll_s}
    if attempt.rung is Rung.REBOOT and (heir := _heir(incident, attempt, facts.cluster)) is not None:
        reason = f"{attempt.instance_id} did not reboot: {heir.instance_id} stands in its place"
        _confirm(ledger, entry, reason, now)
        revise(incidents, incident_id, lambda i: _failed(i, reason, now))
        return {"status": "decide", "reason": reason, "wait_s": policy.poll_s}
    elapsed = now - attempt.at
    unmoved = facts.cluster.by_instance(attempt.instance_id)
    nothing = unmoved is not None and unmoved.status is NodeStatus.RUNNING and attempt.rung is not Rung.REBOOT
    if elapsed > timedelta(seconds=policy.repair_timeout_s) or (nothing and elapsed.total_seconds() > SHOWS_EFFECT_S):
        reason = f"{attempt.rung.in_words} did not bring the node back: {why}"
        _confirm(ledger, entry, reason, now)
        revise(incidents, incident_id, lambda i: _failed(i, reason, now))
        return {"status": "decide", "reason": reason, "wait_s": policy.poll_s}
    return _wait(policy, why)


def _back(
    incident: Incident, attempt: Attempt, cluster: Cluster, events: Sequence[ClusterEvent], now: datetime
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
    node = cluster.by_logical(incident.logical_id) if incident.logical_id else None
    if node is None and incident.slurm_name and not incident.logical_id:
        node = cluster.by_hostname(incident.slurm_name)
    if node is None:
        return None, "no instance stands there yet (between two attempts it is not listed)"
    if node.instance_id in {None, attempt.instance_id}:
        return None, f"{attempt.instance_id} is {node.status}"
    if node.status is not NodeStatus.RUNNING:
        return None, f"{node.instance_id} is {node.status}"
    return node, f"{node.instance_id} is Running in the place of {attempt.instance_id}"


def _heir(incident: Incident, attempt: Attempt, cluster: Cluster) -> Node | None:
    """Another instance that stands behind the node of a reboot: somebody has replaced it meanwhile."""
    node = cluster.by_logical(incident.logical_id) if incident.logical_id else None
    return node if node and node.instance_id not in {None, attempt.instance_id} else None


def _entry(ledger: Ledger, incident: Incident, attempt: Attempt) -> LedgerEntry | None:
    """The ledger's record of the attempt, the newest one of that rung and instance."""
    prefix = action_id(incident.incident_id, attempt.rung.value, attempt.instance_id, 0).removesuffix("0")
    found = [
        e
        for e in ledger.of_cluster(incident.cluster, incident.opened_at - LEDGER_BACK)
        if e.action_id.startswith(prefix)
    ]
    return max(found, key=lambda e: e.claimed_at, default=None)


def _confirm(ledger: Ledger, entry: LedgerEntry | None, why: str, now: datetime) -> None:
    if entry is None or entry.state in {LedgerState.CONFIRMED, LedgerState.FAILED}:
        return
    try:
        ledger.put(action.confirmed(entry, why, now))
    except ConditionFailed:
        return  # a twin of this look was faster


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


# The count -------------------------------------------------------------------------------------------------------
def restore(
    incident_id: str,
    *,
    reader: ClusterReader,
    writer: ClusterWriter,
    incidents: IncidentStore,
    ledger: Ledger,
    spec: ClusterSpec,
    policy: Policy,
    now: datetime,
) -> dict[str, Any]:
    """Add the deleted node again, once: the delete lowered the group's target.

    Nothing is added above the contract: somebody else may have restored the count, and the ledger then says CONFIRMED
    of an addition that we did not make. A lost answer is raised; the next try uses the same client token, so HyperPod
    replays its answer.
    """
    incident = revise(incidents, incident_id, lambda same: same)
    attempt = incident.attempts[-1]
    if incident.group not in {each.name for each in spec.groups}:
        raise BadInput(
            f"group {incident.group!r} of {attempt.instance_id} is not in the environment: restore its count"
        )
    group = spec.group(incident.group or "")
    cluster = reader.cluster(spec.cluster)
    identity = _restore_id(incident, attempt)
    known = ledger.get(identity)
    live = cluster.groups[group.name].target
    if known is None and live >= group.count:
        reason = f"{group.name} has its contract's {group.count} again: somebody else restored it"
        _confirm(ledger, _entry(ledger, incident, attempt), reason, now)
        ledger.put(replace(_addition(identity, incident, attempt, now), state=LedgerState.CONFIRMED, detail=reason))
        return {"status": "restored", "reason": reason, "wait_s": policy.poll_s}
    entry = known or ledger.put(_addition(identity, incident, attempt, now))
    token = f"rh-{sha256(identity.encode()).hexdigest()[:40]}"
    try:
        logical_ids = writer.add(spec.cluster, group.name, 1, token)
    except AwsFailure as failure:
        ledger.put(replace(entry, state=LedgerState.UNKNOWN, updated_at=now, detail=str(failure)[:500]))
        raise
    detail = f"logical id {logical_ids[0]}"
    called = replace(entry, state=LedgerState.CALLED, updated_at=now, logical_id=logical_ids[0], detail=detail)
    ledger.put(called)
    _confirm(ledger, _entry(ledger, incident, attempt), f"deleted, and {logical_ids[0]} added in its place", now)
    revise(incidents, incident_id, lambda i: replace(i, logical_id=logical_ids[0]))
    return {"status": "restored", "reason": f"{logical_ids[0]} added", "wait_s": policy.poll_s}


def _restore_id(incident: Incident, attempt: Attempt) -> str:
    return action_id(incident.incident_id, "add_nodes", attempt.instance_id)


def _addition(identity: str, incident: Incident, attempt: Attempt, now: datetime) -> LedgerEntry:
    return LedgerEntry(
        action_id=identity,
        cluster=incident.cluster,
        kind="add_nodes",
        subject=f"{incident.group}:{attempt.instance_id}",
        incident_id=incident.incident_id,
        state=LedgerState.CLAIMED,
        claimed_at=now,
        updated_at=now,
        group=incident.group,
        detail=f"restores the count after deleting {attempt.instance_id}",
    )
