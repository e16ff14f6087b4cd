"""Outages, rate limits and lost answers, armed as tests and the demo do."""

from __future__ import annotations

import time

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from simulator.slack.client import SlackStandIn
from simulator.slack.faults import Fault, Faults
from tests.simulator_slack.conftest import CHANNEL


def post(web: WebClient, text: str = "x") -> str:
    return str(web.chat_postMessage(channel=CHANNEL, text=text)["ts"])


def test_an_outage_lasts_until_it_is_over(web: WebClient, slack: SlackStandIn) -> None:
    slack.outage(True)
    for _ in range(3):
        with pytest.raises(SlackApiError) as caught:
            post(web)
        assert caught.value.response.status_code == 503
    slack.outage(False)
    assert post(web)


def test_a_timed_outage_ends_by_itself() -> None:
    clock = [100.0]
    faults = Faults(now=lambda: clock[0])
    faults.arm(Fault("unavailable", remaining=None, until=105.0))
    assert faults.next_for("chat.postMessage") is not None
    clock[0] = 105.0
    assert faults.next_for("chat.postMessage") is None


def test_dropped_connections_do_nothing(web: WebClient, slack: SlackStandIn) -> None:
    before = len(slack.messages())
    slack.outage(True, how="drop")
    with pytest.raises((OSError, SlackApiError)):
        post(web)
    slack.outage(False)
    assert len(slack.messages()) == before


def test_a_lost_answer_leaves_the_message_behind(web: WebClient, slack: SlackStandIn) -> None:
    slack.lose_answers(1)
    with pytest.raises((OSError, SlackApiError)):
        post(web, "posted all the same")
    assert slack.messages()[-1]["text"] == "posted all the same"
    assert slack.calls()[-1]["outcome"] == "ok, answer lost"
    assert post(web)


@pytest.mark.parametrize("retry_after", [30, "Sat, 02 May 2026 10:12:00 GMT", None])
def test_rate_limit(web: WebClient, slack: SlackStandIn, retry_after: float | str | None) -> None:
    slack.rate_limit(2, retry_after)
    for _ in range(2):
        with pytest.raises(SlackApiError) as caught:
            post(web)
        assert caught.value.response.status_code == 429
        assert caught.value.response["error"] == "ratelimited"
        assert caught.value.response.headers.get("Retry-After") == (None if retry_after is None else str(retry_after))
    assert post(web)


def test_a_fault_may_be_for_one_method_only(web: WebClient, slack: SlackStandIn) -> None:
    slack.fail(1, "fatal_error", methods=["chat.update"])
    ts = post(web)
    with pytest.raises(SlackApiError, match="fatal_error"):
        web.chat_update(channel=CHANNEL, ts=ts, text="y")
    assert web.chat_update(channel=CHANNEL, ts=ts, text="y")["ok"]


def test_a_slow_answer_comes_late_but_was_done_at_once(web: WebClient, slack: SlackStandIn) -> None:
    slack.slow_answers(1, 0.3)
    started = time.monotonic()
    post(web, "slow")
    assert time.monotonic() - started >= 0.3


def test_the_pace_is_about_one_message_a_second_when_enforced(web: WebClient, slack: SlackStandIn) -> None:
    slack.enforce_pace()
    for _ in range(3):
        post(web)
    with pytest.raises(SlackApiError) as caught:
        post(web)
    assert caught.value.response.headers["Retry-After"] == "1"
