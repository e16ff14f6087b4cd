"""What we answer to AWS, each letter of it: cases 415 (task tokens) and 416 (partial batches), and their kind."""

from __future__ import annotations

import base64
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode

import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.intake_signals import handler as intake_signals
from functions.post_slack import handler as post_slack
from functions.settle_approval import handler as settle_approval
from roundhouse import codec
from roundhouse.aws.workflows import StepFunctions
from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.contracts.slack import MAX_VALUE, ButtonValue
from roundhouse.errors import MalformedEvent, SlackUnavailable
from roundhouse.line.approval import AnswerOutcome, Approval, ApprovalStatus, Click, Option, answer
from tests.cases.reading import case
from tests.fakes.queues import FakeLease, FakeOutbox
from tests.fakes.slack import FakeMessenger
from tests.fakes.stores import FakeApprovals, FakeThreads, FakeTokens

MACHINES = sorted((Path(__file__).parents[2] / "statemachines").glob("*.asl.json"))
NOW = datetime(2026, 5, 29, 12, 0, tzinfo=UTC)
PENDING = Approval(
    "apr-1",
    "repair",
    "train",
    "inc-1",
    "Replace i-0aaa?",
    (Option("approve", "Replace", "danger"), Option("deny", "Leave it")),
    "deny",
    NOW,
    NOW + timedelta(hours=1),
    ("U0AAAAAAA", "U0BBBBBBB"),
    instance_id="i-0aaa",
)
DECIDED = replace(PENDING, status=ApprovalStatus.DECIDED, choice="approve", decided_by="U0AAAAAAA", decided_at=NOW)


# Case 415 --------------------------------------------------------------------------------------------------------
TOKEN = case(415, "token.txt")


