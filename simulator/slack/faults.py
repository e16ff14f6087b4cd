"""Faults of the Web API on demand: outage, 429, lost answers, slow answers, errors.

Imports the standard library only.

A fault is armed for the next `n` matching calls (or, for an outage, for a time); `next_for` consumes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["unavailable", "drop", "rate_limited", "lost_answer", "slow", "error"]

KINDS: tuple[Kind, ...] = ("unavailable", "drop", "rate_limited", "lost_answer", "slow", "error")

_BURST = 3  # Slack tolerates short bursts over one message per second and channel


@dataclass
class Fault:
    """One armed fault.

    unavailable: 503 · drop: the connection closes before anything is done · rate_limited: 429 ·
    lost_answer: the call is done, then the connection closes · slow: done, answered after `seconds` ·
    error: `{ok: false, error}` without doing it.
    """

    kind: Kind
    remaining: int | None = 1  # None: until `until`
    until: float | None = None  # monotonic seconds; None: no end
    methods: tuple[str, ...] = ()  # empty: every method
    seconds: float = 0.0
    error: str = "internal_error"
    retry_after: str | None = "30"  # the header's value as sent; None leaves the header out
    status: int = 429  # 200 answers {ok: false, error: ratelimited} like some of Slack's edges do


@dataclass
class Faults:
    """Everything that is armed, oldest first, and the per-channel pace if it is enforced."""

    now: Callable[[], float] = time.monotonic
    armed: list[Fault] = field(default_factory=list)
    enforce_pace: bool = False
    _posts: dict[str, list[float]] = field(default_factory=dict)

    def arm(self, fault: Fault) -> None:
        self.armed.append(fault)

    def clear(self, *kinds: Kind) -> None:
        """Disarm these kinds, or everything."""
        self.armed = [fault for fault in self.armed if kinds and fault.kind not in kinds]

    def next_for(self, method: str) -> Fault | None:
        """The fault that hits this call, counted down; None when the call goes through."""
        self.armed = [f for f in self.armed if f.until is None or f.until > self.now()]
        for fault in self.armed:
            if fault.methods and method not in fault.methods:
                continue
            if fault.remaining is not None:
                fault.remaining -= 1
                if fault.remaining <= 0:
                    self.armed.remove(fault)
            return fault
        return None

    def too_fast(self, channel: str) -> bool:
        """Whether this post breaks the pace of about one message a second; counts it when it does not."""
        if not self.enforce_pace:
            return False
        now = self.now()
        recent = [at for at in self._posts.get(channel, []) if now - at < _BURST]
        if len(recent) >= _BURST:
            self._posts[channel] = recent
            return True
        self._posts[channel] = [*recent, now]
        return False
