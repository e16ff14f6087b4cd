"""The billing meter: what each instance hour costs, by kind of capacity. Standard library and the scenario only.

An instance is charged from the start of its lifecycle script until it begins to terminate; every failed script is
charged. A reserved slot, once used, goes on costing after its instance is gone, until the contract ends.
The usage-type names are this simulator's own: AWS publishes none for this case.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from simulator.hyperpod.ground.capacity import Lease
from simulator.scenario import Scenario

SERVICE = "Amazon SageMaker"
SUFFIX = {"on-demand": "Cluster", "reserved": "Cluster-Reserved", "reserved-idle": "Cluster-Reserved-Unused"}


@dataclass
class Charge:
    """A span of time at a rate in USD per hour; `expected` is the rate that the contract promises for it."""

    kind: str
    instance_type: str
    usage_type: str
    rate: float
    expected: float
    start: datetime
    end: datetime | None = None
    instance_id: str | None = None
    cluster: str | None = None
    group: str | None = None
    tags: dict[str, str] = field(default_factory=dict)

    def hours(self, start: datetime, end: datetime) -> float:
        """Hours of this charge inside [start, end)."""
        last = min(end, self.end) if self.end else end
        return max(0.0, (last - max(start, self.start)).total_seconds() / 3600)


class Meter:
    """All charges since the world began."""

    def __init__(self, scenario: Scenario) -> None:
        self.prices = {p.instance_type: p for p in scenario.price}
        self.prefix = _prefix(scenario.region)
        self.charges: list[Charge] = []
        self._idle: dict[int, Charge] = {}

    def rate(self, instance_type: str, kind: str) -> float:
        """USD per hour; types without a price cost nothing."""
        price = self.prices.get(instance_type)
        if price is None:
            return 0.0
        return price.on_demand if kind == "on-demand" else price.reserved

    def begin(self, now: datetime, lease: Lease, *, latched: bool, discounted: bool, **who: Any) -> Charge:
        """Start charging an instance. `latched`: its capacity is reserved but it is billed on demand."""
        kind = "on-demand" if latched else lease.kind
        expected = self.rate(lease.instance_type, "reserved" if discounted else "on-demand")
        if lease.unit:
            idle = self._idle.pop(id(lease.unit), None)
            if idle:
                idle.end = min(now, idle.end) if idle.end else now
        return self._add(kind, lease.instance_type, now, expected, **who)

    def finish(self, now: datetime, charge: Charge, lease: Lease | None) -> None:
        """Stop charging an instance. Its reserved slot goes on being paid for until the contract ends."""
        charge.end = now
        if charge.kind == "reserved" and lease and lease.reserved and lease.unit:
            end = lease.reserved.end()
            if now < end:
                rate = self.rate(lease.instance_type, "reserved")
                idle = self._add("reserved-idle", lease.instance_type, now, rate)
                idle.end = end
                self._idle[id(lease.unit)] = idle

    def now(self, now: datetime) -> dict[str, Any]:
        """The meter: USD per hour by kind, the total, and both as they would be had every discount been given."""
        live = [c for c in self.charges if c.start <= now and (c.end is None or c.end > now)]
        per_hour = {kind: round(sum(c.rate for c in live if c.kind == kind), 6) for kind in SUFFIX}
        begun = [c for c in self.charges if c.start <= now]
        return {
            "time": now.isoformat(),
            "per_hour": per_hour,
            "per_hour_total": round(sum(per_hour.values()), 6),
            "per_hour_expected": round(sum(c.expected for c in live), 6),
            "instances": {kind: sum(1 for c in live if c.kind == kind) for kind in SUFFIX},
            "total": round(sum(c.rate * c.hours(c.start, now) for c in begun), 6),
            "expected": round(sum(c.expected * c.hours(c.start, now) for c in begun), 6),
            "currency": "USD",
        }

    def _add(self, kind: str, instance_type: str, now: datetime, expected: float, **who: Any) -> Charge:
        charge = Charge(
            kind=kind,
            instance_type=instance_type,
            usage_type=f"{self.prefix}-{SUFFIX[kind]}:{instance_type}",
            rate=self.rate(instance_type, kind),
            expected=expected,
            start=now,
            **who,
        )
        self.charges.append(charge)
        return charge


def _prefix(region: str) -> str:
    """us-west-2 → USW2, the way that usage types name regions."""
    country, *_, where, number = region.split("-")
    return f"{country.upper()}{where[0].upper()}{number}"
