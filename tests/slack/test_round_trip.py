"""Question drawn, clicked in the Slack stand-in, answered over HTTP, redrawn: the parts together, only stores faked."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from functions.answer_slack.handler import Ports, answer_request
from functions.post_slack.handler import Ports as PostPorts
from functions.post_slack.handler import post_batch
from functions.settle_approval.handler import Ports as SettlePorts
from functions.settle_approval.handler import settle
from roundhouse import codec
from roundhouse.line.approval import Approval, ApprovalStatus, Option
from roundhouse.slack.messenger import SlackMessenger
from roundhouse.steps.people.ask import ask
from simulator.slack.client import SlackStandIn
from tests.fakes.clocks import FakeClock
from tests.fakes.queues import FakeLease, FakeOutbox, FakeSettleQueue
from tests.fakes.stores import FakeApprovals, FakeThreads, FakeTokens
from tests.fakes.workflows import FakeWorkflows

ALICE, BOB, EVE = "U0OPSALICE", "U0OPSBOB", "U0GUESTEVE"
NOW = datetime.now(UTC)
QUESTION = Approval(
    "apr-1",
    "repair",
    "train",
    "inc-1",
    "Replace i-0aaa <!channel>?",
    (Option("approve", "Replace", "danger", "Its disks are lost."), Option("deny", "Leave it")),
    "deny",
    NOW,
    NOW + timedelta(hours=1),
    (ALICE, BOB),
    instance_id="i-0aaa",
)


class House:
    """The three functions around one set of stores."""

    def __init__(self, slack: SlackStandIn) -> None:
        self.slack = slack
        self.messenger = SlackMessenger(slack.bot_token, slack.api_url, timeout_s=2)
        self.approvals, self.tokens, self.threads = FakeApprovals(), FakeTokens(), FakeThreads()
        self.outbox, self.settle, self.workflows = FakeOutbox(), FakeSettleQueue(), FakeWorkflows("token+/=")
        self._posted = 0

    def request(self, event: dict[str, Any]) -> dict[str, Any]:
        clock = FakeClock(datetime.now(UTC))
        ports = Ports(
            self.approvals, self.settle, self.messenger, clock, clock, self.slack.signing_secret, "T0ROUNDHSE"
        )
        return answer_request(event, ports)

    def post(self) -> None:
        new, self._posted = self.outbox.notices[self._posted :], len(self.outbox.notices)
        records = [{"messageId": n.notice_id, "receiptHandle": n.notice_id, "body": codec.to_json(n)} for n in new]
        ports = PostPorts(self.messenger, self.threads, FakeLease(), "C0GPUOPS01", lambda _: None)
        assert post_batch({"Records": records}, ports) == {"batchItemFailures": []}


@pytest.fixture
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    here: list[House] = []

    class Gateway(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            # As API Gateway hands it over: names in lower case, the body in base64.
            headers = {name.lower(): value for name, value in self.headers.items()}
            event = {"headers": headers, "isBase64Encoded": True, "body": base64.b64encode(raw).decode()}
            answer = here[0].request(event)
            self.send_response(answer["statusCode"])
            self.end_headers()
            self.wfile.write(answer["body"].encode())

        def log_message(self, *_: object) -> None:
            pass

    gateway = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    thread = threading.Thread(target=gateway.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{gateway.server_address[1]}/slack/interactions"
    with SlackStandIn.start(tmp_path_factory.mktemp("slack"), interactivity_url=url) as slack:
        here.append(House(slack))
        yield here[0]
    gateway.shutdown()
    gateway.server_close()
    thread.join()


def test_a_question_is_answered_once_and_shown_answered(house: House) -> None:
    ask(
        QUESTION,
        "incident:inc-1",
        {"Node": "ip-10-1-0-1", "Evidence": "NVRM: Xid 79 ``` <@U0OPSALICE>"},
        "token+/=",
        approvals=house.approvals,
        tokens=house.tokens,
        outbox=house.outbox,
        settle=house.settle,
    )
    house.post()
    [question] = house.slack.messages()
    assert question["notifies"] == []
    assert "token+/=" not in str(question)

    for user, choice in ((EVE, "approve"), (ALICE, "approve"), (BOB, "deny"), (ALICE, "approve")):
        delivery = house.slack.click(question["ts"], choice, user)
        assert (delivery["outcome"], delivery["status"]) == ("ok", 200)
    stored = house.approvals.records["apr-1"]
    assert (stored.status, stored.choice, stored.decided_by) == (ApprovalStatus.DECIDED, "approve", ALICE)
    assert len([m for m in house.slack.messages() if m["visible_to"]]) == 4  # each was told
    told = next(m for m in house.slack.messages() if m["visible_to"] == BOB)
    assert "lready decided" in told["text"]

    ports = SettlePorts(house.approvals, house.tokens, house.workflows, house.outbox)
    for approval_id in house.settle.approval_ids:
        settle(approval_id, ports)
    house.post()
    assert house.workflows.answers == [("token+/=", {"approval_id": "apr-1", "choice": "approve"})]
    [answered] = [m for m in house.slack.messages() if not m["visible_to"]]
    assert answered["ts"] == question["ts"]
    assert "actions" not in {block["type"] for block in answered["blocks"]}
    assert f"<@{ALICE}>" in str(answered["blocks"])


def test_a_lost_answer_of_the_post_gives_one_question(house: House) -> None:
    ask(
        QUESTION,
        "incident:inc-1",
        {},
        "token+/=",
        approvals=house.approvals,
        tokens=house.tokens,
        outbox=house.outbox,
        settle=house.settle,
    )
    record = {"messageId": "m", "receiptHandle": "r", "body": codec.to_json(house.outbox.notices[0])}
    lease = FakeLease()
    ports = PostPorts(house.messenger, house.threads, lease, "C0GPUOPS01", lambda _: None, lambda: 1.0)
    house.slack.lose_answers(1)
    assert post_batch({"Records": [record]}, ports) == {"batchItemFailures": [{"itemIdentifier": "m"}]}
    assert lease.held == {"r": 15.0}
    again = record | {"attributes": {"ApproximateReceiveCount": "2"}}
    assert post_batch({"Records": [again]}, ports) == {"batchItemFailures": []}
    assert len(house.slack.messages()) == 1
