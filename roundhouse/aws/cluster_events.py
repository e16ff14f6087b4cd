"""HyperPod's cluster events to `ports.ClusterEvent`. Pure: text and dicts in, no AWS call.

ListClusterEvents gives no metadata at all; DescribeClusterEvent gives it in one of several subtrees, so all of them
are searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from roundhouse.build.sightings import sighting
from roundhouse.ports import ClusterEvent

_RESERVATION = re.compile(r"Found CapacityReservation ID (\S+) for Cluster")


def parse(raw: Mapping[str, Any]) -> ClusterEvent:
    """A ClusterEventSummary, or the ClusterEventDetail of DescribeClusterEvent.

    `reservation_arn` is the reservation's id where the description alone names it. Null subtrees are nothing.
    """
    metadata = (raw.get("EventDetails") or {}).get("EventMetadata") or {}
    description = raw.get("Description") or ""
    named = _RESERVATION.search(description)
    return ClusterEvent(
        event_id=raw["EventId"],
        at=_utc(raw["EventTime"]),
        level=raw.get("EventLevel") or "",
        resource_type=raw["ResourceType"],
        description=description,
        group=raw.get("InstanceGroupName") or None,
        instance_id=raw.get("InstanceId") or None,
        logical_id=_first(metadata, "NodeLogicalId"),
        failure=_first(metadata, "FailureMessage") or "",
        reservation_arn=_first(metadata, "CapacityReservation") or (named[1] if named else None),
        lifecycle_state=_first(metadata, "LcsExecutionState"),
    )


def worth_a_lookup(event: ClusterEvent) -> bool:
    """True when the metadata may say something that the line acts on: a failure, a capacity, a lifecycle script."""
    return (
        event.level in {"Error", "Warn", ""} or sighting(event) is not None or "lifecycle" in event.description.lower()
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
