"""The messenger against the Slack stand-in, which keeps Slack's rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import SlackRateLimited, SlackRejected, SlackUnavailable
from roundhouse.slack.messenger import SlackMessenger
from roundhouse.slack.posting import Delivery, deliver
from simulator.slack.client import SlackStandIn
from tests.fakes.stores import FakeThreads

THREAD = "incident:inc-1"
ASKED = Notice(
    "ask:apr-1",
    THREAD,
    NoticeKind.APPROVAL_ASKED,
    "Replace i-0aaa <!channel>?",
    "No answer means: leave it.",
    {"Node": "ip-10-1-0-1", "Evidence": "NVRM: Xid 79 ```"},
    {
        "approval_id": "apr-1",
        "instance_id": "i-0aaa",
        "options": [["approve", "Replace", "danger", "Disks are lost."], ["deny", "Leave it", "", ""]],
    },
    broadcast=True,
)
OPENED = Notice("opened:inc-1", THREAD, NoticeKind.INCIDENT_OPENED, "ip-10-1-0-1: Xid 79", "GPU lost.")
SETTLED = Notice(
    "settled:apr-1",
    THREAD,
    NoticeKind.APPROVAL_SETTLED,
    "Replace i-0aaa?",
    "Replace: decided by U0AAAAAAA",
    {"By": "U0AAAAAAA"},
    replaces="ask:apr-1",
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlackStandIn]:
    with SlackStandIn.start(tmp_path_factory.mktemp("slack")) as running:
        yield running


@pytest.fixture
def slack(shared: SlackStandIn) -> Iterator[SlackStandIn]:
    yield shared
    shared.clear_faults()


@pytest.fixture
def messenger(slack: SlackStandIn) -> SlackMessenger:
    return SlackMessenger(slack.bot_token, slack.api_url, timeout_s=1)


@pytest.fixture
def channel(messenger: SlackMessenger, slack: SlackStandIn) -> str:
    messenger.post("C0GPUOPS01", OPENED, None)
    return str(slack.messages()[-1]["channel"])


def test_thread_question_answer(slack: SlackStandIn, messenger: SlackMessenger, channel: str) -> None:
    threads = FakeThreads()
    before = len(slack.messages(channel))
    assert [deliver(n, messenger, threads, channel, 1) for n in (OPENED, ASKED)] == [Delivery.POSTED] * 2
    opened, asked = slack.messages(channel)[before:]
    assert asked["thread_ts"] == opened["ts"]
    assert asked["subtype"] == "thread_broadcast"
    assert [b["type"] for b in asked["blocks"]][-2:] == ["actions", "context"]
    assert deliver(SETTLED, messenger, threads, channel, 1) is Delivery.UPDATED
    changed = slack.messages(channel)[before:][1]
    assert changed["ts"] == asked["ts"]
    assert "actions" not in {b["type"] for b in changed["blocks"]}
    assert len(slack.messages(channel)) == before + 2


@pytest.mark.parametrize("opens", [True, False])
def test_a_lost_answer_never_gives_two_questions(
    slack: SlackStandIn, messenger: SlackMessenger, channel: str, opens: bool
) -> None:
    threads = FakeThreads()
    question = Notice(**_fields(ASKED) | {"notice_id": f"ask:lost-{opens}", "thread": f"incident:lost-{opens}"})
    if not opens:
        first = Notice(**_fields(OPENED) | {"notice_id": "opened:lost", "thread": question.thread})
        deliver(first, messenger, threads, channel, 1)
    before = len(slack.messages(channel))
    slack.lose_answers(1)
    with pytest.raises(SlackUnavailable):
        deliver(question, messenger, threads, channel, 1)
    assert deliver(question, messenger, threads, channel, 2) is Delivery.FOUND
    assert deliver(question, messenger, threads, channel, 3) is Delivery.KNOWN
    assert len(slack.messages(channel)) == before + 1


def test_outage_and_rate_limit(slack: SlackStandIn, messenger: SlackMessenger, channel: str) -> None:
    slack.outage(True)
    with pytest.raises(SlackUnavailable):
        messenger.post(channel, OPENED, None)
    slack.outage(True, how="drop")
    with pytest.raises(SlackUnavailable):
        messenger.find(channel, "n", None)
    slack.clear_faults()
    slack.rate_limit(1, 7)
    with pytest.raises(SlackRateLimited) as caught:
        messenger.post(channel, OPENED, None)
    assert caught.value.retry_after == 7
    with pytest.raises(SlackRejected, match="channel_not_found"):
        messenger.post("C0NOWHERE", OPENED, None)


def test_find_turns_pages(slack: SlackStandIn, messenger: SlackMessenger, channel: str) -> None:
    wanted = Notice(**_fields(OPENED) | {"notice_id": "opened:deep"})
    ts = messenger.post(channel, wanted, None)
    for number in range(205):
        slack.say(channel, "U0OPSALICE", f"line {number}")
    assert messenger.find(channel, "opened:deep", None) == ts
    assert messenger.find(channel, "opened:never", None) is None


def test_a_long_message_goes_through(slack: SlackStandIn, messenger: SlackMessenger, channel: str) -> None:
    facts = {str(n): "&" * 3000 for n in range(9)}
    long = Notice(**_fields(ASKED) | {"notice_id": "ask:long", "text": "&🙂" * 5000, "facts": facts})
    ts = messenger.post(channel, long, None)
    messenger.update(channel, ts, Notice(**_fields(SETTLED) | {"text": "é" * 5000}))


def _fields(notice: Notice) -> dict[str, Any]:
    return {name: getattr(notice, name) for name in Notice.__slots__}
