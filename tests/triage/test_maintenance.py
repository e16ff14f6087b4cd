"""The record of a Health event: what it keeps gives the same picture as all messages together."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse import codec
from roundhouse.triage.aws_health import HealthNotice, join, read
from roundhouse.triage.maintenance import KEPT, Maintenance, key_of, windows, with_notice
from tests.cases.reading import case

EVENTS = case(413, "events.jsonl")
T0 = datetime(2026, 5, 2, 6, tzinfo=UTC)
NODES = tuple(f"i-0aaa000000000000{n}" for n in range(5))


def notice(envelope: dict[str, Any]) -> HealthNotice:
    found = read(envelope)
    assert found is not None
    return found


def record(*notices: HealthNotice) -> Maintenance:
    made = Maintenance("mnt-0", "train", T0)
    for each in notices:
        made = with_notice(made, each)
    return made


@st.composite
def messages(draw: st.DrawFn) -> HealthNotice:
    """A message of one event: some communication, page, copy, and entities."""
    envelope = copy.deepcopy(EVENTS[0])
    number, page = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    # one communication says one thing, whichever copy of it arrives
    moved = T0 + timedelta(days=10 + number % 3)
    envelope["detail"] |= {
        "communicationId": f"c-{number}",
        "page": str(page),
        "totalPages": "3",
        "backupEvent": str(draw(st.booleans())).lower(),
        "lastUpdatedTime": format_datetime(T0 + timedelta(hours=number // 2), usegmt=True),
        "statusCode": ("upcoming", "open", "closed")[number % 3],
        "startTime": format_datetime(moved, usegmt=True),
        "endTime": format_datetime(moved + timedelta(hours=2), usegmt=True),
        "affectedEntities": [
            {"entityValue": NODES[(number + page + n) % 5], "status": ("PENDING", "RESOLVED")[n % 2]}
            for n in range(number % 3 + 1)
        ],
    }
    return notice(envelope)


@settings(max_examples=300, deadline=None)
@given(st.lists(messages(), min_size=1, max_size=20))
def test_what_is_kept_joins_to_the_same_as_all_messages(all_of_them: list[HealthNotice]) -> None:
    kept = record(*all_of_them)
    assert join(kept.notices) == join(all_of_them)
    assert len(kept.notices) <= len({n.copy_key for n in all_of_them})


@settings(max_examples=100, deadline=None)
@given(st.lists(messages(), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(all_of_them: list[HealthNotice], chance: Any) -> None:
    other = [*all_of_them, *all_of_them]
    chance.shuffle(other)
    assert record(*other).change == record(*all_of_them).change


def test_a_copy_says_nothing_new_and_the_very_same_record_comes_back() -> None:
    first, backup, second, _ = (notice(e) for e in EVENTS)
    once = record(first, second)
    assert with_notice(once, backup) is once
    assert with_notice(once, first) is once


def test_an_original_takes_the_place_of_its_copy() -> None:
    first, backup, *_ = (notice(e) for e in EVENTS)
    assert record(backup, first).notices == (first,)


def test_windows_are_of_the_entities_that_it_still_lies_ahead_of() -> None:
    first, backup, second, closed = (notice(e) for e in EVENTS)
    both = windows(record(second, backup, first))
    assert [w.instance_id for w in both] == list(record(first, second).change.entities)
    assert {w.starts for w in both} == {first.starts}
    assert windows(record(first, second, closed)) == ()
    assert windows(record()) == ()


def test_all_messages_of_an_event_have_one_key_and_others_another() -> None:
    first, backup, second, closed = (notice(e) for e in EVENTS)
    assert len({key_of(n) for n in (first, backup, second, closed)}) == 1
    other = copy.deepcopy(EVENTS[0])
    other["detail"]["affectedAccount"] = "444455556666"
    assert key_of(notice(other)) != key_of(first)


def test_a_record_survives_its_table() -> None:
    kept = record(*(notice(e) for e in EVENTS))
    assert codec.from_json(Maintenance, codec.to_json(kept)) == kept


@pytest.mark.parametrize("communications", [1, 40])
def test_a_record_fits_in_its_item_whatever_comes(communications: int) -> None:
    made = record()
    for number in range(communications):
        for page in range(1, 6):
            envelope = copy.deepcopy(EVENTS[0])
            envelope["detail"] |= {
                "communicationId": f"c-{number}",
                "page": str(page),
                "totalPages": "5",
                "lastUpdatedTime": format_datetime(T0 + timedelta(minutes=number), usegmt=True),
                "affectedEntities": [
                    {"entityValue": f"i-{number:03x}{page:04x}{n:010x}", "status": "PENDING"} for n in range(100)
                ],
            }
            made = with_notice(made, notice(envelope))
    assert len(made.notices) <= KEPT
    assert len(codec.to_json(made).encode()) < 400_000
    assert made.change.missing_pages == ()
