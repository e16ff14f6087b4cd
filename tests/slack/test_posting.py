"""A notice is shown once and in its place, whatever is lost on the way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import RoundhouseError, SlackRejected, SlackUnavailable, StoreFailure
from roundhouse.slack.posting import Delivery, deliver, is_message_fault
from tests.fakes.slack import FakeMessenger
from tests.fakes.stores import FakeThreads

OPENED = Notice("opened:1", "incident:1", NoticeKind.INCIDENT_OPENED, "Xid 79", "GPU lost.")
ASKED = Notice("ask:1", "incident:1", NoticeKind.APPROVAL_ASKED, "Replace?", "…", broadcast=True)
SETTLED = Notice("settled:1", "incident:1", NoticeKind.APPROVAL_SETTLED, "Replace?", "Yes", replaces="ask:1")
CLOSED = Notice("closed:1", "incident:1", NoticeKind.INCIDENT_CLOSED, "Repaired", "Proved.")


@pytest.fixture
def slack() -> FakeMessenger:
    return FakeMessenger()


@pytest.fixture
def threads() -> FakeThreads:
    return FakeThreads()


def test_first_opens_the_thread_the_rest_reply(slack: FakeMessenger, threads: FakeThreads) -> None:
    for notice in (OPENED, ASKED, CLOSED):
        assert deliver(notice, slack, threads, "C1", 1) is Delivery.POSTED
    root = slack.messages[0].ts
    assert [m.thread_ts for m in slack.messages] == [None, root, root]
    assert slack.searches == 0  # nothing was redelivered, so nothing is looked for


def test_a_thread_stays_where_it_was_opened(slack: FakeMessenger, threads: FakeThreads) -> None:
    deliver(OPENED, slack, threads, "C1", 1)
    deliver(CLOSED, slack, threads, "C2", 1)  # the environment's channel was changed meanwhile
    assert [m.channel for m in slack.messages] == ["C1", "C1"]


def test_the_answer_redraws_the_question(slack: FakeMessenger, threads: FakeThreads) -> None:
    for notice in (OPENED, ASKED):
        deliver(notice, slack, threads, "C1", 1)
    assert deliver(SETTLED, slack, threads, "C1", 1) is Delivery.UPDATED
    assert [m.notice for m in slack.messages] == [OPENED, SETTLED]
    assert deliver(SETTLED, slack, threads, "C1", 1) is Delivery.KNOWN


def test_the_answer_finds_a_question_whose_answer_was_lost_for_good(slack: FakeMessenger, threads: FakeThreads) -> None:
    deliver(OPENED, slack, threads, "C1", 1)
    slack.lose_answers = 1
    with pytest.raises(SlackUnavailable):
        deliver(ASKED, slack, threads, "C1", 1)
    assert deliver(SETTLED, slack, threads, "C1", 1) is Delivery.UPDATED
    assert [m.notice for m in slack.messages] == [OPENED, SETTLED]


def test_an_answer_without_its_question_is_posted_and_keeps_the_question_away(
    slack: FakeMessenger, threads: FakeThreads
) -> None:
    assert deliver(SETTLED, slack, threads, "C1", 1) is Delivery.POSTED
    assert deliver(ASKED, slack, threads, "C1", 1) is Delivery.KNOWN  # it comes late, out of the dead letters
    assert [m.notice for m in slack.messages] == [SETTLED]


def test_a_deleted_question_is_answered_anew(slack: FakeMessenger, threads: FakeThreads) -> None:
    for notice in (OPENED, ASKED):
        deliver(notice, slack, threads, "C1", 1)
    slack.fail = [SlackRejected("gone", code="message_not_found")]
    assert deliver(SETTLED, slack, threads, "C1", 1) is Delivery.POSTED


def test_a_deleted_thread_does_not_swallow_a_question(slack: FakeMessenger, threads: FakeThreads) -> None:
    deliver(OPENED, slack, threads, "C1", 1)
    slack.fail = [SlackRejected("gone", code="thread_not_found")]
    assert deliver(ASKED, slack, threads, "C1", 1) is Delivery.POSTED
    assert slack.messages[-1].thread_ts is None


def test_what_may_not_be_looked_for_is_posted_again(slack: FakeMessenger, threads: FakeThreads) -> None:
    slack.fail_find = SlackRejected("no", code="missing_scope")
    assert deliver(ASKED, slack, threads, "C1", 2) is Delivery.POSTED


def test_an_outage_while_looking_is_no_permission_to_post(slack: FakeMessenger, threads: FakeThreads) -> None:
    slack.fail_find = SlackUnavailable("away")
    with pytest.raises(SlackUnavailable):
        deliver(ASKED, slack, threads, "C1", 2)
    assert slack.messages == []


@pytest.mark.parametrize("crash_after", [0, 1, 2])
@pytest.mark.parametrize("notices", [[OPENED], [OPENED, ASKED], [OPENED, ASKED, SETTLED], [SETTLED]])
def test_a_crash_between_posting_and_remembering(
    slack: FakeMessenger, threads: FakeThreads, notices: list[Notice], crash_after: int
) -> None:
    for notice in notices[:-1]:
        deliver(notice, slack, threads, "C1", 1)
    threads.crash_after = crash_after
    try:
        deliver(notices[-1], slack, threads, "C1", 1)
    except StoreFailure:
        threads.crash_after = None
        deliver(notices[-1], slack, threads, "C1", 2)
    threads.crash_after = None
    deliver(CLOSED, slack, threads, "C1", 1)
    assert len(slack.messages) == len([n for n in notices if n is not SETTLED or notices == [SETTLED]]) + 1
    assert slack.messages[-1].thread_ts == slack.messages[0].ts


@given(st.lists(st.tuples(st.sampled_from(["lose", "down", "ok", "crash"]), st.integers(0, 3)), max_size=12))
def test_whatever_happens_each_notice_is_shown_once(story: list[tuple[str, int]]) -> None:
    slack, threads = FakeMessenger(), FakeThreads()
    events = iter(story)
    for notice in (OPENED, ASKED, SETTLED, CLOSED):
        attempt = 0
        while True:
            attempt += 1
            what, number = next(events, ("ok", 0))
            slack.lose_answers = 1 if what == "lose" else 0
            slack.fail = [SlackUnavailable("away")] if what == "down" else []
            threads.crash_after = number if what == "crash" else None
            try:
                deliver(notice, slack, threads, "C1", attempt)
                break
            except RoundhouseError:
                continue
            finally:
                threads.crash_after = None
    assert [m.notice for m in slack.messages] == [OPENED, SETTLED, CLOSED]


def test_other_threads_are_apart(slack: FakeMessenger, threads: FakeThreads) -> None:
    deliver(OPENED, slack, threads, "C1", 1)
    deliver(replace(OPENED, notice_id="opened:2", thread="incident:2"), slack, threads, "C1", 1)
    assert [m.thread_ts for m in slack.messages] == [None, None]


@pytest.mark.parametrize(
    ("code", "wanted"),
    [("invalid_blocks", True), ("msg_too_long", True), ("invalid_auth", False), ("not_in_channel", False)],
)
def test_whose_fault_it_is(code: str, wanted: bool) -> None:
    assert is_message_fault(SlackRejected("no", code=code)) is wanted
