"""The heir: which instance stands where another one stood, after a repair. Pure.

A continuous cluster keeps the logical id. A legacy one has none, so the new instance is known by three things together:
the old instance is gone from the list, the new one was launched after the call, and it carries the old one's host name.
Where no host name is known, it must be the only one of its group that was launched since. A name alone never suffices.
"""

from __future__ import annotations

from datetime import datetime

from roundhouse.line.state import Cluster, Node


def heir_of(
    cluster: Cluster, old: str, *, logical_id: str | None, slurm_name: str | None, group: str | None, since: datetime
) -> tuple[Node | None, str]:
    """The node that stands where instance `old` stood, or None, and what is known. It may still be on its way.

    `since` is when the repair was called: an instance of a legacy cluster that is older is no heir.
    """
    if logical_id:
        node = cluster.by_logical(logical_id)
        if node is None:
            return None, "no instance stands there yet (between two attempts it is not listed)"
        if node.instance_id in {None, old}:
            return None, f"{old} is {node.status}"
        return node, f"{node.instance_id} stands in the place of {old}"
    there = cluster.by_instance(old)
    if there is not None:
        return None, f"{old} is {there.status}"
    if slurm_name:
        node = cluster.by_hostname(slurm_name)
        if node is None or node.instance_id is None:
            return None, f"{old} is gone, and no instance carries its name {slurm_name} yet"
        if node.launched_at is None or node.launched_at < since:
            return None, f"{node.instance_id} carries the name {slurm_name}, but was launched before the repair"
        return node, f"{node.instance_id} carries the name of {old} and was launched after the repair was called"
    return only_one(launched_since(cluster, group, since, None), old)


def launched_since(cluster: Cluster, group: str | None, since: datetime, until: datetime | None) -> list[Node]:
    """Instances of the group that were launched in that time, ends included."""
    return [
        node
        for node in cluster.nodes
        if node.group == group
        and node.instance_id
        and node.launched_at
        and since <= node.launched_at
        and (until is None or node.launched_at <= until)
    ]


def only_one(nodes: list[Node], old: str) -> tuple[Node | None, str]:
    """The one node that came for `old`; none when there are several: then nobody can tell."""
    if len(nodes) == 1:
        return nodes[0], f"{nodes[0].instance_id} is the only one launched since {old} went"
    if not nodes:
        return None, f"{old} is gone, and no instance was launched in its place yet"
    names = ", ".join(str(node.instance_id) for node in nodes[:3])
    return (
        None,
        f"{old} is gone, and {len(nodes)} instances were launched since ({names}): which is its?",
    )
