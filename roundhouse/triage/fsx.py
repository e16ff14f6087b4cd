"""What the state of an FSx file system asks for: nothing, patience, people, or a restore that people approve. Pure.

No verdict here touches a node: clients that hang because their storage pauses are well. Source: FSx for Lustre's file
system status, maintenance windows and administrative actions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from roundhouse.errors import MalformedEvent
from roundhouse.triage.payload import first_text, mapping, moment, optional_text, text

WEEK = timedelta(days=7)
WINDOW = timedelta(minutes=30)  # FSx patches within half an hour of the start that was chosen


class StorageAction(StrEnum):
    """What to do about a file system."""

    NONE = "NONE"
    WAIT = "WAIT"  # hold alarms about hanging clients until `hold_until`
    REPAIR_ALERT = "REPAIR_ALERT"  # people can repair it in place; never create it anew
    RESTORE_WITH_APPROVAL = "RESTORE_WITH_APPROVAL"  # it is lost


@dataclass(frozen=True, slots=True)
class StorageVerdict:
    """`hold_until` (UTC) is set with WAIT only: silence never lasts longer."""

    action: StorageAction
    reason: str
    hold_until: datetime | None = None


def judge(description: Mapping[str, Any], now: datetime, stalled_clients: int = 0) -> StorageVerdict:
    """The verdict on one file system of a DescribeFileSystems answer. Raises MalformedEvent.

    `now` is aware; `stalled_clients` counts those whose requests hang at this moment.
    """
    description = mapping(description, "file system")
    name = text(description, "FileSystemId", "file system")
    lifecycle = text(description, "Lifecycle", f"file system {name}")
    match lifecycle:
        case "FAILED":
            return StorageVerdict(StorageAction.RESTORE_WITH_APPROVAL, _lost(name, description))
        case "MISCONFIGURED" | "MISCONFIGURED_UNAVAILABLE":
            # Re-creating it would lose the data that a repair of its network or keys gives back.
            why = first_text(description.get("FailureDetails"), "Message") or "see its failure details"
            return _alert(f"{name} is {lifecycle}: {why}; correct the configuration, do not create it anew")
        case "CREATING":
            return StorageVerdict(StorageAction.NONE, f"{name} is being created")
        case "UPDATING" | "AVAILABLE":
            return _serving(name, lifecycle, description, now, stalled_clients)
        case "DELETING":
            return _alert(f"{name} is being deleted, and nothing of ours deletes storage: find out who does")
        case _:
            return _alert(f"{name} is {lifecycle!r:.40}, a state that is not known here; look at it")


def maintenance_start(weekly: str, now: datetime) -> datetime:
    """The latest start of the weekly window at or before `now`. `weekly` is `d:HH:MM` in UTC, day 1 is Monday.

    Raises MalformedEvent.

    >>> maintenance_start("6:02:30", datetime(2026, 5, 2, 2, 41, tzinfo=UTC)).isoformat()
    '2026-05-02T02:30:00+00:00'
    """
    match = re.fullmatch(r"([1-7]):([01][0-9]|2[0-3]):([0-5][0-9])", weekly, re.ASCII)
    if match is None:
        raise MalformedEvent(f"WeeklyMaintenanceStartTime: expected d:HH:MM with day 1 to 7, found {weekly!r:.40}")
    day, hour, minute = map(int, match.groups())
    now = now.astimezone(UTC)
    monday = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=now.weekday())
    start = monday + timedelta(days=day - 1, hours=hour, minutes=minute)
    return start if start <= now else start - WEEK


def _serving(
    name: str, lifecycle: str, description: Mapping[str, Any], now: datetime, stalled_clients: int
) -> StorageVerdict:
    """AVAILABLE or UPDATING: it serves its clients, or ought to."""
    listed = description.get("AdministrativeActions")
    actions = [item for item in listed if isinstance(item, Mapping)] if isinstance(listed, list) else []
    failed = [_kind(item) for item in actions if optional_text(item, "Status") == "FAILED"]
    running = [item for item in actions if optional_text(item, "Status") in {"IN_PROGRESS", "PENDING"}]
    if stalled_clients > 0:
        return _stalled(name, description, running, now, stalled_clients)
    if failed and lifecycle == "UPDATING" and not running:
        return _alert(f"{name} is UPDATING, and {', '.join(failed)} failed; look at its administrative actions")
    doing = ", ".join(_kind(item) for item in running) or "no administrative action"
    return StorageVerdict(StorageAction.NONE, f"{name} is {lifecycle} ({doing}), and no client hangs")


def _stalled(
    name: str, description: Mapping[str, Any], running: list[Mapping[str, Any]], now: datetime, stalled_clients: int
) -> StorageVerdict:
    """Clients hang: for a while, when the window or an update that has just begun explains it."""
    pauses = []
    weekly = first_text(description, "WeeklyMaintenanceStartTime")
    if weekly:
        pauses.append(("its weekly maintenance", maintenance_start(weekly, now)))
    for item in running:
        if (asked := item.get("RequestTime")) is not None:
            asked_at = asked.isoformat() if isinstance(asked, datetime) else asked
            pauses.append((_kind(item), moment(asked_at, f"file system {name}.RequestTime")))
    why, since = max(pauses, key=lambda pause: pause[1], default=("", None))
    if since is not None and since <= now < since + WINDOW:
        until = since + WINDOW
        reason = f"{stalled_clients} clients of {name} hang during {why}, since {since:%d %b %H:%M} UTC"
        return StorageVerdict(StorageAction.WAIT, f"{reason}; no node is at fault, wait until {until:%H:%M}", until)
    return _alert(f"{stalled_clients} clients of {name} hang, and neither maintenance nor an update explains it")


def _lost(name: str, description: Mapping[str, Any]) -> str:
    why = first_text(description.get("FailureDetails"), "Message") or "no details given"
    scratch = (first_text(description, "DeploymentType") or "").startswith("SCRATCH")
    remedy = "no backups of scratch storage exist: fill a new one from its source" if scratch else "restore a backup"
    return f"{name} has FAILED and cannot be repaired ({why}); {remedy}, once people approve"


def _kind(action: Mapping[str, Any]) -> str:
    return optional_text(action, "AdministrativeActionType") or "an administrative action"


def _alert(reason: str) -> StorageVerdict:
    return StorageVerdict(StorageAction.REPAIR_ALERT, reason)
