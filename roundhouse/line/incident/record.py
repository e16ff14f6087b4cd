"""Incident: one per (cluster, instance, cause class, occurrence), with everything that happened to it. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from roundhouse.line.event import CauseClass
from roundhouse.line.ladder import Rung


class IncidentState(StrEnum):
    """Where an incident stands on the line."""

    OPEN = "open"  # seen, grace running
    HELD = "held"  # a guard holds it (breaker, pause, patching)
    APPROVAL = "approval"  # people are asked
    ACTING = "acting"
    PROVING = "proving"
    CLOSED = "closed"


class Outcome(StrEnum):
    """How an incident ended."""

    REPAIRED = "repaired"  # by us, proved
    RECOVERED = "recovered"  # healthy again, or repaired by HyperPod itself
    SUPERSEDED = "superseded"  # the instance is gone: another one stands in its place
    OBSERVED = "observed"  # policy says observe
    DENIED = "denied"
    EXPIRED = "expired"  # nobody answered, or held too long
    ESCALATED = "escalated"  # people must act; the message says what to do
    IGNORED = "ignored"  # turned out to be nothing


@dataclass(frozen=True, slots=True)
class Evidence:
    """One event that spoke for (or against) the incident; `text` at most 500 characters."""

    event_id: str
    source: str
    code: str
    health: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step taken, in order. `ended_at` is None while it runs; `detail` is in words."""

    name: str
    started_at: datetime
    ended_at: datetime | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One rung tried on this incident and how it went (`called`, `in_hand`, `proved`, `failed`, `inconclusive`)."""

    rung: Rung
    instance_id: str
    at: datetime
    result: str = "called"


@dataclass(frozen=True, slots=True)
class Incident:
    """One incident. Identity is the instance; names are kept for people.

    `version` grows with each write (optimistic lock). `evidence` holds the newest 20, `event_count` counts all.
    """

    incident_id: str
    cluster: str
    instance_id: str
    cause: CauseClass
    occurrence: int
    opened_at: datetime
    last_event_at: datetime
    state: IncidentState = IncidentState.OPEN
    outcome: Outcome | None = None
    closed_at: datetime | None = None
    group: str | None = None
    logical_id: str | None = None
    slurm_name: str | None = None
    boot_id: str | None = None
    code: str = ""
    health: str = "unhealthy"  # by event time: what the newest event says
    event_count: int = 1
    trusted: bool = False  # at least one event came from AWS itself
    repair_begun: bool = False  # HyperPod said that it repairs the node
    evidence: tuple[Evidence, ...] = ()
    steps: tuple[Step, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    drained_by_us: bool = False
    decision: str = ""  # the last decision, in words
    current_instance_id: str | None = None  # the instance behind the node after a replacement
    version: int = 0


def incident_key(cluster: str, instance_id: str, cause: CauseClass, occurrence: int) -> str:
    """Deterministic incident id, also the execution's name: `inc-` + 16 hex digits + `-` + occurrence.

    >>> incident_key("train", "i-0123456789abcdef0", CauseClass.HARDWARE, 1)
    'inc-5eb8093c1141ce4b-1'
    """
    digest = hashlib.sha256(f"{cluster}\n{instance_id}\n{cause}".encode()).hexdigest()[:16]
    return f"inc-{digest}-{occurrence}"
