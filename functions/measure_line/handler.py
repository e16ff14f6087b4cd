"""measure_line: how long incidents stand open, breaker and controller, as metrics. On a schedule; changes nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit

from functions import runtime
from roundhouse.line.breaker import BreakerStatus
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import IncidentState
from roundhouse.steps import look

BACK = timedelta(days=14)


@runtime.handler
def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Event: a schedule's, not looked at. A breaker that cannot be read fails the run, and that alarms."""
    policy, now = runtime.settings().policy(), runtime.clock().now()
    known = runtime.incidents().of_cluster(policy.cluster, now - BACK)
    ongoing = [each for each in known if each.state is not IncidentState.CLOSED]
    # Maintenance is announced weeks ahead: such an incident is old, and nothing is wrong.
    ages = [now - each.opened_at for each in ongoing if each.cause is not CauseClass.MAINTENANCE]
    oldest = max(ages, default=timedelta()) / timedelta(hours=1)
    state = runtime.breaker().load(policy.cluster)
    closed = state.status is BreakerStatus.CLOSED
    runtime.metrics.add_metric(name="OpenIncidents", unit=MetricUnit.Count, value=len(ongoing))
    runtime.metrics.add_metric(name="OpenIncidentAgeHours", unit=MetricUnit.NoUnit, value=round(oldest, 2))
    runtime.metrics.add_metric(name="BreakerOpen", unit=MetricUnit.NoUnit, value=0 if closed else 1)
    cluster = look.live(runtime.reader(), runtime.control(), policy, now)
    if cluster is not None:  # what could not be read is not told: neither lost nor well
        runtime.metrics.add_metric(name="ControllerLost", unit=MetricUnit.NoUnit, value=int(cluster.controller_lost))
    return {"open": len(ongoing), "oldest_hours": round(oldest, 2), "breaker": state.status.value}
