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
    RETURNED = "returned"  # drained for AWS's maintenance, proved, back in service
    IGNORED = "ignored"  # turned out to be nothing


ENDED_WELL = frozenset({Outcome.REPAIRED, Outcome.RECOVERED, Outcome.SUPERSEDED, Outcome.RETURNED})
"""The node serves again, or another instance in its place."""


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
class Other:
    """A call on the node, or on its cluster, by somebody who is neither HyperPod nor we: `who` called `call`.

    `kind` is what it does to the node: `reboot`, `replace`, `delete`, `check`, or `update` for the software of a whole
    cluster.
    """

    event_id: str
    at: datetime
    who: str
    call: str
    kind: str


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
    asked: str = ""  # approval id of the question that is open
    withdrawn: int = 0  # questions that were taken back, since others acted meanwhile
    others: tuple[Other, ...] = ()  # calls of other people and programs, the newest 20
    node_recovery: str = ""  # HyperPod's own repair, as the last decision found it: Automatic or None
    drain_seen_at: datetime | None = None  # Slurm has shown our drain: the agent took it
    undrained_at: datetime | None = None  # and then the node in use without it: people want it back
    healthy_at: datetime | None = None  # when HyperPod itself said last that it is healthy
    restarts: tuple[datetime, ...] = ()  # when its workflow was begun again, because the former one had ended early
    version: int = 0


def incident_key(cluster: str, instance_id: str, cause: CauseClass, occurrence: int) -> str:
    """Deterministic incident id, also the execution's name: `inc-` + 16 hex digits + `-` + occurrence.

    >>> incident_key("train", "i-0123456789abcdef0", CauseClass.HARDWARE, 1)
    'inc-5eb8093c1141ce4b-1'
    """
    digest = hashlib.sha256(f"{cluster}\n{instance_id}\n{cause}".encode()).hexdigest()[:16]
    return f"inc-{digest}-{occurrence}"
