"""Windows: when AWS will work on an instance. Pure.

A window has no identity in AWS beside its event: one that is moved is another window here, to be decided upon anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from roundhouse.line.event import CauseClass, Event, Health, Source
from roundhouse.line.incident import Incident
from roundhouse.line.state import Node

OPEN_END = timedelta(hours=24)  # how long a window without an end is taken to last, unless Health closes it before
LONGEST = timedelta(hours=24)  # a node is not kept out of work for longer than that without people


@dataclass(frozen=True, slots=True)
class Window:
    """Work on one instance. `event` is the key of the Health event's record; times are UTC, `ends` None if not said."""

    event: str
    instance_id: str
    code: str
    starts: datetime
    ends: datetime | None
    updated: datetime

    @property
    def over_at(self) -> datetime:
        """When it is over. An end that is not after the start says nothing."""
        return self.ends if self.ends is not None and self.ends > self.starts else self.starts + OPEN_END

    @property
    def long(self) -> bool:
        return self.over_at - self.starts > LONGEST

    @property
    def in_words(self) -> str:
        """`02 May 05:01 to 06:01 UTC`; the second day where it is another one."""
        if self.ends is None or self.ends <= self.starts:
            return f"{self.starts:%d %b %H:%M} UTC, no end given"
        same_day = self.ends.date() == self.starts.date()
        return f"{self.starts:%d %b %H:%M} to {self.ends:{'%H:%M' if same_day else '%d %b %H:%M'}} UTC"


def window_id(window: Window) -> str:
    """The window of one event at one time; also the id of the evidence that an incident keeps of it."""
    return f"{window.event}@{window.starts.isoformat()}"


def ahead(windows: Iterable[Window], now: datetime) -> tuple[Window, ...]:
    """Those that are not over, the earliest first."""
    return tuple(sorted((w for w in windows if w.over_at > now), key=lambda w: (w.starts, w.event)))


def events_of(incident: Incident) -> tuple[str, ...]:
    """Keys of the Health events that an incident of maintenance is about."""
    found = (e.event_id.partition("@")[0] for e in incident.evidence if e.source == Source.AWS_HEALTH)
    return tuple(dict.fromkeys(found))


def heard_last(incident: Incident, event: str) -> Window | None:
    """The newest window of that Health event that the incident was told of, as its evidence has kept it: without the
    end. None when it was told of none."""
    told = [e for e in incident.evidence if e.source == Source.AWS_HEALTH and e.event_id.startswith(f"{event}@")]
    if not told:
        return None
    last = max(told, key=lambda e: (e.at, e.event_id))
    starts = datetime.fromisoformat(last.event_id.partition("@")[2])
    return Window(event, incident.instance_id, last.code, starts, None, last.at)


def event_of(window: Window, node: Node, cluster: str, now: datetime) -> Event:
    """The window in the one shape that every signal takes."""
    return Event(
        event_id=window_id(window),
        source=Source.AWS_HEALTH,
        cluster=cluster,
        component="instance",
        code=window.code,
        cause=CauseClass.MAINTENANCE,
        health=Health.UNHEALTHY,
        source_time=min(window.updated, now),
        ingest_time=now,
        evidence=f"AWS will work on {window.instance_id}: {window.in_words}",
        instance_id=window.instance_id,
        logical_id=node.logical_id,
        slurm_name=node.hostname.split(".")[0] if node.hostname else None,
        group=node.group,
    )
