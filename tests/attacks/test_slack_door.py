"""The one address that the whole world may call: nothing sent to it breaks it, and nobody but an approver decides."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Lock
from typing import Any
from urllib.parse import parse_qs, quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from functions.answer_slack.handler import Ports, answer_request
from roundhouse.line.approval import Approval, ApprovalStatus
from tests.fakes.clocks import FakeClock
from tests.fakes.queues import FakeSettleQueue
from tests.fakes.slack import FakeMessenger
from tests.fakes.stores import FakeApprovals
from tests.functions.test_answer_slack import ALICE, BOB, EVE, LINE, PENDING, SECRET, WALL, Outside, click_body

texts = st.text(max_size=30) | st.sampled_from(
    [
        "",
        "\x00",
        "\ud800",
        "\U0001f600" * 9,
        "approve",
        "apr_7f3c",
        "[" * 1500,
        "http://[::1",
        "//\\",
        "block_actions",
        ALICE,
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "user", "id", "team", "actions", "value", "action_id", "response_url"]), inner
        )
    ),
    max_leaves=8,
)
bodies = (
    st.binary(max_size=300)
    | texts.map(lambda text: text.encode("utf-8", "surrogatepass"))
    | values.map(lambda value: ("payload=" + quote(json.dumps(value))).encode())
    | values.map(lambda value: json.dumps(value).encode())
)
HEADERS = ("x-slack-request-timestamp", "x-slack-signature")


def signed(body: bytes) -> dict[str, Any]:
    stamp = str(int(WALL.timestamp()))
    mac = hmac.new(SECRET.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {
        "headers": dict(zip(HEADERS, (stamp, f"v0={mac}"), strict=True)),
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }


@settings(max_examples=150, deadline=None)
@given(bodies)
@example(b"payload=" + quote(json.dumps(json.loads('{"type":"block_actions"}'))).encode() * 60)
@example(b"payload=" + b"%7B%22a%22:" * 5000)
@example(b"{" * 100_000)
def test_whatever_is_rightly_signed_is_answered_and_decides_nothing(body: bytes) -> None:
    outside = Outside()
    assert outside.request(signed(body)) in {200, 400}
    assert outside.stored == PENDING
    assert outside.settle.approval_ids == []


paths = [
    ("type",),
    ("user",),
    ("user", "id"),
    ("team",),
    ("team", "id"),
    ("actions",),
    ("actions", 0),
    ("api_app_id",),
] + [("actions", 0, key) for key in ("type", "action_id", "value")]


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(paths), values)
@example(("actions", 0, "value"), "[" * 2000)
@example(("actions", 0, "value"), '{"v":' * 2000)
def test_a_click_with_any_part_replaced_is_decided_by_approvers_or_not_at_all(
    path: tuple[Any, ...], value: Any
) -> None:
    body = click_body(ALICE, "approve", "i-0aaa")
    payload = json.loads(parse_qs(body)["payload"][0])
    at: Any = payload
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    outside = Outside()
    assert outside.request(signed(("payload=" + quote(json.dumps(payload))).encode())) in {200, 400}
    if outside.stored.status is not ApprovalStatus.PENDING:
        assert (outside.stored.decided_by, outside.stored.choice) in {(ALICE, "approve"), (BOB, "approve")}


@settings(max_examples=100, deadline=None)
@given(
    st.none() | values | st.fixed_dictionaries({}, optional={HEADERS[0]: values, HEADERS[1]: values}),
    st.none() | texts | st.integers() | st.just("a=%ff&ssl_check=1") | st.just("\xe9"),
    st.booleans() | st.none() | texts,
)
def test_whatever_is_not_signed_is_refused_without_an_error(headers: Any, body: Any, encoded: Any) -> None:
    outside = Outside()
    assert outside.request({"headers": headers, "body": body, "isBase64Encoded": encoded}) in {200, 401}
    assert outside.stored == PENDING


class Contended(FakeApprovals):
    """All readers of the question have it before the first of them writes."""

    def __init__(self, readers: int) -> None:
        super().__init__(PENDING)
        self._barrier, self._lock, self._left = Barrier(readers), Lock(), readers

    def get(self, approval_id: str) -> Approval | None:
        found = super().get(approval_id)
        with self._lock:
            self._left -= 1
            first = self._left >= 0
        if first:
            self._barrier.wait(5)
        return found

    def put(self, approval: Approval) -> Approval:
        with self._lock:
            return super().put(approval)


def test_twenty_clicks_at_once_are_one_decision() -> None:
    approvals, settle = Contended(20), FakeSettleQueue()
    ports = Ports(
        approvals, settle, FakeMessenger(), FakeClock(LINE), FakeClock(WALL), SECRET, "T0AAAAAAA", "A0AAAAAAA"
    )
    clicks = [
        signed(click_body(user, choice, "i-0aaa").encode())
        for user, choice in zip([ALICE, BOB, EVE, ALICE] * 5, ["approve", "deny"] * 10, strict=True)
    ]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda event: answer_request(event, ports)["statusCode"], clicks))
    assert answers == [200] * 20
    (decision,) = approvals.writes
    assert decision.decided_by in {ALICE, BOB}
    assert set(settle.approval_ids) == {"apr_7f3c"}


@pytest.mark.parametrize(("age", "status"), [(0, 200), (299, 200), (301, 401), (86_400, 401)])
def test_a_request_sent_again_changes_nothing(age: int, status: int) -> None:
    outside = Outside()
    request = signed(click_body(ALICE, "deny", "i-0aaa").encode())
    assert outside.request(request) == 200
    decided = outside.stored
    late = FakeClock(WALL + timedelta(seconds=age))
    ports = Ports(
        outside.approvals, outside.settle, outside.slack, FakeClock(LINE), late, SECRET, "T0AAAAAAA", "A0AAAAAAA"
    )
    assert answer_request(request, ports)["statusCode"] == status
    assert outside.stored == decided


def altered(*path: str, value: Any = None, user: str = ALICE, approval: str | None = None) -> bytes:
    """A click of `user` with one member of its payload replaced, as Slack would sign it."""
    payload = json.loads(parse_qs(click_body(user, "approve", "i-0aaa"))["payload"][0])
    at: Any = payload
    for key in path[:-1]:
        at = at.setdefault(key, {}) if isinstance(at, dict) else at[int(key)]
    if path:
        at[path[-1]] = value
    if approval:
        payload["actions"][0]["value"] = payload["actions"][0]["value"].replace("apr_7f3c", approval)
    return ("payload=" + quote(json.dumps(payload))).encode()


STRANGERS = {
    "another workspace": altered("team", "id", value="T0ELSEWHERE"),
    "another workspace, named by the user alone": altered("team", value=None).replace(b"T0AAAAAAA", b"T0ELSEWHERE"),
    "another app": altered("api_app_id", value="A0ELSEWHERE"),
    "no app at all": altered("api_app_id", value=None),
    "nobody": altered("user", value=None),
    "a bot": altered("user", value={"id": "B0AAAAAAA", "team_id": "T0AAAAAAA"}),
    "an approver's name instead of the id": altered("user", value={"name": ALICE, "username": ALICE, "id": EVE}),
    "somebody who is not on the list": altered(user=EVE),
    "an approver's id in other letters": altered("user", "id", value=ALICE.lower()),
    "a question of another environment": altered(approval="apr_0000"),
}


@pytest.mark.parametrize("who", STRANGERS)
def test_a_stranger_decides_nothing_however_well_the_request_is_signed(who: str) -> None:
    outside = Outside()
    assert outside.request(signed(STRANGERS[who])) in {200, 400}
    assert outside.stored == PENDING
    assert outside.settle.approval_ids == []


def test_the_same_click_by_the_approver_counts() -> None:
    """Else the test above would prove nothing."""
    outside = Outside()
    assert outside.request(signed(altered())) == 200
    assert outside.stored.decided_by == ALICE


@pytest.mark.parametrize(("organisation", "counts"), [("E0AAAAAAA", True), ("E0ELSEWHERE", False), (None, False)])
def test_an_app_of_a_whole_organisation_is_told_by_the_organisation(organisation: str | None, counts: bool) -> None:
    outside = Outside()
    body = altered("enterprise", value={"id": organisation} if organisation else None)
    ports = Ports(
        outside.approvals, outside.settle, outside.slack, FakeClock(LINE), FakeClock(WALL), SECRET, "E0AAAAAAA", ""
    )
    assert answer_request(signed(body), ports)["statusCode"] == 200
    assert (outside.stored.status is ApprovalStatus.DECIDED) == counts


@pytest.mark.parametrize("secret", ["", "   ", SECRET[:-1], SECRET.upper()])
def test_without_the_right_secret_nobody_gets_in(secret: str) -> None:
    outside = Outside()
    ports = Ports(
        outside.approvals, outside.settle, outside.slack, FakeClock(LINE), FakeClock(WALL), secret, "T0AAAAAAA", ""
    )
    answer = answer_request(signed(click_body(ALICE, "approve", "i-0aaa").encode()), ports)
    assert answer["statusCode"] == 401
    assert SECRET not in json.dumps(answer)
    assert outside.stored == PENDING
