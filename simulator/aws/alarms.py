"""Alarms as CloudWatch evaluates them: by their dimensions, period by period, with missing data treated as declared.

Replaces MiniStack's evaluation, which looks at every series of a metric's name. A change of state also becomes the
event 'CloudWatch Alarm State Change' on the default bus.
"""

import json
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from simulator.aws.settings import Settings

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}

MISSING = {"breaching": True, "notBreaching": False}
"""What a period without data counts as; None (left out) for 'missing' and 'ignore'."""


def state(
    values: Sequence[float | None], *, comparison: str, threshold: float, needed: int, missing: str, before: str
) -> str:
    """Alarm state from the values of its evaluation periods, oldest first; None is a period without data.

    `needed` is DatapointsToAlarm, `missing` TreatMissingData, `before` the present state.
    """
    compare = COMPARISONS[comparison]
    judged = [MISSING.get(missing) if value is None else compare(value, threshold) for value in values]
    known = [each for each in judged if each is not None]
    if not known:
        return before if missing == "ignore" else "INSUFFICIENT_DATA"
    return "ALARM" if sum(known) >= needed else "OK"


def periods(points: Sequence[tuple[float, Any]], now: float, period: float, count: int) -> list[list[Any]]:
    """Points (time, point) sorted into the last `count` periods, oldest first, the running one last."""
    running = math.floor(now / period)
    found: list[list[Any]] = [[] for _ in range(count)]
    for moment, point in points:
        age = running - math.floor(moment / period)
        if 0 <= age < count:
            found[count - 1 - age].append(point)
    return found


def install(settings: Settings) -> None:
    """Replace MiniStack's evaluation and announce changes of state."""
    from ministack.services import cloudwatch

    dispatch = cloudwatch._dispatch_alarm_actions

    def evaluate(alarm: dict[str, Any]) -> None:
        if not alarm.get("MetricName") or alarm.get("ComparisonOperator") not in COMPARISONS:
            return
        after, reason = _judge(alarm, settings.clock.timestamp())
        before = alarm["StateValue"]
        if after != before:
            alarm["StateValue"], alarm["StateReason"] = after, reason
            alarm["StateUpdatedTimestamp"] = int(settings.clock.timestamp())
            cloudwatch._record_history(alarm["AlarmName"], before, after, reason)
            cloudwatch._dispatch_alarm_actions(alarm, before, after, reason)
            cloudwatch._evaluate_parent_alarms(alarm)

    def dispatch_and_announce(alarm: dict[str, Any], old_state: str, new_state: str, reason: str) -> None:
        _announce(settings, alarm, old_state, new_state, reason)
        dispatch(alarm, old_state, new_state, reason)

    cloudwatch._evaluate_alarm = evaluate
    cloudwatch._dispatch_alarm_actions = dispatch_and_announce


def _judge(alarm: dict[str, Any], now: float) -> tuple[str, str]:
    from ministack.services import cloudwatch

    key = (alarm["Namespace"], alarm["MetricName"])
    dimensions = cloudwatch._dims_key(cloudwatch._dims_from_list(alarm.get("Dimensions") or []))
    stored = cloudwatch._metrics.get((*key, dimensions)) or []
    period, count = float(alarm.get("Period") or 60), int(alarm.get("EvaluationPeriods") or 1)
    sorted_points = periods([(point["Timestamp"], point) for point in list(stored)], now, period, count + 1)
    values = [_value(alarm, points) for points in sorted_points]
    given = {
        "comparison": alarm["ComparisonOperator"],
        "threshold": float(alarm["Threshold"]),
        "needed": int(alarm.get("DatapointsToAlarm") or count),
        "missing": alarm.get("TreatMissingData") or "missing",
        "before": alarm["StateValue"],
    }
    after = state(values[:-1], **given)
    # A rising value may strike within the running period; a falling one is judged when its period is complete.
    if alarm["ComparisonOperator"].startswith("Greater") and values[-1] is not None and after != "ALARM":
        after = state(values[1:], **given)
    shown = [value for value in values if value is not None]
    return after, f"Threshold Crossed: {shown} {alarm['ComparisonOperator']} {alarm['Threshold']} was evaluated"


def _value(alarm: dict[str, Any], points: list[Any]) -> float | None:
    from ministack.services import cloudwatch

    if not points:
        return None
    statistic = alarm.get("ExtendedStatistic") or alarm.get("Statistic") or "Average"
    value = cloudwatch._stat_value(cloudwatch._calc_stats(points), statistic, points)
    return None if value is None else float(value)


def _announce(settings: Settings, alarm: dict[str, Any], before: str, after: str, reason: str) -> None:
    from ministack.services import eventbridge

    stamp = settings.clock.now().strftime("%Y-%m-%dT%H:%M:%S.000+0000")
    detail = {
        "alarmName": alarm["AlarmName"],
        "state": {"value": after, "reason": reason, "timestamp": stamp},
        "previousState": {"value": before},
        "configuration": {"description": alarm.get("AlarmDescription") or ""},
    }
    entry = {
        "Source": "aws.cloudwatch",
        "DetailType": "CloudWatch Alarm State Change",
        "Detail": json.dumps(detail),
        "Resources": [alarm["AlarmArn"]],
    }
    eventbridge._put_events({"Entries": [entry]}, allow_aws_source=True)


def evaluate_all() -> None:
    """Look at every alarm of the current account."""
    from ministack.services import cloudwatch

    for alarm in list(cloudwatch._alarms.values()):
        cloudwatch._evaluate_alarm(alarm)
