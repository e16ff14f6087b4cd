"""Cost anomalies as AWS tells them, whichever way they come. Pure; imports triage.payload for foreign JSON.

Three ways: EventBridge (`aws.ce`, "Anomaly Detected"), the GetAnomalies API, and SNS from the service itself, perhaps
through SQS, where the message is JSON in a string in a string. Names differ by way (`anomalyId`, `AnomalyId`), by age
(`dimensionalValue`), and almost everything is optional. The account that pays (`accountId`) owns no anomaly: who is to
be told follows from the linked accounts of the causes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from roundhouse.errors import MalformedEvent
from roundhouse.triage.payload import mapping, moment, optional_text

SOURCE = "aws.ce"
DETAIL_TYPE = "Anomaly Detected"
_WRAPPERS = ("Sns", "Message", "body", "detail")
_DEPTH = 8  # an SQS body around an SNS message around an event is five


@dataclass(frozen=True, slots=True)
class Cause:
    """One row: what is behind a part of an anomaly. `contribution` is in USD; None: not said."""

    account: str | None
    region: str | None
    service: str | None
    usage_type: str | None
    contribution: float | None = None
    account_name: str | None = None


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One anomaly. Amounts are USD. `total_impact` is the largest day's (`max_impact`) where no total is given.

    `percent` is above the expected spend; None where that was nothing (new spend) or is not said. `payer` is the
    account that the alert was made in.
    """

    anomaly_id: str
    monitor_arn: str | None
    dimension: str | None
    started: datetime | None
    ended: datetime | None
    max_impact: float
    total_impact: float
    actual: float | None
    expected: float | None
    percent: float | None
    causes: tuple[Cause, ...]
    payer: str | None = None
    link: str | None = None

    @property
    def explained(self) -> float:
        """USD that the causes account for."""
        return round(math.fsum(cause.contribution or 0.0 for cause in self.causes), 2)

    @property
    def remainder(self) -> float:
        """USD of the total that no cause accounts for; below zero when the causes say more than the total."""
        return round(self.total_impact - self.explained, 2)

    @property
    def is_new_spend(self) -> bool:
        """True when nothing at all was expected: no percentage can say how much more it is."""
        return self.expected == 0 and self.total_impact > 0

    @property
    def by_account(self) -> dict[str | None, tuple[Cause, ...]]:
        """Rows by linked account, the costliest account first; None for rows that name no account."""
        accounts = dict.fromkeys(cause.account for cause in self.causes)
        rows = {account: tuple(c for c in self.causes if c.account == account) for account in accounts}
        return dict(sorted(rows.items(), key=lambda row: -math.fsum(c.contribution or 0.0 for c in row[1])))

    @property
    def linked_accounts(self) -> tuple[str, ...]:
        """Accounts to be told, the costliest first."""
        return tuple(account for account in self.by_account if account is not None)

    @property
    def owner(self) -> str | None:
        """The account that the message is addressed to; None when no cause names one (the payer never stands in)."""
        return next(iter(self.linked_accounts), None)


def read(payload: object) -> tuple[Anomaly, ...]:
    """Every anomaly in an EventBridge event, a GetAnomalies response, a Lambda's SNS or SQS records, or one of these.

    Empty for what is no anomaly (a test message, another alert on the same topic). Raises MalformedEvent when one has
    no id or no impact, or when JSON is cut off.
    """
    return tuple(_anomaly(found, payer) for found, payer in _unwrap(payload, None, _DEPTH))


def _unwrap(value: object, payer: str | None, depth: int) -> Iterator[tuple[Mapping[str, Any], str | None]]:
    if depth < 0:
        raise MalformedEvent("cost alert: wrapped too deeply; send the anomaly itself")
    if isinstance(value, str):
        yield from _unwrap(_decoded(value), payer, depth - 1)
    elif isinstance(value, Mapping):
        if "detail-type" in value and (value.get("source"), value["detail-type"]) != (SOURCE, DETAIL_TYPE):
            return  # somebody else's event
        payer = optional_text(value, "account") or payer
        listed = next((value[key] for key in ("Anomalies", "Records") if isinstance(value.get(key), list)), None)
        wrapped = next((value[key] for key in _WRAPPERS if isinstance(value.get(key), str | Mapping)), None)
        if listed is not None:
            for item in listed:
                yield from _unwrap(item, payer, depth - 1)
        elif _get(value, "anomalyId") is not None or ("impact" in value or "Impact" in value):
            yield value, payer
        elif wrapped is not None:
            yield from _unwrap(wrapped, payer, depth - 1)


