"""The outbox is posted in order, waits as long as Slack says, and lets one hopeless message stop nobody."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from functions.post_slack.handler import HOPELESS_WAIT_S, LONGEST_WAIT_S, Ports, post_batch
from functions.post_slack.settings import Settings
from roundhouse import codec
from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import MissingSetting, SlackFailure, SlackRateLimited, SlackRejected, SlackUnavailable
from tests.fakes.queues import FakeLease
from tests.fakes.slack import FakeMessenger
from tests.fakes.stores import FakeThreads

CASE = Path(__file__).parents[1] / "data" / "cases" / "416"
STEP = Notice("step:1", "incident:1", NoticeKind.INCIDENT_STEP, "Cordoned", "It drains.")


class Outside:
    """The fakes around one batch."""

    def __init__(self, *failures: SlackFailure | None) -> None:
        self.slack, self.threads, self.lease = FakeMessenger(), FakeThreads(), FakeLease()
        self.slack.fail = list(failures)
        self.counted: list[str] = []

    def post(self, records: list[dict[str, Any]]) -> list[str]:
        ports = Ports(self.slack, self.threads, self.lease, "C1", self.counted.append, lambda: 1.0)
        answer = post_batch({"Records": records}, ports)
        assert set(answer) == {"batchItemFailures"}
        return [item["itemIdentifier"] for item in answer["batchItemFailures"]]

    @property
    def posted(self) -> list[str]:
        return [message.notice_id for message in self.slack.messages]


def record(number: int, *, thread: str = "incident:1", attempt: int = 1, body: str | None = None) -> dict[str, Any]:
    notice = replace(STEP, notice_id=f"step:{number}", thread=thread)
    return {
        "messageId": f"m-{number}",
        "receiptHandle": f"r-{number}",
        "body": codec.to_json(notice) if body is None else body,
        "attributes": {"ApproximateReceiveCount": str(attempt), "MessageGroupId": thread},
    }


def test_all_in_order() -> None:
    outside = Outside()
    assert outside.post([record(n) for n in (1, 2, 3)]) == []
    assert outside.posted == ["step:1", "step:2", "step:3"]


@pytest.mark.parametrize("failure", [SlackUnavailable("away"), SlackRateLimited("slow", retry_after=30)])
def test_recorded_batch_fails_from_the_second_on(failure: SlackFailure) -> None:
    records = json.loads((CASE / "event.json").read_text())["Records"]
    bodies = {item["messageId"]: codec.to_json(replace(STEP, notice_id=item["messageId"])) for item in records}
    outside = Outside(*(failure if json.loads(item["body"])["fail"] else None for item in records))
    answer = outside.post([item | {"body": bodies[item["messageId"]]} for item in records])
    expected = json.loads((CASE / "expected.json").read_text())["fifo"]
    assert [{"itemIdentifier": message_id} for message_id in answer] == expected["batchItemFailures"]
    assert outside.posted == ["m-1"]


def test_all_wait_as_long_as_slack_says() -> None:
    outside = Outside(None, SlackRateLimited("slow", retry_after=30))
    assert outside.post([record(1), record(2), record(3, thread="incident:2")]) == ["m-2", "m-3"]
    assert outside.lease.held == {"r-2": 30, "r-3": 30}
    assert outside.counted == ["SlackRateLimited"]


@pytest.mark.parametrize(("attempt", "wait"), [(1, 15), (2, 30), (4, 120), (7, 900), (5000, 900)])
@pytest.mark.parametrize("failure", [SlackUnavailable("away"), SlackRateLimited("slow", retry_after=None)])
def test_without_a_hint_waits_grow(failure: SlackFailure, attempt: int, wait: float) -> None:
    outside = Outside(failure)
    outside.post([record(1, attempt=attempt)])
    assert outside.lease.held == {"r-1": wait}


def test_no_hint_is_followed_for_ever() -> None:
    outside = Outside(SlackRateLimited("slow", retry_after=1e9))
    outside.post([record(1)])
    assert outside.lease.held == {"r-1": LONGEST_WAIT_S}


def test_an_outage_loses_nothing_and_doubles_nothing() -> None:
    outside = Outside(SlackUnavailable("away"))
    outside.slack.lose_answers = 1
    waiting = [record(n) for n in (1, 2, 3)]
    tries = 0
    while waiting:
        tries += 1
        failed = outside.post([item | {"attributes": {"ApproximateReceiveCount": str(tries)}} for item in waiting])
        waiting = [item for item in waiting if item["messageId"] in failed]
    assert outside.posted == ["step:1", "step:2", "step:3"]


def test_a_hopeless_message_goes_alone() -> None:
    outside = Outside(SlackRejected("bad", code="invalid_blocks"))
    assert outside.post([record(1), record(2), record(3, thread="incident:2")]) == ["m-1"]
    assert outside.posted == ["step:2", "step:3"]
    assert outside.lease.held == {"r-1": HOPELESS_WAIT_S}
    assert "SlackMessageHopeless" in outside.counted


@pytest.mark.parametrize("body", ["", "{", "{}", "[]", '{"n": 2, "fail": true}'])
def test_what_is_no_notice_goes_alone(body: str) -> None:
    outside = Outside()
    assert outside.post([record(1, body=body), record(2)]) == ["m-1"]
    assert outside.posted == ["step:2"]
    assert outside.counted == ["SlackMessageHopeless"]


@pytest.mark.parametrize("code", ["invalid_auth", "not_in_channel", "channel_not_found", "missing_scope"])
def test_what_people_can_mend_waits_for_them(code: str) -> None:
    outside = Outside(SlackRejected("no", code=code))
    assert outside.post([record(1), record(2)]) == ["m-1", "m-2"]
    assert outside.lease.held == {"r-1": 15, "r-2": 15}
    assert outside.counted == ["SlackRejected"]


def test_a_lost_hold_does_no_harm() -> None:
    outside = Outside(SlackUnavailable("away"))
    outside.lease.lost = True
    assert outside.post([record(1)]) == ["m-1"]


def test_settings() -> None:
    assert Settings.from_env({"OUTBOX_QUEUE_URL": "https://q"}).outbox_queue_url == "https://q"
    with pytest.raises(MissingSetting, match="OUTBOX_QUEUE_URL"):
        Settings.from_env({})


def test_a_notice_of_newer_code_waits_with_its_thread_and_holds_up_no_other() -> None:
    outside = Outside()
    newer = codec.to_json(replace(STEP, notice_id="step:2")).replace(STEP.kind.value, "kind_of_a_newer_version")
    batch = [record(1), record(2, body=newer), record(3), record(4, thread="incident:2")]
    assert outside.post(batch) == ["m-2", "m-3"]
    assert outside.posted == ["step:1", "step:4"]
    assert "SlackMessageHopeless" not in outside.counted
