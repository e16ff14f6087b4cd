"""The virtual clock: real time stretched by a scale. Pure; imports the standard library only."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

ENV = "ROUNDHOUSE_CLOCK"


@dataclass(frozen=True)
class VirtualClock:
    """`now = origin + (real now - origin) * scale`; at scale 60 one real second is one virtual minute.

    `origin` is a Unix time in seconds. Every process that is given `env()` shows the same virtual time.
    """

    scale: float = 1.0
    origin: float = field(default_factory=time.time)
    real: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        if not self.scale > 0:
            raise ValueError(f"clock scale must be above 0, not {self.scale}: 1 is real time, 60 a minute a second")

    def timestamp(self) -> float:
        """Virtual Unix time in seconds."""
        return self.origin + (self.real() - self.origin) * self.scale

    def now(self) -> datetime:
        """Virtual time as an aware UTC datetime."""
        return datetime.fromtimestamp(self.timestamp(), UTC)

    def real_seconds(self, virtual_seconds: float) -> float:
        """How long `virtual_seconds` take in real seconds."""
        return virtual_seconds / self.scale

    def env(self) -> str:
        """Value of ROUNDHOUSE_CLOCK: '<origin_unix>,<scale>'."""
        return f"{self.origin:.6f},{self.scale!r}"

    @classmethod
    def from_env(cls, value: str) -> "VirtualClock":
        """The clock that `env()` described."""
        origin, scale = value.split(",")
        return cls(scale=float(scale), origin=float(origin))
