"""What Health has said about one event, kept until it is over, and the windows that follow from it. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime

from roundhouse.line.maintenance import Window
from roundhouse.triage.aws_health import HealthChange, HealthNotice, join

KEPT = 100  # messages of one event; a record must fit in a DynamoDB item, and a message names up to 100 entities


@dataclass(frozen=True, slots=True)
class Maintenance:
    """One Health event of one account. `heard_at` is when its first message came; `announced` what people were told
    (notice ids, oldest first). `version` is the optimistic lock."""

    key: str
    cluster: str
    heard_at: datetime
    notices: tuple[HealthNotice, ...] = ()
    announced: tuple[str, ...] = ()
    version: int = 0

    @property
    def change(self) -> HealthChange:
        """The event as its latest communication leaves it."""
        return join(self.notices)[0]


def key_of(notice: HealthNotice) -> str:
    """The same for all messages of one event in one account, copies included: `mnt-` + 16 hex digits."""
    return "mnt-" + hashlib.sha256(f"{notice.event_arn}\n{notice.account}".encode()).hexdigest()[:16]


def with_notice(record: Maintenance, notice: HealthNotice) -> Maintenance:
    """The record with one more message; the very same object when it says nothing new.

    Older messages go once later ones name all of their entities: what `join` makes of the rest is the same.
    """
    known = next((n for n in record.notices if n.copy_key == notice.copy_key), None)
    if known is not None and not (known.backup and not notice.backup):
        return record
    others = [n for n in record.notices if n.copy_key != notice.copy_key]
    kept = _needed([*others, notice])
    return record if kept == record.notices else replace(record, notices=kept)


def windows(record: Maintenance) -> tuple[Window, ...]:
    """One for each entity that a scheduled change still lies ahead of, or has begun on; none without a start."""
    if not record.notices:
        return ()
    change = record.change
    if change.starts is None:
        return ()
    return tuple(
        Window(record.key, entity, change.code, change.starts, change.ends, change.updated)
        for entity in change.to_drain
    )


def _needed(notices: list[HealthNotice]) -> tuple[HealthNotice, ...]:
    ordered = sorted(notices, key=lambda n: n.order)
    latest = ordered[-1].communication_id
    later: set[str] = set()
    kept: list[HealthNotice] = []
    for notice in reversed(ordered):
        names = {entity for entity, _ in notice.entities}
        if notice.communication_id == latest or not names <= later:
            kept.append(notice)
        later |= names
    return tuple(reversed(kept[:KEPT]))
