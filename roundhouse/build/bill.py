"""The bill: which hours of an instance type were reserved, which on demand. Pure.

Two independent looks at each row: the usage type's name, by patterns that are data, and the price of an hour. AWS
publishes no usage-type names for HyperPod's reserved hours, so the names are unverified and never trusted alone: a name
that says reserved at the on-demand price counts as on demand, and a contradiction counts as unclear.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase

from roundhouse.build.records import BilledUsage
from roundhouse.build.spec import BillingPatterns, GroupSpec

HOUR = timedelta(hours=1)
SOME_HOURS = 0.01  # less is rounding
COVERED = 0.99  # share of an hour's instance hours that must be reserved


class Billed(StrEnum):
    """What a billed row is."""

    RESERVED = "reserved"
    ON_DEMAND = "on_demand"
    UNUSED = "unused"  # a reserved slot that stands empty
    UNCLEAR = "unclear"
    OTHER = "other"  # another instance type, or no instance hours at all


@dataclass(frozen=True, slots=True)
class BillFinding:
    """What the bill says of a group since it began, beyond what was billed before. Hours are instance hours.

    `reserved_per_hour` is the best full hour since all nodes ran; None when the bill has no such hour yet.
    """

    on_demand_hours: float
    reserved_per_hour: float | None
    unclear: tuple[str, ...]


def classify(row: BilledUsage, group: GroupSpec, patterns: BillingPatterns) -> Billed:
    """What `row` is for `group`'s instance type: by name and by price, see the module's docstring."""
    kind = re.escape(group.instance_type)
    if row.hours <= 0 or not re.search(rf"(?<![A-Za-z0-9.]){kind}(?![A-Za-z0-9.])", row.usage_type):
        return Billed.OTHER
    named = _by_name(row.usage_type, group.instance_type, patterns)
    if named is Billed.UNUSED:
        return Billed.UNUSED
    priced = by_price(row.usd / row.hours, group, patterns.price_tolerance)
    if named is None:
        return priced or Billed.UNCLEAR
    if priced in {None, named}:
        return named
    if named is Billed.RESERVED:
        return priced  # on demand at that price, or unclear
    return Billed.UNCLEAR if priced is Billed.RESERVED else Billed.ON_DEMAND


def by_price(usd_per_hour: float, group: GroupSpec, tolerance: float) -> Billed | None:
    """RESERVED at or below the contract's price (a plan paid up front bills less), ON_DEMAND near that price, else
    UNCLEAR. None when the two prices are too near to tell, or one is not known."""
    reserved, on_demand = group.discount.reserved_usd_per_hour, group.on_demand_usd_per_hour
    if reserved <= 0 or on_demand * (1 - tolerance) <= reserved * (1 + tolerance):
        return None
    if usd_per_hour <= reserved * (1 + tolerance):
        return Billed.RESERVED
    return Billed.ON_DEMAND if abs(usd_per_hour - on_demand) <= on_demand * tolerance else Billed.UNCLEAR


def read_bill(
    rows: Iterable[BilledUsage],
    group: GroupSpec,
    patterns: BillingPatterns,
    *,
    began_at: datetime,
    running_since: datetime | None,
    until: datetime,
    expected_on_demand: int = 0,
    subtract_reserved: bool = True,
) -> BillFinding:
    """What the bill says of `group`'s type since `began_at`.

    Rows of hours before `began_at` tell what others of the account used of that type: it is subtracted, so ask for a
    day more than the creation took. `expected_on_demand` are nodes of this cluster and type without a discount.
    """
    first = _hour(began_at)
    hours: dict[Billed, dict[datetime, float]] = {kind: defaultdict(float) for kind in Billed}
    unclear = set()
    for row in rows:
        kind = classify(row, group, patterns)
        hours[kind][_hour(row.hour)] += row.hours
        if kind is Billed.UNCLEAR and _hour(row.hour) >= first:
            unclear.add(f"{row.usage_type} at {row.usd / row.hours:.2f} USD")

    def before(kind: Billed) -> float:
        return max((used for hour, used in hours[kind].items() if hour < first), default=0.0)

    others = before(Billed.ON_DEMAND) + expected_on_demand
    excess = [used - others for hour, used in hours[Billed.ON_DEMAND].items() if hour >= first]
    full = _full_hours(hours[Billed.RESERVED], running_since, until)
    base = before(Billed.RESERVED) if subtract_reserved else 0.0
    best = max((hours[Billed.RESERVED][hour] - base for hour in full), default=None)
    return BillFinding(sum(used for used in excess if used > SOME_HOURS), best, tuple(sorted(unclear)))


def _by_name(usage_type: str, instance_type: str, patterns: BillingPatterns) -> Billed | None:
    for kind, candidates in (
        (Billed.UNUSED, patterns.unused),
        (Billed.RESERVED, patterns.reserved),
        (Billed.ON_DEMAND, patterns.on_demand),
    ):
        if any(fnmatchcase(usage_type, pattern.replace("{instance_type}", instance_type)) for pattern in candidates):
            return kind
    return None


def _full_hours(hours: Iterable[datetime], since: datetime | None, until: datetime) -> Sequence[datetime]:
    return [hour for hour in hours if since is not None and hour >= since and hour + HOUR <= until]


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)
