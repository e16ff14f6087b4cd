"""The Events API: the challenge, and deliveries that are repeated until they are acknowledged."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from slack_sdk.signature import SignatureVerifier

from simulator.slack.client import SlackStandIn
from simulator.slack.errors import ControlError
from tests.simulator_slack.conftest import CHANNEL, Receiver

EVENT = {"type": "app_mention", "user": "U0OPSALICE", "text": "<@U0ROUNDBOT> status", "channel": CHANNEL}
SOON = [0.0, 0.02, 0.02]


def retries(receiver: Receiver) -> list[tuple[str | None, str | None]]:
    return [(r.headers.get("X-Slack-Retry-Num"), r.headers.get("X-Slack-Retry-Reason")) for r in receiver.requests]


def test_an_acknowledged_event_is_sent_once(slack: SlackStandIn, receiver: Receiver) -> None:
    slack.set_events_url(receiver.url)
    (attempt,) = slack.send_event_callback(EVENT, event_id="Ev0AAAAAAA", retry_delays=SOON)
    assert attempt["outcome"] == "ok"
    (received,) = receiver.requests
    assert SignatureVerifier(slack.signing_secret).is_valid_request(received.body, received.headers)
    sent = json.loads(received.body)
    assert (sent["type"], sent["event_id"], sent["event"]) == ("event_callback", "Ev0AAAAAAA", EVENT)
    assert retries(receiver) == [(None, None)]


def test_failures_are_repeated_with_number_and_reason(slack: SlackStandIn, receiver: Receiver) -> None:
    slack.set_events_url(receiver.url)
    receiver.statuses = [500, 302, 200]
    attempts = slack.send_event_callback(EVENT, retry_delays=SOON)
    assert [a["outcome"] for a in attempts] == ["http_error", "http_error", "ok"]
    assert retries(receiver) == [(None, None), ("1", "http_error"), ("2", "http_error")]
    assert len({r.body for r in receiver.requests}) == 1


def test_a_slow_app_is_asked_again_for_its_slowness(slack: SlackStandIn, receiver: Receiver) -> None:
    slack.set_events_url(receiver.url)
    receiver.delay = 0.5
    attempts = slack.send_event_callback(EVENT, retry_delays=[0.0, 0.0])
    assert [(a["retry_num"], a["retry_reason"]) for a in attempts] == [
        (0, None),
        (1, "http_timeout"),
        (2, "http_timeout"),
    ]


def test_an_app_may_ask_not_to_be_asked_again(slack: SlackStandIn, receiver: Receiver) -> None:
    slack.set_events_url(receiver.url)
    receiver.statuses, receiver.headers = [500], {"X-Slack-No-Retry": "1"}
    assert len(slack.send_event_callback(EVENT, retry_delays=SOON)) == 1


@pytest.mark.parametrize(
    "answer",
    [
        lambda challenge: challenge,
        lambda challenge: urlencode({"challenge": challenge}),
        lambda challenge: json.dumps({"challenge": challenge}),
    ],
    ids=["plain", "form", "json"],
)
def test_the_challenge_may_come_back_in_three_forms(slack: SlackStandIn, receiver: Receiver, answer: object) -> None:
    assert callable(answer)
    slack.set_events_url(receiver.url)
    receiver.answer = lambda body: answer(json.loads(body)["challenge"]).encode()
    assert slack.verify_url()
    receiver.answer = b"something else"
    assert not slack.verify_url()


def test_without_an_events_url_nothing_is_sent(slack: SlackStandIn) -> None:
    with pytest.raises(ControlError, match="no events URL"):
        slack.send_event_callback(EVENT)
