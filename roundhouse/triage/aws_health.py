"""AWS Health's events: scheduled changes and issues of instances, joined from pages, copies and updates. Pure.

Health sends each message to the region concerned and again to a backup region, long lists of entities in pages, and
every change of state as a new communication. Neither order nor number of deliveries can be relied on, so joining is a
function of the set. The envelope's `region` is where the copy was delivered; `detail.eventRegion` is where it applies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from roundhouse.contracts.names import HEALTH_EVENT, HEALTH_SOURCE, SCHEDULED_CHANGE
from roundhouse.errors import MalformedEvent
from roundhouse.triage.payload import mapping, moment, optional_text, text

CLOSED = "closed"
_RANK = {"upcoming": 0, "open": 1, CLOSED: 2}  # of two messages of the same second the one that is further on counts
_YEARS = 2000, 2199  # a time outside of them is a placeholder
_SETTLED = frozenset({"RESOLVED", "UNIMPAIRED"})


@dataclass(frozen=True, slots=True)
class HealthNotice:
    """One delivered message: one page of one communication about one event in one account. Times are UTC."""

    event_arn: str
    communication_id: str
    account: str
    region: str
    service: str
    code: str
    category: str
    status: str
    updated: datetime
    starts: datetime | None
    ends: datetime | None
    page: int
    pages: int
    backup: bool
    entities: tuple[tuple[str, str], ...]  # (id, state); the state is "" where none is given

    @property
    def copy_key(self) -> tuple[str, str, int]:
        """The same for a message and its backup copy, whichever arrives, in whichever order."""
        return self.communication_id, self.account, self.page

    @property
    def order(self) -> tuple[datetime, int, str, int]:
        """What was said later stands later, whenever it arrives."""
        return self.updated, _RANK.get(self.status, 1), self.communication_id, self.page


@dataclass(frozen=True, slots=True)
class HealthChange:
    """One event of one account as its latest communication leaves it; `entities` are all that were ever named."""

    event_arn: str
    account: str
    region: str
    service: str
    code: str
    category: str
    status: str
    updated: datetime
    starts: datetime | None
    ends: datetime | None
    entities: tuple[str, ...]
    settled: frozenset[str]  # entities whose own last state says that they are well again
    missing_pages: tuple[int, ...]  # of the latest communication

    @property
    def closed(self) -> bool:
        return self.status == CLOSED

    @property
    def to_drain(self) -> tuple[str, ...]:
        """Entities that a scheduled change still lies ahead of; none once it is closed."""
        if self.closed or self.category != SCHEDULED_CHANGE:
            return ()
        return tuple(entity for entity in self.entities if entity not in self.settled)


def read(envelope: Mapping[str, Any]) -> HealthNotice | None:
    """The notice in an EventBridge envelope; None for other sources and types.

    Raises MalformedEvent when the event, its type, its region, its status or its time is missing.
    """
    envelope = mapping(envelope, "envelope")
    if (envelope.get("source"), envelope.get("detail-type")) != (HEALTH_SOURCE, HEALTH_EVENT):
        return None
    detail = mapping(envelope.get("detail"), "detail")
    page, pages = _count(detail, "page"), _count(detail, "totalPages")
    return HealthNotice(
        event_arn=text(detail, "eventArn", "detail"),
        communication_id=optional_text(detail, "communicationId") or text(envelope, "id", "envelope"),
        account=optional_text(detail, "affectedAccount") or text(envelope, "account", "envelope"),
        region=text(detail, "eventRegion", "detail"),
        service=text(detail, "service", "detail"),
        code=text(detail, "eventTypeCode", "detail"),
        category=optional_text(detail, "eventTypeCategory") or "",
        status=text(detail, "statusCode", "detail").strip().lower(),
        updated=_moment(detail, "lastUpdatedTime") or moment(envelope.get("time"), "envelope.time"),
        starts=_moment(detail, "startTime"),
        ends=_moment(detail, "endTime"),
        page=page,
        pages=max(page, pages),
        backup=str(detail.get("backupEvent")).lower() == "true",
        entities=_entities(detail.get("affectedEntities")),
    )


def join(notices: Iterable[HealthNotice]) -> tuple[HealthChange, ...]:
    """One change per event and account, the earliest to start first. Any order, any repetition: the same answer."""
    kept: dict[tuple[str, str, int], HealthNotice] = {}
    for notice in notices:
        known = kept.get(notice.copy_key)
        # The original is kept over its backup: they say the same, and which of them is there must not depend on luck.
        if known is None or (known.backup and not notice.backup):
            kept[notice.copy_key] = notice
    events: dict[tuple[str, str], list[HealthNotice]] = {}
    for notice in kept.values():
        events.setdefault((notice.event_arn, notice.account), []).append(notice)
    changes = [_joined(sorted(group, key=lambda notice: notice.order)) for group in events.values()]
    return tuple(sorted(changes, key=lambda c: (c.starts or c.updated, c.event_arn, c.account)))


def _joined(ordered: list[HealthNotice]) -> HealthChange:
    last = ordered[-1]
    there = {notice.page for notice in ordered if notice.communication_id == last.communication_id}
    states = {entity: state for notice in ordered for entity, state in notice.entities}
    return HealthChange(
        event_arn=last.event_arn,
        account=last.account,
        region=last.region,
        service=last.service,
        code=last.code,
        category=last.category,
        status=last.status,
        updated=last.updated,
        starts=last.starts,
        ends=last.ends,
        entities=tuple(sorted(states)),
        settled=frozenset(entity for entity, state in states.items() if state in _SETTLED),
        missing_pages=tuple(page for page in range(1, last.pages + 1) if page not in there),
    )


def _entities(value: object) -> tuple[tuple[str, str], ...]:
    """Ids as given; `UNKNOWN` and `AWS_ACCOUNT` stand for none in particular."""
    found = [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
    named = [(optional_text(item, "entityValue"), (optional_text(item, "status") or "").upper()) for item in found]
    return tuple((entity, state) for entity, state in named if entity and entity not in {"UNKNOWN", "AWS_ACCOUNT"})


def _count(detail: Mapping[str, Any], key: str) -> int:
    """A page number, written as text or as a number; 1 when absent."""
    value = detail.get(key)
    if value is None or value == "":
        return 1
    number = int(value) if str(value).isascii() and str(value).isdigit() and len(str(value)) < 6 else 0
    if number < 1:
        raise MalformedEvent(f"detail.{key}: not a page number: {value!r:.80}")
    return number


def _moment(detail: Mapping[str, Any], key: str) -> datetime | None:
    """RFC 1123 (`Sat, 16 May 2026 05:01:10 GMT`), as Health writes it, or ISO 8601; None when absent, or when it stands
    for none: the first or the last day that a calendar knows, with which nobody can reckon."""
    value = optional_text(detail, key)
    if value is None:
        return None
    try:
        at = moment(parsedate_to_datetime(value).isoformat(), f"detail.{key}")
    except (ValueError, TypeError, OverflowError):
        at = moment(value, f"detail.{key}")
    return at if _YEARS[0] <= at.year <= _YEARS[1] else None