def _decoded(text: str) -> object:
    """JSON in a string, or None for plain text. Raises MalformedEvent for JSON that is cut off."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith("{") or "anomalyid" in text.lower():
            raise MalformedEvent(f"cost alert: JSON that is broken or does not end: {text[:120]!r}") from error
        return None


def _anomaly(found: Mapping[str, Any], payer: str | None) -> Anomaly:
    anomaly_id = _text(found, "anomalyId")
    if anomaly_id is None:
        raise MalformedEvent("cost anomaly.anomalyId: expected a text, found nothing")
    where = f"cost anomaly {anomaly_id}"
    impact = mapping(_get(found, "impact"), f"{where}.impact")
    largest, total = _number(impact, "maxImpact"), _number(impact, "totalImpact")
    if largest is None and total is None:
        raise MalformedEvent(f"{where}.impact: neither maxImpact nor totalImpact is a number")
    total = largest if total is None else total
    actual, expected = _number(impact, "totalActualSpend"), _number(impact, "totalExpectedSpend")
    assert total is not None
    causes = _get(found, "rootCauses")
    return Anomaly(
        anomaly_id=anomaly_id,
        monitor_arn=_text(found, "monitorArn"),
        dimension=_text(found, "dimensionValue") or _text(found, "dimensionalValue"),
        started=_moment(found, "anomalyStartDate", where),
        ended=_moment(found, "anomalyEndDate", where),
        max_impact=total if largest is None else largest,
        total_impact=total,
        actual=actual,
        expected=expected,
        percent=_percent(impact, actual, expected),
        causes=tuple(_causes(causes if isinstance(causes, list) else [])),
        payer=_text(found, "accountId") or payer,
        link=_text(found, "anomalyDetailsLink"),
    )


def _causes(found: list[object]) -> Iterator[Cause]:
    """Rows that say anything: empty objects stand for nothing known."""
    for item in found:
        if not isinstance(item, Mapping):
            continue
        impact = _get(item, "impact")
        cause = Cause(
            account=_text(item, "linkedAccount"),
            region=_text(item, "region"),
            service=_text(item, "service"),
            usage_type=_text(item, "usageType"),
            contribution=_number(impact, "contribution") if isinstance(impact, Mapping) else None,
            account_name=_text(item, "linkedAccountName"),
        )
        if cause != Cause(None, None, None, None):
            yield cause


def _percent(impact: Mapping[str, Any], actual: float | None, expected: float | None) -> float | None:
    if expected is not None and expected <= 0:
        return None  # whatever is written there: a division by nothing
    told = _number(impact, "totalImpactPercentage")
    if told is not None or actual is None or expected is None:
        return told
    percent = (actual - expected) / expected * 100
    return round(percent, 2) if math.isfinite(percent) else None


def _get(source: Mapping[str, Any], key: str) -> Any:
    """A member under its event name (`anomalyId`) or its API name (`AnomalyId`)."""
    value = source.get(key)
    return source.get(key[0].upper() + key[1:]) if value is None else value


def _text(source: Mapping[str, Any], key: str) -> str | None:
    return optional_text({key: _get(source, key)}, key)


def _number(source: Mapping[str, Any], key: str) -> float | None:
    """A finite number, or None: `Infinity` and `NaN` are how some writers spell a division by zero."""
    value = _get(source, key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _moment(source: Mapping[str, Any], key: str, where: str) -> datetime | None:
    text = _text(source, key)
    return None if text is None else moment(text, f"{where}.{key}")
