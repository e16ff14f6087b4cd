"""AWS Health: case 413, and every other order, copy, page and update that may come."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.errors import MalformedEvent
from roundhouse.triage.aws_health import HealthNotice, join, read
from tests.cases.reading import case

EVENTS = case(413, "events.jsonl")
FIRST, BACKUP, SECOND, UPDATE = EVENTS
ONE, TWO = "i-0aaa0000000000001", "i-0aaa0000000000002"


def notices(*envelopes: dict[str, Any]) -> list[HealthNotice]:
    read_ones = [read(envelope) for envelope in envelopes]
    return [notice for notice in read_ones if notice is not None]


def changed(envelope: dict[str, Any], **detail: Any) -> dict[str, Any]:
    """The envelope with other members in its detail; None takes one away."""
    made = copy.deepcopy(envelope)
    made["detail"] = {key: value for key, value in (made["detail"] | detail).items() if value is not None}
    return made


# Case 413 --------------------------------------------------------------------------------------------------------
@given(st.lists(st.sampled_from(EVENTS), max_size=4), st.permutations(EVENTS))
def test_copies_pages_and_updates_are_one_change_in_any_order(again: list[Any], order: list[Any]) -> None:
    changes = join(notices(*again, *order))
    [change] = changes
    assert {
        "incidents": len(changes),
        "entities": list(change.entities),
        "region": change.region,
        "final": change.status,
    } == case(413, "expected.json")
    assert (change.closed, change.to_drain, change.missing_pages) == (True, (), ())


def test_a_copy_is_dropped_whichever_comes_first() -> None:
    for pair in ((FIRST, BACKUP), (BACKUP, FIRST)):
        a, b = notices(*pair)
        assert a.copy_key == b.copy_key
        assert join([a, b]) == join(notices(FIRST))
    assert join(notices(BACKUP)) == join(notices(FIRST))  # the original may never arrive


def test_the_original_is_believed_over_its_copy() -> None:
    cut = changed(BACKUP, affectedEntities=[])
    assert join(notices(cut, FIRST)) == join(notices(FIRST, cut)) == join(notices(FIRST))


@pytest.mark.parametrize("communication", ["c-0", "c-2"])
def test_of_two_messages_of_one_second_the_one_further_on_counts(communication: str) -> None:
    closing, opening = (changed(UPDATE, communicationId=communication, statusCode=s) for s in ("closed", "open"))
    assert [c.status for c in join(notices(closing, FIRST, SECOND))] == ["closed"]
    assert [c.status for c in join(notices(opening, FIRST, SECOND))] == ["open"]


def test_before_the_update_both_pages_lie_ahead() -> None:
    [change] = join(notices(FIRST, BACKUP, SECOND))
    assert change.to_drain == (ONE, TWO)
    assert change.starts == datetime(2026, 5, 16, 5, 1, 10, tzinfo=UTC)
    assert change.ends == datetime(2026, 5, 16, 6, 1, 10, tzinfo=UTC)


def test_a_page_that_has_not_come_is_said_to_be_missing() -> None:
    [change] = join(notices(SECOND))
    assert (change.missing_pages, change.to_drain) == ((1,), (TWO,))


# Its kind --------------------------------------------------------------------------------------------------------
def test_the_later_of_two_updates_counts_whenever_it_arrives() -> None:
    later = "Sun, 3 May 2026 06:27:57 GMT"
    moved = changed(FIRST, communicationId="c-0", lastUpdatedTime=later, startTime="Mon, 18 May 2026 05:00:00 GMT")
    reopened = changed(moved, communicationId="c-3", lastUpdatedTime="Mon, 4 May 2026 00:00:00 GMT", statusCode="open")
    for order in ((FIRST, moved, UPDATE), (moved, UPDATE, FIRST)):
        [change] = join(notices(*order))
        assert (change.status, change.to_drain) == ("upcoming", (ONE,))
        assert change.starts == datetime(2026, 5, 18, 5, tzinfo=UTC)
    [change] = join(notices(reopened, UPDATE, FIRST))
    assert change.status == "open"


def test_accounts_and_events_are_kept_apart() -> None:
    elsewhere = changed(FIRST, affectedAccount="444455556666")
    another = changed(FIRST, eventArn=FIRST["detail"]["eventArn"] + "2", communicationId="c-9")
    changes = join(notices(FIRST, elsewhere, another))
    assert len(changes) == 3
    assert {change.account for change in changes} == {"111122223333", "444455556666"}
    closed = changed(UPDATE, affectedAccount="444455556666")
    states = {change.account: change.status for change in join(notices(FIRST, elsewhere, closed))}
    assert states == {"111122223333": "upcoming", "444455556666": "closed"}


def test_an_instance_that_is_well_again_is_not_drained() -> None:
    told = changed(
        SECOND,
        communicationId="c-3",
        page="1",
        totalPages="1",
        lastUpdatedTime="Sun, 3 May 2026 00:00:00 GMT",
        affectedEntities=[{"entityValue": TWO, "status": "RESOLVED"}],
    )
    [change] = join(notices(told, FIRST, SECOND))
    assert (change.entities, change.to_drain) == ((ONE, TWO), (ONE,))


@pytest.mark.parametrize("category", ["issue", "accountNotification", "investigation", None])
def test_only_a_scheduled_change_lies_ahead(category: str | None) -> None:
    [change] = join(notices(changed(FIRST, eventTypeCategory=category)))
    assert (change.entities, change.to_drain) == ((ONE,), ())


@pytest.mark.parametrize(
    ("entities", "wanted"),
    [
        (None, ()),
        ([], ()),
        ("text", ()),
        ([{}, None, {"entityValue": ""}], ()),
        ([{"entityValue": "UNKNOWN"}, {"entityValue": "AWS_ACCOUNT"}], ()),
        ([{"entityValue": TWO, "status": "PENDING"}, {"entityValue": ONE}, {"entityValue": ONE}], (ONE, TWO)),
    ],
)
def test_entities(entities: Any, wanted: tuple[str, ...]) -> None:
    [change] = join(notices(changed(FIRST, affectedEntities=entities)))
    assert change.entities == wanted


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("Sat, 2 May 2026 06:27:57 GMT", datetime(2026, 5, 2, 6, 27, 57, tzinfo=UTC)),
        ("Sat, 02 May 2026 06:27:57 +0000", datetime(2026, 5, 2, 6, 27, 57, tzinfo=UTC)),
        ("Sat, 2 May 2026 06:27:57 -0000", datetime(2026, 5, 2, 6, 27, 57, tzinfo=UTC)),
        ("Sat, 2 May 2026 08:27:57 +0200", datetime(2026, 5, 2, 6, 27, 57, tzinfo=UTC)),
        ("2026-05-02T06:27:57Z", datetime(2026, 5, 2, 6, 27, 57, tzinfo=UTC)),
        (None, datetime(2026, 5, 2, 6, 27, 57, tzinfo=UTC)),  # the envelope's
    ],
)
def test_times_in_every_form(written: str | None, wanted: datetime) -> None:
    [notice] = notices(changed(FIRST, lastUpdatedTime=written))
    assert notice.updated == wanted


@pytest.mark.parametrize("flag", ["true", "True", True])
@pytest.mark.parametrize("page", ["1", 1])
def test_flags_and_numbers_as_text_or_not(flag: Any, page: Any) -> None:
    [notice] = notices(changed(FIRST, backupEvent=flag, page=page, totalPages=2))
    assert (notice.backup, notice.page, notice.pages) == (True, 1, 2)


def test_older_messages_without_page_account_or_communication() -> None:
    old = changed(FIRST, page=None, totalPages=None, affectedAccount=None, communicationId=None, backupEvent=None)
    [notice] = notices(old)
    assert (notice.page, notice.pages, notice.backup) == (1, 1, False)
    assert (notice.account, notice.communication_id) == ("111122223333", "h-1")


@pytest.mark.parametrize(
    "other", [{"source": "custom.health"}, {"detail-type": "AWS Health Abuse Event"}, {"source": "aws.ec2"}]
)
def test_others_are_not_ours(other: dict[str, str]) -> None:
    assert read(FIRST | other) is None


@pytest.mark.parametrize(
    ("detail", "where"),
    [
        ({"eventArn": None}, "eventArn"),
        ({"eventRegion": None}, "eventRegion"),  # never guessed from the envelope, which says where the copy went
        ({"statusCode": ""}, "statusCode"),
        ({"service": 7}, "service"),
        ({"startTime": "soon"}, "startTime"),
        ({"lastUpdatedTime": "Sat, 99 May 2026 06:27:57 GMT"}, "lastUpdatedTime"),
        ({"page": "0"}, "page"),
        ({"page": "two"}, "page"),
        ({"totalPages": "-1"}, "totalPages"),
        ({"totalPages": "9" * 4000}, "totalPages"),
    ],
)
def test_what_is_broken_is_named(detail: dict[str, Any], where: str) -> None:
    with pytest.raises(MalformedEvent, match=where):
        read(changed(FIRST, **detail))


def test_nothing_joined_is_nothing() -> None:
    assert join([]) == ()
