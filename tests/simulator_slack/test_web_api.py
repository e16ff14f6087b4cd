"""The Web API through the real SDK client: what comes back, and what is refused by which name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from simulator.slack.client import SlackStandIn
from tests.simulator_slack.conftest import ALICE, APPROVAL, BOB, CHANNEL, EVE, mrkdwn, plain


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(SlackApiError) as caught:
        call()
    return str(caught.value.response["error"])


def test_auth_test_names_the_app(web: WebClient) -> None:
    answer = web.auth_test()
    assert (answer["team_id"], answer["user_id"], answer["bot_id"]) == ("T0ROUNDHSE", "U0ROUNDBOT", "B0ROUNDHSE")


def test_tokens_are_checked(slack: SlackStandIn) -> None:
    stranger = WebClient(token="xoxb-other", base_url=slack.api_url)
    assert refusal(stranger.auth_test) == "invalid_auth"
    assert refusal(WebClient(base_url=slack.api_url).auth_test) == "not_authed"


def test_a_posted_message_comes_back_with_ids_filled_in(web: WebClient, slack: SlackStandIn) -> None:
    metadata = {"event_type": "approval", "event_payload": {"approval": "apr_7f3c"}}
    answer = web.chat_postMessage(channel="#gpu-ops", text="Replace?", blocks=APPROVAL, metadata=metadata)
    assert answer["channel"] == CHANNEL
    message = answer["message"]
    assert (message["bot_id"], message["app_id"], message["ts"]) == ("B0ROUNDHSE", "A0ROUNDHSE", answer["ts"])
    assert all(block["block_id"] for block in message["blocks"])
    stored = web.conversations_history(channel=CHANNEL, limit=1, include_all_metadata=True)["messages"][0]
    assert stored["metadata"] == metadata
    assert "metadata" not in web.conversations_history(channel=CHANNEL, limit=1)["messages"][0]
    assert slack.messages("#gpu-ops")[-1]["ts"] == answer["ts"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"channel": "C0NOWHERE", "text": "x"}, "channel_not_found"),
        ({"channel": CHANNEL, "text": ""}, "no_text"),
        ({"channel": CHANNEL, "text": "  \n"}, "no_text"),
        ({"channel": CHANNEL, "attachments": [{"text": "old style"}]}, "invalid_arguments"),
        ({"channel": CHANNEL, "text": "x", "thread_ts": "1.000001"}, "thread_not_found"),
        ({"channel": CHANNEL, "text": "x", "blocks": "[{]"}, "invalid_blocks_format"),
        ({"channel": CHANNEL, "text": "x", "blocks": [{"type": "no"}]}, "invalid_blocks"),
        ({"channel": CHANNEL, "text": "x", "metadata": {"event_type": "a"}}, "invalid_metadata_schema"),
    ],
)
def test_post_message_refusals(web: WebClient, arguments: dict[str, Any], error: str) -> None:
    assert refusal(lambda: web.api_call("chat.postMessage", json=arguments)) == error


def test_findings_are_told_in_the_response_metadata(web: WebClient) -> None:
    blocks = [{"type": "section", "text": mrkdwn("x" * 3001)}]
    with pytest.raises(SlackApiError) as caught:
        web.chat_postMessage(channel=CHANNEL, text="x", blocks=blocks)
    assert caught.value.response["response_metadata"]["messages"] == [
        "[ERROR] failed to match all allowed schemas [json-pointer:/blocks/0/text]",
        "[ERROR] must be less than 3001 characters [json-pointer:/blocks/0/text/text]",
    ]


def test_a_very_long_text_is_cut_with_a_warning(web: WebClient) -> None:
    answer = web.chat_postMessage(channel=CHANNEL, text="x" * 40_001)
    assert len(answer["message"]["text"]) == 40_000
    assert answer["warning"] == "message_truncated"


def test_threads(web: WebClient) -> None:
    parent = web.chat_postMessage(channel=CHANNEL, text="parent")["ts"]
    replies = [web.chat_postMessage(channel=CHANNEL, thread_ts=parent, text=f"reply {i}")["ts"] for i in range(3)]
    loud = web.chat_postMessage(channel=CHANNEL, thread_ts=parent, text="loud", reply_broadcast=True)["ts"]
    thread = web.conversations_replies(channel=CHANNEL, ts=parent)["messages"]
    assert [m["ts"] for m in thread] == [parent, *replies, loud]
    assert (thread[0]["reply_count"], thread[0]["latest_reply"]) == (4, loud)
    assert thread[1]["parent_user_id"] == "U0ROUNDBOT"
    channel = web.conversations_history(channel=CHANNEL, limit=2)["messages"]
    assert [m["ts"] for m in channel] == [loud, parent]
    assert channel[0]["subtype"] == "thread_broadcast"
    assert refusal(lambda: web.conversations_replies(channel=CHANNEL, ts="1.000001")) == "thread_not_found"
    post = lambda: web.chat_postMessage(channel=CHANNEL, thread_ts=replies[0], text="x")  # noqa: E731
    assert refusal(post) == "cannot_reply_to_message"


def test_history_pages_by_cursor_and_by_time(web: WebClient) -> None:
    stamps = [web.chat_postMessage(channel=CHANNEL, text=f"m{i}")["ts"] for i in range(5)]
    first = web.conversations_history(channel=CHANNEL, limit=2, oldest=stamps[0])
    assert [m["ts"] for m in first["messages"]] == [stamps[4], stamps[3]]
    cursor = first["response_metadata"]["next_cursor"]
    second = web.conversations_history(channel=CHANNEL, limit=2, oldest=stamps[0], cursor=cursor)
    assert [m["ts"] for m in second["messages"]] == [stamps[2], stamps[1]]
    assert second["has_more"] is False
    window = web.conversations_history(channel=CHANNEL, oldest=stamps[1], latest=stamps[3], inclusive=True)
    assert [m["ts"] for m in window["messages"]] == stamps[3:0:-1]
    assert refusal(lambda: web.conversations_history(channel=CHANNEL, cursor="bm9uc2Vuc2U=")) == "invalid_cursor"
    assert refusal(lambda: web.conversations_history(channel=CHANNEL, oldest="soon")) == "invalid_ts_oldest"


def test_update_keeps_what_is_not_given(web: WebClient) -> None:
    ts = web.chat_postMessage(channel=CHANNEL, text="before", blocks=APPROVAL)["ts"]
    updated = web.chat_update(channel=CHANNEL, ts=ts, text="after")["message"]
    assert updated["text"] == "after"
    assert len(updated["blocks"]) == 2
    assert updated["edited"]["user"] == "U0ROUNDBOT"
    cleared = web.chat_update(channel=CHANNEL, ts=ts, text="done", blocks=[])["message"]
    assert "blocks" not in cleared


def test_update_refusals(web: WebClient, slack: SlackStandIn) -> None:
    mine = web.chat_postMessage(channel=CHANNEL, text="mine")["ts"]
    hers = slack.say(CHANNEL, ALICE, "hers")["ts"]
    whisper = web.chat_postEphemeral(channel=CHANNEL, user=BOB, text="psst")["message_ts"]
    update = web.chat_update
    assert refusal(lambda: update(channel=CHANNEL, ts=hers, text="x")) == "cant_update_message"
    assert refusal(lambda: update(channel=CHANNEL, ts="1.000001", text="x")) == "message_not_found"
    assert refusal(lambda: update(channel=CHANNEL, ts=whisper, text="x")) == "message_not_found"
    assert refusal(lambda: update(channel="#gpu-ops", ts=mine, text="x")) == "channel_not_found"
    assert refusal(lambda: update(channel=CHANNEL, ts=mine, text="é" * 2001)) == "msg_too_long"
    assert update(channel=CHANNEL, ts=mine, text="é" * 2000)["ok"]


def test_delete(web: WebClient, slack: SlackStandIn) -> None:
    ts = web.chat_postMessage(channel=CHANNEL, text="gone")["ts"]
    assert web.chat_delete(channel=CHANNEL, ts=ts)["ts"] == ts
    assert all(m["ts"] != ts for m in slack.messages())
    hers = slack.say(CHANNEL, ALICE, "stays")["ts"]
    assert refusal(lambda: web.chat_delete(channel=CHANNEL, ts=hers)) == "cant_delete_message"


def test_ephemeral_messages_are_in_nobodys_history(web: WebClient, slack: SlackStandIn) -> None:
    ts = web.chat_postEphemeral(channel=CHANNEL, user=EVE, text="only you")["message_ts"]
    assert slack.messages()[-1]["visible_to"] == EVE
    assert all(m["ts"] != ts for m in web.conversations_history(channel=CHANNEL)["messages"])
    stranger = lambda: web.chat_postEphemeral(channel=CHANNEL, user="U0STRANGER", text="x")  # noqa: E731
    assert refusal(stranger) == "user_not_in_channel"


def test_permalink_leads_to_the_page(web: WebClient, slack: SlackStandIn) -> None:
    ts = web.chat_postMessage(channel=CHANNEL, text="here")["ts"]
    link = web.chat_getPermalink(channel=CHANNEL, message_ts=ts)["permalink"]
    assert link == f"{slack.page_url}archives/{CHANNEL}/p{ts.replace('.', '')}"
    assert refusal(lambda: web.chat_getPermalink(channel=CHANNEL, message_ts="1.0")) == "message_not_found"


def test_reactions(web: WebClient, slack: SlackStandIn) -> None:
    ts = web.chat_postMessage(channel=CHANNEL, text="look")["ts"]
    web.reactions_add(channel=CHANNEL, timestamp=ts, name="eyes")
    assert refusal(lambda: web.reactions_add(channel=CHANNEL, timestamp=ts, name="eyes")) == "already_reacted"
    assert refusal(lambda: web.reactions_add(channel=CHANNEL, timestamp=ts, name="no name")) == "invalid_name"
    assert slack.messages()[-1]["reactions"] == [{"name": "eyes", "users": ["U0ROUNDBOT"], "count": 1}]
    web.reactions_remove(channel=CHANNEL, timestamp=ts, name="eyes")
    assert refusal(lambda: web.reactions_remove(channel=CHANNEL, timestamp=ts, name="eyes")) == "no_reaction"


def test_users_info(web: WebClient) -> None:
    assert web.users_info(user=EVE)["user"]["is_restricted"] is True
    assert web.users_info(user="U0ROUNDBOT")["user"]["is_bot"] is True
    assert refusal(lambda: web.users_info(user="U0STRANGER")) == "user_not_found"


def test_a_method_that_is_not_there_is_said_to_be_unknown(web: WebClient) -> None:
    assert refusal(lambda: web.api_call("chat.postmessage")) == "unknown_method"


def test_foreign_text_never_pings_when_it_is_escaped(web: WebClient, slack: SlackStandIn) -> None:
    blocks = [
        {"type": "section", "text": mrkdwn("&lt;!channel&gt; from a log")},
        {"type": "header", "text": plain("<!here>")},
    ]
    web.chat_postMessage(channel=CHANNEL, text="&lt;!channel&gt;", blocks=blocks)
    assert slack.messages()[-1]["notifies"] == []
    web.chat_postMessage(channel=CHANNEL, text="<!channel> careless")
    assert slack.messages()[-1]["notifies"] == ["!channel"]
