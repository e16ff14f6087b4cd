"""The bill of HyperPod instances by the hour, from Cost Explorer. Touches Cost Explorer only.

Each request to Cost Explorer costs money (USD 0.01); hourly data must be switched on in its preferences, go 14 days
back and lag by up to a day.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from roundhouse.aws.errors import translated
from roundhouse.errors import NotFound
from roundhouse.ports import BilledUsage

SERVICE = "Amazon SageMaker"
# A HyperPod instance bills as `USW2-Cluster:ml.p5.48xlarge`; how its reserved hours are called is not published. So
# every instance usage is kept that is not known to be another part of SageMaker, as `USW2-Train:ml.p5.48xlarge` is.
_INSTANCE_USAGE = re.compile(r":ml\.")
_OTHER_PARTS = re.compile(
    r"\b(Train|Host|ShadowHost|Notebk|Studio|RStudio|Canvas|Processing|Tsform|AsyncInf|ServerlessInf|Edge):",
    re.IGNORECASE,
)


def billed(client: Any, region: str, since: datetime, until: datetime) -> Sequence[BilledUsage]:
    """See `ports.Surroundings.billed`: whole hours that overlap [since, until), oldest first, usage above 0 only."""
    first = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    last = until.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    if last < until:
        last += timedelta(hours=1)
    if last <= first:
        return ()
    query: dict[str, Any] = {
        "TimePeriod": {"Start": _stamp(first), "End": _stamp(last)},
        "Granularity": "HOURLY",
        "Metrics": ["UsageQuantity", "UnblendedCost"],
        "GroupBy": [{"Type": "DIMENSION", "Key": "USAGE_TYPE"}],
        "Filter": {
            "And": [
                {"Dimensions": {"Key": "SERVICE", "Values": [SERVICE]}},
                {"Dimensions": {"Key": "REGION", "Values": [region]}},
            ]
        },
    }
    usage: list[BilledUsage] = []
    while True:
        try:
            with translated("GetCostAndUsage"):
                page = client.get_cost_and_usage(**query)
        except NotFound:  # DataUnavailable: the bill has not come so far
            return ()
        usage += _usage(page)
        if not page.get("NextPageToken"):
            return sorted(usage, key=lambda one: (one.hour, one.usage_type))
        query["NextPageToken"] = page["NextPageToken"]


def _usage(page: dict[str, Any]) -> list[BilledUsage]:
    found = []
    for period in page["ResultsByTime"]:
        hour = datetime.fromisoformat(period["TimePeriod"]["Start"])
        for group in period.get("Groups", []):
            usage_type = group["Keys"][0]
            hours = float(group["Metrics"]["UsageQuantity"]["Amount"])
            if hours > 0 and _INSTANCE_USAGE.search(usage_type) and not _OTHER_PARTS.search(usage_type):
                usd = float(group["Metrics"]["UnblendedCost"]["Amount"])
                found.append(BilledUsage(hour=hour, usage_type=usage_type, hours=hours, usd=usd))
    return found


def _stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
