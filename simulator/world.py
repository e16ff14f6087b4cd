"""Builds a simulated AWS account from a scenario and keeps it safe between threads.

Imports the simulator's services and the scenario. One lock guards everything; signals leave outside of it, so a slow
event bus cannot hold up an API call and a Lambda that calls back cannot deadlock.
"""

import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from simulator import scenario_file
from simulator.costexplorer import CostExplorer
from simulator.fsx import Fsx
from simulator.hyperpod.control import Control
from simulator.hyperpod.core import Core
from simulator.hyperpod.events import deliver
from simulator.hyperpod.service import CallLog, HyperPod
from simulator.quotas import Quotas
from simulator.scenario import Scenario
from simulator.service import Caller, Service, Signals


class Clock(Protocol):
    """Virtual time."""

    def now(self) -> datetime:
        """Aware, in UTC."""
        ...


class World:
    """The services of one account and region, on one clock."""

    def __init__(self, scenario: Scenario, clock: Clock, signals: Signals) -> None:
        self.scenario = scenario
        self._clock = clock
        self._signals = signals
        self._lock = threading.RLock()
        self._delivery = threading.Lock()
        self._core = Core(scenario, clock.now())
        log = CallLog()
        hyperpod = HyperPod(self._core, log)
        self._control = Control(self._core, hyperpod.repair, log)
        inner: list[Service] = [
            hyperpod,
            Fsx(self._core, log),
            CostExplorer(self._core),
            Quotas(self._core),
        ]
        self.services: list[Service] = [_Locked(self, s) for s in inner]
        """In no particular order; each has the `name` of its botocore model."""
        self.subnets: list[dict[str, str]] = [
            {
                "SubnetId": s.id,
                "VpcId": s.vpc,
                "AvailabilityZone": s.az,
                "AvailabilityZoneId": s.az_id,
                "CidrBlock": s.cidr,
            }
            for s in scenario.subnet
        ]

    def service(self, name: str) -> Service:
        """The service of that botocore name; KeyError if there is none."""
        return {s.name: s for s in self.services}[name]

    def tick(self, now: datetime) -> None:
        """Let everything due up to `now` happen, then deliver the signals that are due."""
        with self._lock:
            self._core.timeline.advance(now)
        # A second ticking thread waits here, so signals keep their order.
        with self._delivery:
            with self._lock:
                due = self._core.events.take_due(now)
            deliver(self._signals, due)

    def control(self, command: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a control command (`hyperpod.control`). Raises ControlRefused or ScenarioInvalid, both BadInput."""
        with self._lock:
            self._core.timeline.advance(self._clock.now())
            return self._control.run(command, dict(params))

    def cluster_arn(self, name: str) -> str | None:
        """The ARN of a cluster by its name, while it exists."""
        with self._lock:
            cluster = self._core.clusters.get(name)
            return cluster.arn if cluster else None

    def cluster_tags(self) -> list[tuple[str, dict[str, str]]]:
        """(ARN, tags) of each cluster that exists."""
        with self._lock:
            return [(cluster.arn, dict(cluster.tags)) for cluster in self._core.clusters.values()]

    def answer(self, service: Service, operation: str, params: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Bring the world up to now, then let `service` answer."""
        with self._lock:
            self._core.timeline.advance(self._clock.now())
            return service.call(operation, params, caller)


class _Locked:
    """A service behind the world's lock and clock."""

    def __init__(self, world: World, inner: Service) -> None:
        self.name = inner.name
        self._world = world
        self._inner = inner

    def call(self, operation: str, params: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Answer one call (`simulator.service.Service`)."""
        return self._world.answer(self._inner, operation, params, caller)


def build(scenario: dict[str, Any], clock: Clock, signals: Signals) -> World:
    """A world from a decoded scenario file. Raises ScenarioInvalid with every problem of the file."""
    return World(scenario_file.parse(scenario), clock, signals)
