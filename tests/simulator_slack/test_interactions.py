"""Clicks as an app receives them, and Slack's 3-second rule, shortened to 0.4 s.

The browser test has the real three seconds.
"""

from __future__ import annotations

import json
import threading
import urllib.request
from typing import Any
from urllib.parse import parse_qsl

import pytest
from slack_sdk import WebClient
from slack_sdk.signature import SignatureVerifier
from slack_sdk.webhook import WebhookClient

from simulator.slack.client import SlackStandIn
from simulator.slack.errors import ControlError
from tests.simulator_slack.conftest import (
    ALICE,
    APPROVAL,
    BOB,
    CHANNEL,
    EVE,
    Received,
    Receiver,
    actions,
    button,
    plain,
)


def payload(received: Received) -> dict[str, Any]:
    (field,) = parse_qsl(received.body.decode(), strict_parsing=True)
    assert field[0] == "payload"
    content: dict[str, Any] = json.loads(field[1])
    return content


@pytest.fixture
def ts(web: WebClient, slack: SlackStandIn, receiver: Receiver) -> str:
    slack.set_interactivity_url(receiver.url)
    metadata = {"event_type": "approval", "event_payload": {"n": 1}}
    return str(web.chat_postMessage(channel=CHANNEL, text="Replace?", blocks=APPROVAL, metadata=metadata)["ts"])


def test_a_click_has_slacks_shape_and_a_valid_signature(ts: str, slack: SlackStandIn, receiver: Receiver) -> None:
    delivery = slack.click(ts, "approve", ALICE)
    assert (delivery["outcome"], delivery["status"], delivery["retry_num"]) == ("ok", 200, 0)
    (received,) = receiver.requests
    assert SignatureVerifier(slack.signing_secret).is_valid_request(received.body, received.headers)
    assert not SignatureVerifier("another-secret").is_valid_request(received.body, received.headers)
    assert received.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert not any(name.lower().startswith("x-slack-retry") for name in received.headers)
    sent = payload(received)
    assert set(sent) == {
        "type", "user", "api_app_id", "token", "container", "trigger_id", "team", "enterprise",
        "is_enterprise_install", "channel", "message", "state", "response_url", "actions",
    }  # fmt: skip
    assert sent["type"] == "block_actions"
    assert sent["user"] == {"id": ALICE, "username": "alice", "name": "alice", "team_id": "T0ROUNDHSE"}
    assert sent["container"] == {"type": "message", "message_ts": ts, "channel_id": CHANNEL, "is_ephemeral": False}
    assert sent["channel"] == {"id": CHANNEL, "name": "gpu-ops"}
    assert sent["enterprise"] is None
    assert sent["message"]["ts"] == ts
    assert sent["message"]["metadata"]["event_type"] == "approval"
    (action,) = sent["actions"]
    assert action["action_id"] == "approve"
    assert (action["value"], action["style"], action["type"]) == ("apr_7f3c", "primary", "button")
    assert action["block_id"] == sent["message"]["blocks"][1]["block_id"]
    assert action["text"] == {"type": "plain_text", "text": "Approve", "emoji": True}
    assert float(action["action_ts"]) > float(ts)


def test_the_body_is_not_what_re_encoding_would_give(ts: str, slack: SlackStandIn, receiver: Receiver) -> None:
    slack.click(ts, "approve", ALICE)
    assert b"%5C%2F" in receiver.requests[0].body  # slashes are escaped, as Slack's encoder does


def test_a_click_in_a_thread_names_the_thread(web: WebClient, slack: SlackStandIn, receiver: Receiver, ts: str) -> None:
    reply = web.chat_postMessage(channel=CHANNEL, thread_ts=ts, text="?", blocks=[actions(button("go"))])["ts"]
    slack.click(reply, "go", BOB)
    sent = payload(receiver.requests[0])
    assert sent["container"]["thread_ts"] == ts
    assert "value" not in sent["actions"][0]


def test_an_ephemeral_click_carries_no_message(web: WebClient, slack: SlackStandIn, receiver: Receiver) -> None:
    slack.set_interactivity_url(receiver.url)
    whisper = web.chat_postEphemeral(channel=CHANNEL, user=EVE, text="?", blocks=[actions(button("ok"))])["message_ts"]
    with pytest.raises(ControlError, match="not visible"):
        slack.click(whisper, "ok", ALICE)
    slack.click(whisper, "ok", EVE)
    sent = payload(receiver.requests[0])
    assert "message" not in sent
    assert sent["container"]["is_ephemeral"] is True


