"""Where instances come from: on-demand pools, training plans and account-team reservations, per AZ and type.

Imports the standard library, the scenario and ids. A launch takes reserved capacity only if account, AZ, type, status
and time match; everything else falls through to the on-demand pool without any error, as in the real service.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from simulator.hyperpod.ground.ids import Ids
from simulator.scenario import Scenario


@dataclass
class Unit:
    """One reserved instance slot."""

    number: int
    leased: bool = False


@dataclass
class Reserved:
    """A training plan (with ARN) or an account-team reservation (without)."""

    name: str
    arn: str | None
    cr_id: str
    az_id: str
    instance_type: str
    windows: list[tuple[datetime, datetime]]
    units: list[Unit]
    forced_status: str | None = None
    unhealthy: int = 0
    target_resources: list[str] = field(default_factory=list)
    upfront_fee: str = "0.0"
    reclaim: timedelta = timedelta(0)

    def status(self, now: datetime) -> str:
        """Scheduled before and between blocks, Active inside one, Expired after the last."""
        if self.forced_status:
            return self.forced_status
        if any(start <= now < end for start, end in self.windows):
            return "Active"
        return "Scheduled" if now < self.windows[-1][0] else "Expired"

    def gives(self, now: datetime) -> bool:
        """Whether a launch may take from it now: Active, and not within the last hour of a block."""
        if self.status(now) != "Active":
            return False
        return bool(self.forced_status) or any(s <= now < e - self.reclaim for s, e in self.windows)

    def next_start(self, now: datetime) -> datetime | None:
        """When the next block starts, if there is one."""
        return next((start for start, _ in self.windows if start > now), None)

    @property
    def in_use(self) -> int:
        return sum(u.leased for u in self.units)

    def available(self, now: datetime) -> int:
        """Free and healthy slots; none once it has expired or failed."""
        if self.status(now) in ("Expired", "Failed", "Pending"):
            return 0
        return max(0, len(self.units) - self.unhealthy - self.in_use)

    def end(self) -> datetime:
        return self.windows[-1][1]


@dataclass
class Pool:
    """An on-demand pool."""

    size: int
    used: int = 0


@dataclass
class Lease:
    """An instance's hold on capacity: `reserved` is None for on-demand."""

    az_id: str
    instance_type: str
    reserved: Reserved | None = None
    unit: Unit | None = None

    @property
    def kind(self) -> str:
        return "reserved" if self.reserved else "on-demand"


@dataclass(frozen=True)
class Hold:
    """Nothing is launched before `until`: the plan is Scheduled."""

    until: datetime


class Capacity:
    """The pools of one account and region."""

    def __init__(self, scenario: Scenario, start: datetime, ids: Ids) -> None:
        reclaim = timedelta(seconds=scenario.timing.plan_reclaim)
        self.pools = {(p.az_id, p.instance_type): Pool(p.count) for p in scenario.on_demand}
        self.reserved: list[Reserved] = []
        for plan in scenario.training_plan:
            arn = f"arn:aws:sagemaker:{scenario.region}:{scenario.account}:training-plan/{plan.name}"
            windows = sorted((w.start.at(start), w.end.at(start)) for w in plan.window)
            self.reserved.append(
                Reserved(
                    plan.name,
                    arn,
                    ids.hexadecimal("cr"),
                    plan.az_id,
                    plan.instance_type,
                    windows,
                    [Unit(i) for i in range(plan.count)],
                    plan.status,
                    plan.unhealthy,
                    list(plan.target_resources),
                    plan.upfront_fee,
                    reclaim,
                )
            )
        for i, r in enumerate(scenario.account_reservation):
            window = (r.start.at(start), r.end.at(start))
            units = [Unit(n) for n in range(r.count)]
            self.reserved.append(
                Reserved(f"account-{i}", None, ids.hexadecimal("cr"), r.az_id, r.instance_type, [window], units)
            )

    def plans(self) -> list[Reserved]:
        """The training plans; account-team reservations are not visible through any API."""
        return [r for r in self.reserved if r.arn]

    def plan(self, name_or_arn: str | None) -> Reserved | None:
        return next((r for r in self.plans() if name_or_arn and name_or_arn in (r.name, r.arn)), None)

    def discounted(self, instance_type: str) -> bool:
        """Whether the contract promises the reserved price for this type, wherever and however it was asked for."""
        return any(r.instance_type == instance_type for r in self.reserved)

    def take(self, now: datetime, az_id: str, instance_type: str, plan_arn: str | None) -> Lease | Hold | None:
        """A lease, a hold (the matching plan is Scheduled), or None: there is no capacity."""
        for r in self.reserved:
            matches = r.arn == plan_arn if plan_arn else r.arn is None
            if not matches or r.az_id != az_id or r.instance_type != instance_type:
                continue
            start = r.next_start(now)
            if plan_arn and start and (r.status(now) == "Scheduled" or not r.gives(now)):
                return Hold(start)
            if r.gives(now) and r.available(now) > 0:
                unit = next(u for u in r.units if not u.leased)
                unit.leased = True
                return Lease(az_id, instance_type, r, unit)
        pool = self.pools.get((az_id, instance_type))
        if pool is None or pool.used >= pool.size:
            return None
        pool.used += 1
        return Lease(az_id, instance_type)

    def give_back(self, lease: Lease) -> None:
        """End a lease; the slot or the place in the pool is free at once."""
        if lease.unit:
            lease.unit.leased = False
        else:
            self.pools[(lease.az_id, lease.instance_type)].used -= 1
