"""Cost Explorer's GetCostAndUsage over the billing meter, as far behind as the scenario says.

Imports the HyperPod core and meter and the contract with the embedded AWS. Usage-type names are the meter's own.
Supported: HOURLY, DAILY, MONTHLY; UnblendedCost, UsageQuantity and the like; grouping by up to two of SERVICE,
USAGE_TYPE, REGION, INSTANCE_TYPE, LINKED_ACCOUNT or a tag; And/Or/Not filters over those.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from simulator.hyperpod.core import Core, bad_request
from simulator.hyperpod.ground.meter import SERVICE, Charge
from simulator.service import Caller, ServiceError

Params = dict[str, Any]
COSTS = ("UnblendedCost", "BlendedCost", "AmortizedCost", "NetUnblendedCost", "NetAmortizedCost")
METRICS = (*COSTS, "UsageQuantity", "NormalizedUsageAmount")


class CostExplorer:
    """Answers in the payer's home region, whatever region the caller signed for."""

    name = "ce"

    def __init__(self, core: Core) -> None:
        self.core = core

    def call(self, operation: str, params: Params, caller: Caller) -> Params:
        """Answer one call (`simulator.service.Service`)."""
        if operation != "GetCostAndUsage":
            raise ServiceError("UnknownOperationException", f"This Cost Explorer knows no operation {operation}.")
        start, end = _time(params["TimePeriod"]["Start"]), _time(params["TimePeriod"]["End"])
        if start >= end:
            raise bad_request("Start date (and hour) should be before end date (and hour)")
        unknown = [m for m in params["Metrics"] if m not in METRICS]
        if unknown or not params["Metrics"]:
            raise bad_request(f"Metrics must be some of {', '.join(METRICS)}")
        groups = params.get("GroupBy", [])
        if len(groups) > 2:
            raise bad_request("At most two groupings are allowed.")
        # Nothing that happened within the lag is known yet, whatever period is asked for.
        known = self.core.now - timedelta(seconds=self.core.scenario.billing.data_lag)
        mine = caller.account == self.core.scenario.account
        charges = [c for c in self.core.meter.charges if mine and self._matches(c, params.get("Filter"))]
        hourly = params["Granularity"] == "HOURLY"
        results = []
        for first, last in _periods(start, end, params["Granularity"]):
            rows = _rows(self, charges, groups, first, min(last, known))
            total = rows.get((), [0.0, 0.0])
            results.append(
                {
                    "TimePeriod": {"Start": _text(first, hourly), "End": _text(last, hourly)},
                    "Total": {} if groups else _metrics(params["Metrics"], *total),
                    "Groups": [
                        {"Keys": list(keys), "Metrics": _metrics(params["Metrics"], *sums)}
                        for keys, sums in sorted(rows.items())
                    ]
                    if groups
                    else [],
                    "Estimated": True,
                }
            )
        answer: Params = {"ResultsByTime": results, "DimensionValueAttributes": []}
        if groups:
            answer["GroupDefinitions"] = groups
        return answer

    def dimension(self, charge: Charge, key: str) -> str:
        """The value of a cost dimension for one charge."""
        values = {
            "SERVICE": SERVICE,
            "USAGE_TYPE": charge.usage_type,
            "REGION": self.core.scenario.region,
            "INSTANCE_TYPE": charge.instance_type,
            "LINKED_ACCOUNT": self.core.scenario.account,
        }
        if key not in values:
            raise bad_request(f"Dimension {key} is not known here; there are {', '.join(values)}")
        return values[key]

    def _matches(self, charge: Charge, expression: Params | None) -> bool:
        if not expression:
            return True
        if "And" in expression:
            return all(self._matches(charge, e) for e in expression["And"])
        if "Or" in expression:
            return any(self._matches(charge, e) for e in expression["Or"])
        if "Not" in expression:
            return not self._matches(charge, expression["Not"])
        if "Dimensions" in expression:
            return self.dimension(charge, expression["Dimensions"]["Key"]) in expression["Dimensions"]["Values"]
        if "Tags" in expression:
            return charge.tags.get(expression["Tags"]["Key"]) in expression["Tags"]["Values"]
        raise bad_request(f"A filter of {', '.join(expression)} is not supported here.")


def _rows(
    ce: CostExplorer, charges: list[Charge], groups: list[Params], first: datetime, last: datetime
) -> dict[tuple[str, ...], list[float]]:
    """(cost, hours) in a period by the keys of the groups."""
    rows: dict[tuple[str, ...], list[float]] = {}
    for charge in charges:
        hours = charge.hours(first, last) if first < last else 0.0
        if not hours:
            continue
        keys = tuple(
            f"{g['Key']}${charge.tags.get(g['Key'], '')}" if g["Type"] == "TAG" else ce.dimension(charge, g["Key"])
            for g in groups
        )
        sums = rows.setdefault(keys, [0.0, 0.0])
        sums[0] += hours * charge.rate
        sums[1] += hours
    return rows


def _metrics(names: list[str], cost: float, hours: float) -> Params:
    return {
        name: {"Amount": f"{cost:.10f}", "Unit": "USD"} if name in COSTS else {"Amount": f"{hours:.10f}", "Unit": "Hrs"}
        for name in names
    }


def _periods(start: datetime, end: datetime, granularity: str) -> list[tuple[datetime, datetime]]:
    periods = []
    while start < end:
        if granularity == "MONTHLY":
            following = (start.replace(day=1) + timedelta(days=32)).replace(day=1)
        else:
            following = start + timedelta(hours=1 if granularity == "HOURLY" else 24)
        periods.append((start, min(end, following)))
        start = following
    return periods


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).replace(tzinfo=UTC)
    except ValueError:
        raise bad_request(f"{text} is not a date (2026-10-01) or an hour (2026-10-01T05:00:00Z)") from None


def _text(time: datetime, hourly: bool) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ" if hourly else "%Y-%m-%d")
