"""A decision reaches its state machine once, however often it is settled."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import pytest

from functions.settle_approval.handler import Ports, settle, settle_batch
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import StoreFailure, Unavailable
from roundhouse.line.approval import Approval, ApprovalStatus, Option
from tests.fakes.queues import FakeOutbox
from tests.fakes.stores import FakeApprovals, FakeTokens
from tests.fakes.workflows import FakeWorkflows

CASE = Path(__file__).parents[1] / "data" / "cases" / "415"
TOKEN = (CASE / "token.txt").read_text().strip()
ASKED_AT = datetime(2026, 5, 29, 12, 0, tzinfo=UTC)
PENDING = Approval(
    "apr-1",
    "repair",
    "train",
    "inc-1",
    "Replace i-0aaa?",
    (Option("approve", "Replace", "danger"), Option("deny", "Leave it")),
    "deny",
    ASKED_AT,
    ASKED_AT + timedelta(hours=1),
    ("U0AAAAAAA",),
    instance_id="i-0aaa",
)
DECIDED = replace(PENDING, status=ApprovalStatus.DECIDED, choice="approve", decided_by="U0AAAAAAA", decided_at=ASKED_AT)


def ports(approval: Approval, token: str | None = TOKEN, waiting: bool = True) -> Ports:
    tokens = FakeTokens()
    if token:
        tokens.keep(approval.approval_id, token)
    workflows = FakeWorkflows(*([token] if token and waiting else []))
    return Ports(FakeApprovals(approval), tokens, workflows, FakeOutbox())


def flows(of: Ports) -> FakeWorkflows:
    assert isinstance(of.workflows, FakeWorkflows)
    return of.workflows


def told(of: Ports) -> list[NoticeKind]:
    assert isinstance(of.outbox, FakeOutbox)
    return [notice.kind for notice in of.outbox.notices]


def batch(*approval_ids: str) -> dict[str, object]:
    return {
        "Records": [
            {"messageId": f"m-{n}", "body": json.dumps({"approval_id": approval_id})}
            for n, approval_id in enumerate(approval_ids, 1)
        ]
    }


def test_settled_twice_acts_once() -> None:
    expected = json.loads((CASE / "expected.json").read_text())
    here = ports(DECIDED)
    for _ in json.loads((CASE / "calls.json").read_text()):
        assert settle_batch(batch("apr-1"), here) == {"batchItemFailures": []}
    assert len(flows(here).answers) == expected["executed"]
    # The token arrives as it was stored, `+`, `/` and `=` included.
    assert flows(here).answers == [(TOKEN, {"approval_id": "apr-1", "choice": "approve"})]
    assert told(here) == [NoticeKind.APPROVAL_SETTLED]


def test_people_are_told_who_when_and_what_in_place_of_the_buttons() -> None:
    here = ports(DECIDED)
    settle("apr-1", here)
    assert isinstance(here.outbox, FakeOutbox)
    [notice] = here.outbox.notices
    assert (notice.thread, notice.replaces, notice.approval) == ("incident:inc-1", "ask:apr-1", None)
    for part in ("Replace", "U0AAAAAAA", "12:00"):
        assert part in notice.text
    assert TOKEN not in repr(notice)
    assert parse_qs(urlencode({"t": TOKEN}))["t"] == [TOKEN]


def test_a_discount_question_belongs_to_its_run() -> None:
    here = ports(replace(DECIDED, kind="discount", subject="run-7", choice="roll_back"))
    settle("apr-1", here)
    assert isinstance(here.outbox, FakeOutbox)
    assert here.outbox.notices[0].thread == "run:run-7"


def test_nothing_is_settled_before_it_is_decided() -> None:
    here = ports(PENDING)
    settle("apr-1", here)
    assert (flows(here).answers, told(here)) == ([], [])


def test_a_task_that_is_gone_still_gets_its_message_redrawn() -> None:
    here = ports(DECIDED, waiting=False)
    settle("apr-1", here)
    assert (flows(here).answers, told(here)) == ([], [NoticeKind.APPROVAL_SETTLED])


@pytest.mark.parametrize("status", [ApprovalStatus.EXPIRED, ApprovalStatus.OUTDATED])
@pytest.mark.parametrize("token", [TOKEN, None])
def test_a_closed_question_lets_nobody_wait(status: ApprovalStatus, token: str | None) -> None:
    here = ports(replace(PENDING, status=status, choice="deny", decided_at=ASKED_AT), token)
    settle("apr-1", here)
    assert len(flows(here).answers) == (1 if token else 0)
    assert told(here) == [NoticeKind.APPROVAL_SETTLED]


def test_a_decision_faster_than_its_token_comes_again() -> None:
    here = ports(DECIDED, token=None)
    with pytest.raises(StoreFailure, match="not stored yet"):
        settle("apr-1", here)
    here.tokens.keep("apr-1", TOKEN)
    flows(here).waiting.add(TOKEN)
    settle("apr-1", here)
    assert len(flows(here).answers) == 1


def test_a_lost_message_to_people_is_made_good() -> None:
    here = ports(DECIDED)
    assert isinstance(here.outbox, FakeOutbox)
    here.outbox.broken = True
    with pytest.raises(Unavailable):
        settle("apr-1", here)
    here.outbox.broken = False
    settle("apr-1", here)
    assert (len(flows(here).answers), told(here)) == (1, [NoticeKind.APPROVAL_SETTLED])


def test_only_what_failed_comes_again() -> None:
    event = batch("apr-1", "apr-unknown", "apr-1")
    assert settle_batch(event, ports(DECIDED)) == {"batchItemFailures": [{"itemIdentifier": "m-2"}]}


@pytest.mark.parametrize("body", ["", "{", "[]", "{}", "null", '{"approval_id": 7}', '{"approval_id": ""}'])
def test_a_message_that_is_none_fails_alone(body: str) -> None:
    event = {"Records": [{"messageId": "m-1", "body": body}]}
    assert settle_batch(event, ports(DECIDED)) == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}
