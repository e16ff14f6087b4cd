"""What live state says about the node of an event: where it stands, whether it is gone, what to expect there. Pure."""

from __future__ import annotations

from dataclasses import replace

from roundhouse.line.event import LOST_READY, Event, Source
from roundhouse.line.incident.evolve import subject_of
from roundhouse.line.state import Cluster, Node


def locate(event: Event, cluster: Cluster | None) -> Event:
    """Fill in what live state knows about the event's node: instance (by Slurm name), logical id, group, name."""
    node = node_of(event, cluster)
    if node is None:
        return event
    return replace(
        event,
        instance_id=event.instance_id or node.instance_id,
        logical_id=event.logical_id or node.logical_id,
        group=event.group or node.group,
        slurm_name=event.slurm_name or (node.hostname.split(".")[0] if node.hostname else None),
    )


def node_of(event: Event, cluster: Cluster | None) -> Node | None:
    if cluster is None:
        return None
    if event.instance_id:
        return cluster.by_instance(event.instance_id)
    if event.slurm_name:
        return cluster.by_hostname(event.slurm_name)
    if event.source is Source.CLOUDTRAIL and event.logical_id:
        return cluster.by_logical(event.logical_id)
    return None


def gone(event: Event, cluster: Cluster | None, named_only: bool) -> str:
    """Why the event's instance is not there any more; "" when it is, or when that cannot be told."""
    if cluster is None or not cluster.nodes or subject_of(event) != (event.instance_id or f"name:{event.slurm_name}"):
        return ""
    node = node_of(event, cluster)
    if node is None:
        heir = cluster.by_logical(event.logical_id) if event.logical_id else None
        now_there = f"; {heir.instance_id} stands in its place" if heir and heir.instance_id else ""
        return f"that instance is gone ({event.instance_id or event.slurm_name}){now_there}"
    if named_only and node.launched_at and node.launched_at > event.source_time:
        return f"that instance is gone: {node.instance_id} took over the name {event.slurm_name} after this event"
    return ""


def noise(event: Event, cluster: Cluster | None) -> str:
    """Why a warning that nodes are not ready says nothing now; "" for all else."""
    if event.code != LOST_READY or cluster is None:
        return ""
    if _scaling(event, cluster):
        return "nodes come and go while a group is being scaled: current and target count differ"
    return "nodes come and go while HyperPod patches them" if cluster.patching(event.group) else ""


def patched(event: Event, cluster: Cluster | None) -> str:
    """How HyperPod patches the node that Slurm misses, in words; "" when it does not, or speaks against it itself."""
    node = node_of(event, cluster) if event.source is Source.SLURM else None
    return cluster.patching(node.group) if cluster is not None and node is not None else ""


def _scaling(event: Event, cluster: Cluster) -> bool:
    group = cluster.groups.get(event.group) if event.group else None
    groups = [group] if group else list(cluster.groups.values())
    return any(g.current != g.target for g in groups)
