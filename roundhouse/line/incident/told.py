"""What events of others mean for open incidents: HyperPod's own work, and calls of people. Pure.

They open nothing and decide nothing. They are written down in the incident, and a question that waits for an answer is
taken back: it was asked on a state that is no more.
"""

from __future__ import annotations

from collections.abc import Sequence

from roundhouse.line.event import CauseClass, Event, Health, Source
from roundhouse.line.incident.record import Incident, IncidentState, Other
from roundhouse.line.state import Cluster, NodeStatus

OTHERS_KEPT = 20
CHANGES_NODE = frozenset({"reboot", "replace", "delete"})
_WHOLE = {
    "cluster_deleting": "the cluster is being deleted",
    "cluster_systemupdating": "HyperPod has begun to patch the cluster",
    "patching_started": "HyperPod has begun to patch",
}
_NODE = {
    "replace_started": "HyperPod has begun to replace it",
    "replace_completed": "HyperPod has replaced it",
    "reboot_started": "HyperPod has begun to reboot it",
    "reboot_completed": "HyperPod has rebooted it",
    "terminated": "HyperPod terminates the instance",
}


def of_the_whole(event: Event) -> bool:
    """True when the event is about a whole cluster or group, and so about each of its incidents."""
    by_call = event.source is Source.CLOUDTRAIL and event.instance_id is None and event.logical_id is None
    return event.code in _WHOLE or by_call


def speaks_against(event: Event, cluster: Cluster | None) -> str:
    """Why a question about the node should be taken back after this event, in words; "" when it may stand."""
    if event.source is Source.REPLAY:
        return ""
    if event.source is Source.CLOUDTRAIL:
        return f"{event.actor} called {event.code}" if event.proposed_action else ""
    if event.health is Health.HEALTHY:
        return f"{'HyperPod' if event.source.trusted else 'the newest word'} says that the node is healthy again"
    if event.code in _WHOLE or event.code in _NODE:
        return _WHOLE.get(event.code) or _NODE[event.code]
    if not event.repair_begun or event.proposed_action is None:
        return ""
    if event.source is Source.SLURM:
        return f"Slurm has it in fail with the reason upon which HyperPod will {event.proposed_action} it"
    if cluster is not None and cluster.node_recovery == "None":
        return ""  # announced, but HyperPod's own repair is switched off: it does not come
    return f"HyperPod says that it will {event.proposed_action} it"


def overtaken(incident: Incident, cluster: Cluster) -> str:
    """Why live state speaks against a question about the incident's node, in words; "" when it does not.

    Not being listed is no sign: lists lag behind.
    """
    if cluster.status == "Deleting":
        return _WHOLE["cluster_deleting"]
    if incident.attempts:
        return ""  # what the node does now may be our own doing
    instance = incident.current_instance_id or incident.instance_id
    node = cluster.by_instance(instance)
    heir = cluster.by_logical(incident.logical_id) if incident.logical_id else None
    if node is None and heir is not None and heir.instance_id and instance.startswith("i-"):
        return f"{heir.instance_id} stands in the place of {instance} now"
    if patched := cluster.patching(node.group if node else incident.group):
        return f"HyperPod is patching: {patched}"
    at_work = {NodeStatus.PENDING, NodeStatus.SHUTTING_DOWN, NodeStatus.DEEP_HEALTH_CHECK}
    return f"HyperPod has it {node.status}: somebody is at work on it" if node and node.status in at_work else ""


def concerned(event: Event, candidates: Sequence[Incident]) -> list[Incident]:
    """The open incidents that the event is about: of the instance, of the node behind it, of a group, or all.

    Those of maintenance look at live state themselves, and keep their evidence for Health's windows.
    """
    mine = [i for i in candidates if i.state is not IncidentState.CLOSED and i.cause is not CauseClass.MAINTENANCE]
    if of_the_whole(event):
        known = event.source is Source.CLOUDTRAIL
        return [i for i in mine if (known or i.asked) and event.group in {None, i.group}]
    return [
        i
        for i in mine
        if (event.instance_id is not None and event.instance_id in {i.instance_id, i.current_instance_id})
        or (event.logical_id is not None and event.logical_id == i.logical_id)
    ]


def other_of(event: Event) -> Other | None:
    """What CloudTrail tells as a line of the incident's record; None for other sources, and for calls without effect
    on nodes."""
    if event.source is not Source.CLOUDTRAIL or event.proposed_action is None:
        return None
    return Other(event.event_id, event.source_time, event.actor, event.code, event.proposed_action)
