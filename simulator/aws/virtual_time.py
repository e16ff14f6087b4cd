"""Puts modules that read the time as `time.time()` on the virtual clock; sleeping and everything else stays real."""

import time
from types import ModuleType
from typing import Any

from simulator.aws.settings import Settings
from simulator.clock import VirtualClock


class VirtualTime:
    """Stands in for a module's `time`: `time()` is virtual, every other name is the real module's."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    def time(self) -> float:
        """Virtual Unix time in seconds."""
        return self._clock.timestamp()

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def put_on(module: ModuleType, clock: VirtualClock) -> None:
    """Replace `module.time`; raises AttributeError if the module does not import the time module."""
    if module.time is not time:
        raise AttributeError(f"{module.__name__}.time is not the time module")
    module.time = VirtualTime(clock)  # type: ignore[attr-defined]


def install(settings: Settings) -> None:
    """CloudWatch's metrics and alarms and the times of Step Functions records and HTTP API requests are virtual."""
    from ministack.services import apigateway, cloudwatch, stepfunctions

    put_on(cloudwatch, settings.clock)

    def now_iso() -> str:
        return settings.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"

    stepfunctions.now_iso = now_iso
    put_on(apigateway, settings.clock)
