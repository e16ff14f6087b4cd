"""The clocks of `functions.runtime`: the machine's own, and the virtual one of the embedded AWS."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class ScaledClock:
    """Virtual time: `origin + (real - origin) * scale`, all in Unix seconds."""

    def __init__(self, origin: float, scale: float) -> None:
        self.origin = origin
        self.scale = scale

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.origin + (time.time() - self.origin) * self.scale, UTC)
