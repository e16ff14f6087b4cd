"""Our drains in Slurm, as a young snapshot shows them, against the incidents that asked for them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from roundhouse.contracts.commands import owner
from roundhouse.line.incident import ENDED_WELL, Incident, IncidentState, Outcome
from roundhouse.line.reconcile.facts import LAG, Difference, Facts, Kind, Remedy
from roundhouse.line.slurm import bare_reason, parse_state
from roundhouse.line.state import Node, NodeStatus

_UNTOUCHED = {Outcome.DENIED, Outcome.EXPIRED, Outcome.OBSERVED, Outcome.IGNORED}


def our_drains(facts: Facts) -> Iterator[Difference]:
    """A drain of an incident that has ended well is taken back; one that no record explains is shown.

    Only from a snapshot that was taken after the end, and only where HyperPod has the node Running.
    """
    if facts.live is None or facts.live.slurm is None:
        return
    snapshot = facts.live.slurm
    for name, slurm_node in sorted(snapshot.nodes.items()):
        mine = owner(bare_reason(slurm_node.reason))
        if mine is None or not parse_state(slurm_node.state).draining:
            continue
        incident = facts.incident(mine)
        if incident is None:
            if not mine.startswith("inc-"):
                continue  # of another part of the line, which looks after it
            words = f"{name} is drained for {mine}, which is not on record: look, then resume it with scontrol"
            yield Difference(Kind.STRANGE_DRAIN, name, words, Remedy.SHOW)
            continue
        if incident.state is not IncidentState.CLOSED or not _to_be_taken_back(incident):
            continue
        node = facts.live.by_hostname(name)
        seen_after = incident.closed_at is not None and snapshot.taken_at - incident.closed_at >= LAG
        if node is None or _needed(node, facts):
            continue
        if seen_after and node.instance_id and node.status is NodeStatus.RUNNING:
            words = f"{name} still carries the drain of {mine}, which has ended ({incident.outcome})"
            yield Difference(Kind.OUR_DRAIN, mine, words, Remedy.RESUME, node=node.instance_id)


def _needed(node: Node, facts: Facts) -> bool:
    """True while an open incident has ordered a drain of the same node: the agent puts none over the one that stands,
    which so serves for both."""
    same = {node.instance_id, node.logical_id} - {None}
    return any(i.drained_by_us and {i.instance_id, i.current_instance_id, i.logical_id} & same for i in facts.open)


def _to_be_taken_back(incident: Incident) -> bool:
    """As at the end of a workflow: what we could not mend, or not prove, stays out of service."""
    if incident.outcome in ENDED_WELL:
        return True
    if incident.outcome in _UNTOUCHED:
        return not incident.attempts
    return bool(incident.attempts) and incident.attempts[-1].result == "proved"
