"""The circuit breaker: persistent and wide. Pure: state in, verdict and new state out.

It counts everything that takes nodes away: our drains, reboots and replacements, and HyperPod's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class BreakerStatus(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"  # one canary is under way


@dataclass(frozen=True, slots=True)
class BreakerEntry:
    """One counted thing: an action (`reboot`, `replace`, `delete_restore`, `drain`, `theirs`) or a `signal`.

    `theirs` is a repair that HyperPod does by itself; `signal` is an incident opened, counted by the systemic detector.
    """

    at: datetime
    kind: str
    instance_id: str
    group: str
    cause: str


@dataclass(frozen=True, slots=True)
class BreakerState:
    """What is remembered: entries of the last 24 hours, status, and since when. `version` is the optimistic lock."""

    status: BreakerStatus = BreakerStatus.CLOSED
    since: datetime | None = None
    reason: str = ""
    canary: str | None = None  # instance id of the half-open canary
    announced: bool = False  # the one Slack message of this opening is on its way
    entries: tuple[BreakerEntry, ...] = ()
    version: int = 0
