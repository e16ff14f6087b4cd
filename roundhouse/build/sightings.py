"""Sightings: what cluster events say about where an instance's capacity came from. Pure.

HyperPod tells each launch's capacity once, by an event, and keeps about 500 events. A stage of 50 nodes makes more than
that, so a creation collects sightings at every look and keeps them in its run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import timedelta

from roundhouse.build.records import Capacity, ClusterEvent, Sighting
from roundhouse.line.state import Node

# Event texts of AWS's cluster event reference.
RESERVED_TEXT = "using reserved capacity"
ON_DEMAND_TEXT = "using on-demand pool"
GROUP_IN_TEXT = re.compile(r"\bIG ([A-Za-z0-9-]+)")

# The event comes shortly before the instance. An older one is about the node's former instance, a later one about an
# attempt that is not listed yet.
BEFORE_LAUNCH = timedelta(minutes=15)
AFTER_LAUNCH = timedelta(minutes=5)

MAX_ON_DEMAND = 100  # per collection: one is enough for a verdict, and a retry loop must not fill the record


def sighting(event: ClusterEvent) -> Sighting | None:
    """The capacity that `event` tells of, or None. The on-demand text wins over whatever else the event carries."""
    text = event.description.lower()
    if ON_DEMAND_TEXT in text:
        capacity = Capacity.ON_DEMAND
    elif RESERVED_TEXT in text or (event.reservation_arn and event.level != "Error"):
        capacity = Capacity.RESERVED
    else:
        return None
    named = GROUP_IN_TEXT.search(event.description)
    group = event.group or (named.group(1) if named else "")
    return Sighting(capacity, event.at, event.event_id, group, event.instance_id, event.logical_id)


def collect(
    known: Sequence[Sighting], events: Iterable[ClusterEvent], proven: Iterable[str] = ()
) -> tuple[Sighting, ...]:
    """`known` and what `events` add, oldest first: of each node the newest reserved sighting, and on-demand ones.

    On-demand sightings are never displaced by a later reserved one. Instances in `proven` need no sighting any more.
    """
    done = set(proven)
    kept: dict[tuple[Capacity, str], Sighting] = {}
    fresh = (found for event in events if (found := sighting(event)))
    for seen in sorted([*known, *fresh], key=lambda s: (s.at, s.event_id)):
        if seen.capacity is Capacity.RESERVED and seen.instance_id in done:
            continue
        kept[seen.capacity, seen.logical_id or seen.instance_id or seen.event_id] = seen
    on_demand = [seen for seen in kept.values() if seen.capacity is Capacity.ON_DEMAND]
    reserved = [seen for seen in kept.values() if seen.capacity is Capacity.RESERVED]
    return tuple(sorted([*reserved, *on_demand[:MAX_ON_DEMAND]], key=lambda s: (s.at, s.event_id)))


def about(seen: Sighting, node: Node) -> bool:
    """True when `seen` is about the instance that stands behind `node` now.

    A sighting that names only the logical id is held against the launch time, for a replacement keeps that id.
    """
    if seen.instance_id:
        return seen.instance_id == node.instance_id
    if not seen.logical_id or seen.logical_id != node.logical_id:
        return False
    launched = node.launched_at
    return launched is None or launched - BEFORE_LAUNCH <= seen.at <= launched + AFTER_LAUNCH