def test_a_menu_sends_its_choice_and_keeps_it_in_the_state(
    web: WebClient, slack: SlackStandIn, receiver: Receiver
) -> None:
    slack.set_interactivity_url(receiver.url)
    options = [{"text": plain(name), "value": name} for name in ("hold", "accept")]
    menu = {"type": "static_select", "action_id": "choose", "placeholder": plain("Choose"), "options": options}
    blocks = [{**actions(menu), "block_id": "b1"}]
    ts = web.chat_postMessage(channel=CHANNEL, text="?", blocks=blocks)["ts"]
    slack.click(ts, "choose", ALICE, value="hold")
    sent = payload(receiver.requests[0])
    assert sent["actions"][0]["selected_option"]["value"] == "hold"
    assert sent["state"]["values"]["b1"]["choose"]["selected_option"]["value"] == "hold"
    slack.click(ts, "choose", ALICE)
    assert payload(receiver.requests[1])["actions"][0]["selected_option"] is None


@pytest.mark.parametrize(
    ("action_id", "user", "value", "why"),
    [
        ("destroy", ALICE, None, "it has: approve, deny"),
        ("approve", "U0STRANGER", None, "no user"),
        ("approve", ALICE, "apr_other", "cannot change it"),
    ],
)
def test_impossible_clicks(
    ts: str, slack: SlackStandIn, receiver: Receiver, action_id: str, user: str, value: str | None, why: str
) -> None:
    with pytest.raises(ControlError, match=why):
        slack.click(ts, action_id, user, value)
    assert receiver.requests == []


def test_a_slow_app_is_given_up_and_not_asked_again(ts: str, slack: SlackStandIn, receiver: Receiver) -> None:
    receiver.delay = 0.6
    delivery = slack.click(ts, "approve", ALICE)
    assert (delivery["outcome"], delivery["status"]) == ("http_timeout", None)
    assert 0.35 <= delivery["elapsed"] < 0.6
    receiver.delay = 0.0
    assert slack.click(ts, "deny", ALICE)["outcome"] == "ok"
    assert len(receiver.requests) == 2
    assert len([d for d in slack.deliveries() if d["about"].get("message_ts") == ts]) == 2


def test_an_error_is_not_sent_again_either(ts: str, slack: SlackStandIn, receiver: Receiver) -> None:
    receiver.statuses = [500]
    assert slack.click(ts, "approve", ALICE)["outcome"] == "http_error"
    assert len(receiver.requests) == 1


def test_without_an_address_and_without_an_app(ts: str, slack: SlackStandIn) -> None:
    slack.set_interactivity_url("")
    assert slack.click(ts, "approve", ALICE)["outcome"] == "not_configured"
    slack.set_interactivity_url("http://127.0.0.1:9/")
    assert slack.click(ts, "approve", ALICE)["outcome"] == "connection_failed"


def test_two_people_at_once_are_two_requests(ts: str, slack: SlackStandIn, receiver: Receiver) -> None:
    receiver.delay = 0.2
    clicks = [threading.Thread(target=slack.click, args=(ts, "approve", user)) for user in (ALICE, BOB)]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    assert {payload(received)["user"]["id"] for received in receiver.requests} == {ALICE, BOB}


def respond(url: str, **body: Any) -> tuple[int, str]:
    answer = WebhookClient(url, retry_handlers=[]).send_dict(body)
    return answer.status_code, answer.body


def test_response_url_answers_replaces_and_ends_after_five(ts: str, slack: SlackStandIn, receiver: Receiver) -> None:
    slack.click(ts, "approve", EVE)
    url = payload(receiver.requests[0])["response_url"]
    assert respond(url, text="You may not approve.") == (200, "ok")
    assert slack.messages()[-1]["visible_to"] == EVE
    assert respond(url, text="Everyone sees this.", response_type="in_channel") == (200, "ok")
    assert slack.messages()[-1]["visible_to"] is None
    assert respond(url, text="")[0] == 400
    assert respond(url, text="x", blocks=[{"type": "no"}])[0] == 400
    assert respond(url, text="Approved by Alice", replace_original=True) == (200, "ok")
    replaced = next(m for m in slack.messages() if m["ts"] == ts)
    assert replaced["text"] == "Approved by Alice"
    assert "blocks" not in replaced
    assert respond(url, text="4") == (200, "ok")
    assert respond(url, delete_original=True) == (200, "ok")
    assert all(m["ts"] != ts for m in slack.messages())
    status, body = respond(url, text="6")
    assert status == 404
    assert "used_url" in body


def test_response_url_is_hit_by_an_outage_too(ts: str, slack: SlackStandIn, receiver: Receiver) -> None:
    slack.click(ts, "approve", EVE)
    slack.outage(True)
    assert respond(payload(receiver.requests[0])["response_url"], text="x")[0] == 503


def test_a_person_mentions_the_app(slack: SlackStandIn, receiver: Receiver) -> None:
    slack.set_events_url(receiver.url)
    slack.say("#gpu-ops", BOB, "@Roundhouse status <b> & @nobody")
    assert slack.messages()[-1]["text"] == "<@U0ROUNDBOT> status &lt;b&gt; &amp; @nobody"


def test_other_web_pages_are_kept_out(slack: SlackStandIn) -> None:
    request = urllib.request.Request(
        f"{slack.url}/_control/messages", data=b"{}", headers={"Origin": "https://evil.example"}
    )
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request)
