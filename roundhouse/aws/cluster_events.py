"""HyperPod's cluster events to `ports.ClusterEvent`. Pure: text and dicts in, no AWS call.

ListClusterEvents gives no metadata at all; DescribeClusterEvent gives it in one of several subtrees, so all of them
are searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from roundhouse.ports import ClusterEvent

_RESERVED = re.compile(
    r"Found CapacityReservation ID (?P<id>\S+) for Cluster \S+ and (?:IG|InstanceGroup) (?P<group>[\w-]+)"
)
_ON_DEMAND = re.compile(r"No CapacityReservation found for Cluster \S+ and (?:IG|InstanceGroup) (?P<group>[\w-]+)")


def capacity(description: str) -> tuple[Literal["reserved", "on_demand"], str, str | None] | None:
    """(kind, instance group, reservation id) that a launch's event tells; None when it tells of no capacity.

    >>> capacity("Found CapacityReservation ID cr-1 for Cluster train and IG workers, using reserved capacity")
    ('reserved', 'workers', 'cr-1')
    >>> capacity("No CapacityReservation found for Cluster train and IG workers, using on-demand pool")
    ('on_demand', 'workers', None)
    """
    if found := _RESERVED.search(description):
        return "reserved", found["group"], found["id"]
    if missed := _ON_DEMAND.search(description):
        return "on_demand", missed["group"], None
    return None


def parse(raw: Mapping[str, Any]) -> ClusterEvent:
    """A ClusterEventSummary, or the ClusterEventDetail of DescribeClusterEvent.

    `reservation_arn` is the reservation's id where the description alone names it. Null subtrees are nothing.
    """
    metadata = (raw.get("EventDetails") or {}).get("EventMetadata") or {}
    description = raw.get("Description") or ""
    told = capacity(description)
    return ClusterEvent(
        event_id=raw["EventId"],
        at=_utc(raw["EventTime"]),
        level=raw.get("EventLevel") or "",
        resource_type=raw["ResourceType"],
        description=description,
        group=raw.get("InstanceGroupName") or (told[1] if told else None),
        instance_id=raw.get("InstanceId") or None,
        logical_id=_first(metadata, "NodeLogicalId"),
        failure=_first(metadata, "FailureMessage") or "",
        reservation_arn=_first(metadata, "CapacityReservation") or (told[2] if told else None),
        lifecycle_state=_first(metadata, "LcsExecutionState"),
    )


def worth_a_lookup(event: ClusterEvent) -> bool:
    """True when the metadata may say something that the line acts on: a failure, a capacity, a lifecycle script."""
    return (
        event.level in {"Error", "Warn", ""}
        or capacity(event.description) is not None
        or ("lifecycle" in event.description.lower())
    )


def _first(metadata: Mapping[str, Any], member: str) -> str | None:
    return next((text for text in _found(metadata, member) if text), None)


def _found(tree: Mapping[str, Any], member: str) -> Iterator[str]:
    for name, value in tree.items():
        if name == member:
            yield value.get("Arn", "") if isinstance(value, Mapping) else str(value or "")
        elif isinstance(value, Mapping):
            yield from _found(value, member)


def _utc(time: datetime) -> datetime:
    return time.astimezone(UTC)
