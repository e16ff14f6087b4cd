"""One door for every signal that comes through the intake queue, whatever its source. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from roundhouse.contracts import names
from roundhouse.line.event import Event
from roundhouse.line.state import SlurmSnapshot
from roundhouse.triage import cloudtrail, health_log, hyperpod, live, slurm_snapshot
from roundhouse.triage.payload import mapping


@dataclass(frozen=True, slots=True)
class Signal:
    """Events to admit, in order, then the Slurm snapshot of `cluster` to keep. `note` says why there are none."""

    events: tuple[Event, ...] = ()
    snapshot: SlurmSnapshot | None = None
    note: str = ""
    cluster: str = ""


def read(
    envelope: Mapping[str, Any], ingest_time: datetime, previous: SlurmSnapshot | None = None, ours: str = ""
) -> Signal:
    """Read an envelope of EventBridge's form. Raises MalformedEvent for one of ours that is not what it should be.

    `previous` is the kept snapshot: events of Slurm nodes are made of what changed since. For `roundhouse.hma` the
    detail is the decoded CloudWatch Logs payload as it came. `ours` is what the names of our own roles begin with.
    """
    envelope = mapping(envelope, "envelope")
    match envelope.get("source"):
        case names.SLURM_SOURCE:
            detail = mapping(envelope.get("detail"), "detail")
            reading = slurm_snapshot.read(detail, ingest_time, previous)
            return Signal(reading.events, reading.snapshot, reading.unknown, str(detail["cluster"]))
        case names.LOG_SOURCE:
            return Signal(tuple(health_log.read(mapping(envelope.get("detail"), "detail"), ingest_time)))
        case names.LIVE_SOURCE:
            return Signal((live.read(envelope, ingest_time),))
        case names.HYPERPOD_SOURCE if envelope.get("detail-type") == names.API_CALL:
            events = cloudtrail.read(envelope, ingest_time, ours)
            return Signal(events, note="" if events else "a call that is no act of somebody else")
        case _:
            event = hyperpod.read(envelope, ingest_time)
            return Signal((event,)) if event else Signal(note=f"not ours: {envelope.get('detail-type')!r}")
