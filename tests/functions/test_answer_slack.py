"""A click is verified, recorded once, answered at once, and passed on; whoever comes second is told so."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest

from functions.answer_slack.handler import ELSEWHERE, NOT_RECORDED, UNKNOWN, Ports, answer_request
from functions.answer_slack.settings import Settings
from functions.settle_approval.handler import Ports as SettlePorts
from functions.settle_approval.handler import settle
from roundhouse.contracts.slack import ButtonValue
from roundhouse.line.approval import Approval, ApprovalStatus, Option
from tests.fakes.clocks import FakeClock
from tests.fakes.queues import FakeOutbox, FakeSettleQueue
from tests.fakes.slack import FakeMessenger
from tests.fakes.stores import FakeApprovals, FakeTokens
from tests.fakes.workflows import FakeWorkflows

CASES = Path(__file__).parents[1] / "data" / "cases"
SECRET = "placeholder-signing-secret-0123456"
WALL = datetime.fromtimestamp(1_780_000_102, UTC)
LINE = datetime(2031, 1, 1, tzinfo=UTC)  # the line's clock may run elsewhere: signatures do not care
ALICE, BOB, EVE = "U0AAAAAAA", "U0BBBBBBB", "U0EEEEEEE"
HOOK = "https://hooks.slack.com/actions/T0AAAAAAA/1/x"
PENDING = Approval(
    "apr_7f3c",
    "repair",
    "train",
    "inc-1",
    "Replace i-0aaa?",
    (Option("approve", "Replace", "danger"), Option("deny", "Leave it")),
    "deny",
    LINE - timedelta(minutes=5),
    LINE + timedelta(hours=1),
    (ALICE, BOB),
    instance_id="i-0aaa",
    version=1,
)


@dataclass
class Outside:
    """The fakes around the function."""

    approvals: FakeApprovals = field(default_factory=lambda: FakeApprovals(PENDING))
    settle: FakeSettleQueue = field(default_factory=FakeSettleQueue)
    slack: FakeMessenger = field(default_factory=FakeMessenger)

    def send(self, body: bytes | str, headers: dict[str, str] | None = None, *, signed: bool = True) -> int:
        raw = body if isinstance(body, bytes) else body.encode()
        stamp = str(int(WALL.timestamp()))
        mac = hmac.new(SECRET.encode(), f"v0:{stamp}:".encode() + raw, hashlib.sha256).hexdigest()
        proof = {"x-slack-request-timestamp": stamp, "x-slack-signature": f"v0={mac if signed else '0' * 64}"}
        event = {"headers": proof | (headers or {}), "body": raw.decode("latin-1" if not raw.isascii() else "ascii")}
        return self.request(event)

    def request(self, event: dict[str, Any]) -> int:
        ports = Ports(
            self.approvals, self.settle, self.slack, FakeClock(LINE), FakeClock(WALL), SECRET, "T0AAAAAAA", "A0AAAAAAA"
        )
        return int(answer_request(event, ports)["statusCode"])

    def click(self, user: str = ALICE, choice: str = "approve", instance: str | None = "i-0aaa", **more: str) -> int:
        return self.send(click_body(user, choice, instance, **more))

    @property
    def stored(self) -> Approval:
        return self.approvals.records["apr_7f3c"]

    @property
    def said(self) -> str:
        return self.slack.whispers[-1][1]


def click_body(user: str, choice: str, instance: str | None, approval_id: str = "apr_7f3c", team: str = "") -> str:
    payload = json.loads(parse_qs((CASES / "510" / "ok.txt").read_text())["payload"][0])
    payload["user"]["id"] = user
    payload["team"]["id"] = team or payload["team"]["id"]
    payload["actions"][0] |= {
        "action_id": choice,
        "value": ButtonValue(approval_id, choice, instance).to_text(),
    }
    return urlencode({"payload": json.dumps(payload)})


@pytest.fixture
def outside() -> Outside:
    return Outside()


def test_who_when_and_for_which_instance_is_recorded_and_passed_on(outside: Outside) -> None:
    assert outside.click() == 200
    stored = outside.stored
    assert (stored.status, stored.choice, stored.decided_by) == (ApprovalStatus.DECIDED, "approve", ALICE)
    assert (stored.decided_at, stored.instance_id) == (LINE, "i-0aaa")
    assert outside.settle.approval_ids == ["apr_7f3c"]
    assert outside.slack.whispers[-1][0] == HOOK


def test_two_people_within_a_second() -> None:
    expected = json.loads((CASES / "507" / "expected.json").read_text())
    for order in ("order.json", "both-at-once.json"):
        first, second = (
            (CASES / "507" / step["body"]).read_text() for step in json.loads((CASES / "507" / order).read_text())
        )
        outside = Outside()
        if order == "both-at-once.json":
            # The second request reads, then the first one comes through completely, then the second one writes.
            outside.approvals.before_put = lambda outside=outside, first=first: outside.send(first)
        else:
            assert outside.send(first) == 200
        assert outside.send(second) == 200
        assert len(outside.approvals.writes) == expected["executions"]
        assert (outside.stored.choice, outside.stored.decided_by) == ("approve", ALICE)
        assert expected["losers_message"] in outside.said.lower()
        assert ALICE in outside.said
        assert executed(outside) == expected["executions"]


def executed(outside: Outside) -> int:
    """How often the state machine is answered when all that was passed on is settled."""
    tokens = FakeTokens()
    tokens.keep("apr_7f3c", "token")
    ports = SettlePorts(outside.approvals, tokens, FakeWorkflows("token"), FakeOutbox())
    for approval_id in outside.settle.approval_ids:
        settle(approval_id, ports)
    assert isinstance(ports.workflows, FakeWorkflows)
    return len(ports.workflows.answers)


def test_many_containers_at_once(outside: Outside) -> None:
    clicks = [(ALICE, "approve"), (BOB, "deny")] * 20
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda click: outside.click(*click), clicks)) == {200}
    assert len(outside.approvals.writes) == 1
    assert executed(outside) == 1


@pytest.mark.parametrize("second", ["approve", "deny"])
def test_a_second_click_changes_nothing_and_is_passed_on_again(outside: Outside, second: str) -> None:
    outside.click()
    outside.settle.approval_ids.clear()  # as if the first order had been lost
    assert outside.click(ALICE, second) == 200
    assert outside.stored.choice == "approve"
    assert outside.settle.approval_ids == ["apr_7f3c"]


def test_repeated_deliveries_with_and_without_a_retry_header() -> None:
    expected = json.loads((CASES / "504" / "expected.json").read_text())
    outside = Outside()
    body = click_body(ALICE, "approve", "i-0aaa")
    retry = {"x-slack-retry-num": "1", "x-slack-retry-reason": "http_timeout"}
    started = time.monotonic()
    assert [outside.send(body), outside.send(body, retry), outside.send(body)] == [200] * 3
    assert time.monotonic() - started < expected["ack_within_s"]
    assert executed(outside) == expected["actions_for_r0_r1_dup"]


def test_a_first_try_that_failed_before_anything_happened(outside: Outside) -> None:
    outside.approvals.broken = True
    assert outside.click() == 500
    assert outside.said == NOT_RECORDED
    outside.approvals.broken = False
    assert outside.send(click_body(ALICE, "approve", "i-0aaa"), {"x-slack-retry-reason": "http_error"}) == 200
    assert (outside.stored.decided_by, executed(outside)) == (ALICE, 1)


def test_an_order_that_could_not_be_passed_on_is_said_and_made_good(outside: Outside) -> None:
    outside.settle.broken = True
    assert outside.click() == 500
    assert outside.stored.status is ApprovalStatus.DECIDED  # read again when the wait ends, whatever else fails
    outside.settle.broken = False
    assert outside.click() == 200
    assert executed(outside) == 1


def test_recorded_events_are_answered_and_do_nothing(outside: Outside) -> None:
    for name in ("r0", "r1", "r2-http_error", "dup"):
        event = json.loads((CASES / "504" / f"{name}.json").read_text())
        assert outside.request(event) == 200
    assert (outside.approvals.writes, outside.settle.approval_ids) == ([], [])


def test_recorded_shapes() -> None:
    expected = json.loads((CASES / "510" / "expected.json").read_text())
    for path in sorted((CASES / "510").glob("*.txt")):
        outside = Outside()
        assert outside.send(path.read_bytes()) == expected["http"].get(path.name, 200), path.name
        assert len(outside.approvals.writes) == (1 if path.name in expected["approvals"] else 0), path.name


def test_recorded_bodies_in_base64_and_not() -> None:
    for case in ("501", "502"):
        for name, wanted in json.loads((CASES / case / "expected.json").read_text()).items():
            outside = Outside()
            event = json.loads((CASES / case / f"{name}.json").read_text())
            status = {True: 200, False: 401, "400": 400}[wanted]
            assert outside.request(event) == status, (case, name)
            assert len(outside.approvals.writes) == (1 if wanted is True else 0)


@pytest.mark.parametrize(
    ("click", "status"),
    [
        ({"user": EVE}, ApprovalStatus.PENDING),
        ({"instance": "i-0bbb"}, ApprovalStatus.PENDING),  # the node was replaced: another question's button
        ({"choice": "roll_back"}, ApprovalStatus.PENDING),  # not an option of this question
        ({"approval_id": "apr-none"}, ApprovalStatus.PENDING),
        ({"team": "T0BBBBBBB"}, ApprovalStatus.PENDING),
    ],
)
def test_what_does_not_count_is_said_to_the_person(
    outside: Outside, click: dict[str, Any], status: ApprovalStatus
) -> None:
    assert outside.click(**click) == 200
    assert outside.stored.status is status
    assert outside.approvals.writes == []
    assert outside.said
    if "approval_id" in click:
        assert outside.said == UNKNOWN
    if "team" in click:
        assert outside.said == ELSEWHERE


def test_too_late_is_too_late() -> None:
    outside = Outside(approvals=FakeApprovals(replace(PENDING, expires_at=LINE - timedelta(seconds=1))))
    assert outside.click() == 200
    assert outside.stored.choice != "approve"
    assert outside.stored.status is ApprovalStatus.EXPIRED
    assert "too late" in outside.said.lower()
    assert executed(outside) == 1  # nobody waits for an answer that can no longer come


def test_unsigned_requests_do_nothing(outside: Outside) -> None:
    assert outside.send(click_body(ALICE, "approve", "i-0aaa"), signed=False) == 401
    assert outside.request({"headers": {}, "body": click_body(ALICE, "approve", "i-0aaa")}) == 401
    assert outside.request({}) == 401
    assert outside.request({"headers": {}, "body": "ssl_check=1&token=x"}) == 200
    assert (outside.approvals.writes, outside.slack.whispers, outside.settle.approval_ids) == ([], [], [])


def test_settings() -> None:
    assert Settings.from_env({}).app_id == ""
    assert Settings.from_env({"SLACK_APP_ID": "A1"}).app_id == "A1"
