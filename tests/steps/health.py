"""AWS Health's messages about maintenance, for a world in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import Any

from roundhouse.contracts import names
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident
from roundhouse.line.policy import Mode, Rule
from tests.steps.samples import house
from tests.steps.world import T0, World

HOUR = timedelta(hours=1)
LEAD_S = 7200


def maintained(size: int = 20, mode: Mode = Mode.ACT, lead_s: int = LEAD_S, **changes: Any) -> World:
    """A house whose rule for maintenance is `mode`; everything else only observes."""
    world = house(size=size, mode=Mode.OBSERVE, **changes)
    world.policy.rules[CauseClass.MAINTENANCE] = Rule(mode, lead_s=lead_s)
    return world


def message(
    world: World,
    entities: Sequence[str | tuple[str, str]],
    *,
    starts: timedelta | None = 24 * HOUR,
    ends: timedelta | None = 25 * HOUR,
    status: str = "upcoming",
    communication: str = "c-1",
    event: str = "x1",
    page: int = 1,
    pages: int = 1,
    backup: bool = False,
    at: datetime | None = None,
    **detail: Any,
) -> dict[str, Any]:
    """One page of one communication; times are from the beginning of the world's clock, `at` is when it was updated."""
    begin, updated = T0, at or world.now
    named = [each if isinstance(each, tuple) else (each, "PENDING") for each in entities]
    code = "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED"
    made: dict[str, Any] = {
        "eventArn": f"arn:aws:health:us-west-2::event/EC2/{code}/{event}",
        "service": "EC2",
        "eventTypeCode": code,
        "eventTypeCategory": "scheduledChange",
        "eventScopeCode": "ACCOUNT_SPECIFIC",
        "communicationId": communication,
        "lastUpdatedTime": format_datetime(updated, usegmt=True),
        "statusCode": status,
        "eventRegion": "us-west-2",
        "affectedEntities": [{"entityValue": value, "status": state} for value, state in named],
        "page": str(page),
        "totalPages": str(pages),
        "backupEvent": str(backup).lower(),
        "affectedAccount": "111122223333",
    }
    if starts is not None:
        made["startTime"] = format_datetime(begin + starts, usegmt=True)
    if ends is not None:
        made["endTime"] = format_datetime(begin + ends, usegmt=True)
    return {
        "version": "0",
        "id": f"h-{event}-{communication}-{page}-{backup}",
        "detail-type": names.HEALTH_EVENT,
        "source": names.HEALTH_SOURCE,
        "account": "111122223333",
        "region": "us-east-1" if backup else "us-west-2",
        "time": updated.isoformat(),
        "resources": [value for value, _ in named],
        "detail": {**made, **detail},
    }


def windows_of(world: World, instance_id: str) -> list[Incident]:
    """The instance's incidents of maintenance, by occurrence."""
    found = [
        i
        for i in world.incidents.records.values()
        if i.instance_id == instance_id and i.cause is CauseClass.MAINTENANCE
    ]
    return sorted(found, key=lambda i: i.occurrence)