class RecordedStepFunctions:
    """A Step Functions client that answers SendTaskSuccess as recorded, the last answer again and again."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        self.answers = answers
        self.sent: list[tuple[str, str]] = []  # those that were taken

    def send_task_success(self, taskToken: str, output: str) -> dict[str, Any]:  # noqa: N803
        one = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if "error" in one:
            raise ClientError({"Error": {"Code": one["error"], "Message": one.get("message", "")}}, "SendTaskSuccess")
        self.sent.append((taskToken, output))
        return {}


def settled(answers: list[dict[str, Any]], times: int) -> tuple[RecordedStepFunctions, FakeOutbox]:
    """Settle one decided approval `times` times against these answers; nothing of it may fail."""
    client, outbox, tokens = RecordedStepFunctions(answers), FakeOutbox(), FakeTokens()
    tokens.keep("apr-1", TOKEN)
    ports = settle_approval.Ports(FakeApprovals(DECIDED), tokens, StepFunctions(client), outbox)
    for _ in range(times):
        event = {"Records": [{"messageId": "m-1", "body": json.dumps({"approval_id": "apr-1"})}]}
        assert settle_approval.settle_batch(event, ports) == {"batchItemFailures": []}
    return client, outbox


def test_a_token_is_answered_once_and_the_second_person_is_told() -> None:
    client, outbox = settled(case(415, "calls.json"), times=2)
    first = answer(PENDING, Click("apr-1", "approve", "U0AAAAAAA", NOW), NOW)
    second = answer(first.approval, Click("apr-1", "deny", "U0BBBBBBB", NOW), NOW)
    assert first.outcome is AnswerOutcome.DECIDED
    [(token, _)] = client.sent
    assert {
        "executed": len(client.sent),
        "second": second.outcome.name,
        "token_roundtrip": token == TOKEN,
        "has_timeout": all("TimeoutSeconds" in state for state in waits()),
    } == case(415, "expected.json")
    assert len(outbox.notices) == 1


@pytest.mark.parametrize("code", ["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"])
@pytest.mark.parametrize("times", [1, 3])
def test_a_task_that_is_gone_is_no_error_and_its_message_is_redrawn(code: str, times: int) -> None:
    client, outbox = settled([{"error": code}], times)
    assert client.sent == []
    assert [notice.kind for notice in outbox.notices] == [NoticeKind.APPROVAL_SETTLED]


def waits() -> list[dict[str, Any]]:
    """Every state of every machine that waits for a task token, inside maps and branches too."""
    found: list[dict[str, Any]] = []
    todo: list[Any] = [json.loads(path.read_text()) for path in MACHINES]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            todo += value.values()
            if str(value.get("Resource")).endswith(".waitForTaskToken"):
                found.append(value)
        elif isinstance(value, list):
            todo += value
    return found


def test_every_wait_ends_and_its_end_is_handled() -> None:
    assert len(waits()) >= 2  # a repair's question and a discount's
    for state in waits():
        caught = {error for catch in state["Catch"] for error in catch["ErrorEquals"]}
        assert "TimeoutSeconds" in state
        assert caught & {"States.Timeout", "States.ALL"}


@given(st.text("ABab09+/=", min_size=1, max_size=2048))
@settings(max_examples=50)
def test_any_token_reaches_the_machine_as_it_was_and_never_a_button(token: str) -> None:
    tokens, client = FakeTokens(), RecordedStepFunctions([{}])
    tokens.keep("apr-1", token)
    ports = settle_approval.Ports(FakeApprovals(DECIDED), tokens, StepFunctions(client), FakeOutbox())
    settle_approval.settle("apr-1", ports)
    assert [sent for sent, _ in client.sent] == [token]


def test_what_a_button_carries_survives_every_way_and_fits() -> None:
    text = ButtonValue("apr-0123456789abcdef", "approve", "i-0aaa0000000000001").to_text()
    assert len(text) < MAX_VALUE
    for way in (
        parse_qs(urlencode({"v": text}))["v"][0],
        unquote(quote(text)),
        json.loads(json.dumps(text)),
        base64.b64decode(base64.b64encode(text.encode())).decode(),
    ):
        assert ButtonValue.from_text(way, "approve") == ButtonValue(
            "apr-0123456789abcdef", "approve", "i-0aaa0000000000001"
        )


# Case 416 --------------------------------------------------------------------------------------------------------
def failed_ids(answered: object, records: list[dict[str, Any]]) -> list[str] | None:
    """The messages that come again, as Lambda reads an answer; None where it does not mean what was meant.

    A wrong letter is full success, an identifier that is empty, null or unknown fails the whole batch.
    """
    if not isinstance(answered, Mapping) or set(answered) != {"batchItemFailures"}:
        return None
    sent = [record["messageId"] for record in records]
    ids = []
    for item in answered["batchItemFailures"]:
        if not isinstance(item, Mapping) or set(item) != {"itemIdentifier"} or item["itemIdentifier"] not in sent:
            return None
        ids.append(item["itemIdentifier"])
    return ids if len(ids) == len(set(ids)) else None


def by_intake(records: list[dict[str, Any]]) -> Any:
    """intake_signals with an intake that fails where the record says so."""

    class Taking:
        def __init__(self, **_: object) -> None:
            self.policy, self.now = None, NOW

        def take(self, envelope: dict[str, Any], again: bool) -> list[str]:
            if envelope["fail"]:
                raise MalformedEvent("told to fail")
            return ["taken"]

    class Anything(SimpleNamespace):
        def __getattr__(self, name: str) -> Callable[..., Any]:
            return lambda *_, **__: SimpleNamespace(policy=lambda: None, now=lambda: NOW)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intake_signals, "Intake", Taking)
        patch.setattr(intake_signals, "runtime", Anything(logger=SimpleNamespace(info=lambda *_, **__: None)))
        return inspect.unwrap(intake_signals.handle)({"Records": records}, None)


def by_settling(records: list[dict[str, Any]]) -> Any:
    """settle_approval, where a record that fails names an approval that is not stored."""
    tokens = FakeTokens()
    tokens.keep("apr-1", TOKEN)
    ports = settle_approval.Ports(
        FakeApprovals(DECIDED), tokens, StepFunctions(RecordedStepFunctions([{}])), FakeOutbox()
    )
    bodies = [{"approval_id": "apr-none" if json.loads(one["body"])["fail"] else "apr-1"} for one in records]
    told = [one | {"body": json.dumps(body)} for one, body in zip(records, bodies, strict=True)]
    return settle_approval.settle_batch({"Records": told}, ports)


def by_posting(records: list[dict[str, Any]]) -> Any:
    """post_slack, whose queue is FIFO: Slack is away for the records that fail."""
    slack = FakeMessenger()
    slack.fail = [SlackUnavailable("away") if json.loads(one["body"])["fail"] else None for one in records]
    notices = [Notice(one["messageId"], "incident:1", NoticeKind.INCIDENT_STEP, "A", "b") for one in records]
    told = [
        one | {"body": codec.to_json(notice), "receiptHandle": one["messageId"], "attributes": {}}
        for one, notice in zip(records, notices, strict=True)
    ]
    ports = post_slack.Ports(slack, FakeThreads(), FakeLease(), "C1", lambda _: None, lambda: 1.0)
    return post_slack.post_batch({"Records": told}, ports)


HANDLERS = {"standard": [by_intake, by_settling], "fifo": [by_posting]}


@pytest.mark.parametrize(("queue", "handle"), [(q, h) for q, handlers in HANDLERS.items() for h in handlers])
def test_the_recorded_batch(queue: str, handle: Callable[[list[dict[str, Any]]], Any]) -> None:
    assert handle(case(416, "event.json")["Records"]) == case(416, "expected.json")[queue]


def test_answers_that_mean_something_else() -> None:
    records = case(416, "event.json")["Records"]
    assert [failed_ids(bad, records) for bad in case(416, "bad-answers.json")] == [None] * 6
    assert failed_ids(case(416, "expected.json")["standard"], records) == ["m-2"]


@given(st.lists(st.booleans(), min_size=1, max_size=10))
@settings(max_examples=30, deadline=None)
@pytest.mark.parametrize(("queue", "handle"), [(q, h) for q, handlers in HANDLERS.items() for h in handlers])
def test_any_batch_brings_back_what_failed_and_nothing_else(
    queue: str, handle: Callable[[list[dict[str, Any]]], Any], fails: list[bool]
) -> None:
    records = [
        {"messageId": f"m-{n}", "eventSource": "aws:sqs", "body": json.dumps({"n": n, "fail": fail})}
        for n, fail in enumerate(fails)
    ]
    wanted = [f"m-{n}" for n, fail in enumerate(fails) if fail]
    if queue == "fifo" and wanted:  # order is kept: the first that failed and all after it
        wanted = [record["messageId"] for record in records[int(wanted[0][2:]) :]]
    assert failed_ids(handle(records), records) == wanted
