"""What Slurm's snapshots tell of our own drains: that the agent took one, and that people have taken it back. Pure."""

from __future__ import annotations

from dataclasses import replace

from roundhouse.contracts.commands import owner
from roundhouse.line.incident import Incident, IncidentState, target_instance
from roundhouse.line.slurm import parse_state
from roundhouse.line.state import SlurmSnapshot

DRAIN = "drain"  # name of the step from the order to the end of our drain


def after_snapshot(incident: Incident, snapshot: SlurmSnapshot) -> Incident:
    """The incident as the snapshot shows its drain; the very same object when that tells nothing new.

    A drain counts as taken back by hand only after a snapshot has shown it, on the same instance, while nobody has
    repaired the node: HyperPod's replacement comes back without it as well.
    """
    if incident.state is IncidentState.CLOSED or not incident.drained_by_us or incident.undrained_at is not None:
        return incident
    node = snapshot.nodes.get(incident.slurm_name or "")
    if node is None or node.instance_id not in {None, target_instance(incident)}:
        return incident
    state = parse_state(node.state)
    if any(s.name == DRAIN and s.ended_at is None and snapshot.taken_at < s.started_at for s in incident.steps):
        return incident  # from before this drain: it may show an earlier one
    if owner(node.reason) == incident.incident_id and state.draining:
        return incident if incident.drain_seen_at else replace(incident, drain_seen_at=snapshot.taken_at)
    seen = incident.drain_seen_at
    if seen is None or snapshot.taken_at <= seen or incident.attempts or incident.repair_begun or not state.usable:
        return incident
    # Whatever people have answered was said before that: the next question is another one.
    return replace(incident, undrained_at=snapshot.taken_at, withdrawn=incident.withdrawn + 1)
