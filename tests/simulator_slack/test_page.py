"""What the page serves: files under a strict policy, and the state that one person sees."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest
from slack_sdk import WebClient

from simulator.slack.client import SlackStandIn
from tests.simulator_slack.conftest import ALICE, CHANNEL, EVE


def fetch(url: str, **headers: str) -> tuple[dict[str, str], bytes]:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=5) as answer:
        return dict(answer.headers), answer.read()


def state(slack: SlackStandIn, user: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(fetch(f"{slack.page_url}page/state?user={user}&channel={CHANNEL}")[1])
    return content


@pytest.mark.parametrize("name", ["page.css", "page.js", "blocks.js", "dom.js", "mrkdwn.js", "emoji.js"])
def test_every_file_is_served_under_the_policy(slack: SlackStandIn, name: str) -> None:
    headers, body = fetch(f"{slack.page_url}page/static/{name}")
    assert body
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_the_document_names_nothing_from_elsewhere(slack: SlackStandIn) -> None:
    for path in ("", f"archives/{CHANNEL}", f"archives/{CHANNEL}/p1780000000000100"):
        assert b"://" not in fetch(slack.page_url + path)[1]


@pytest.mark.parametrize("name", ["server.py", "..%2Fserver.py", "__init__.py"])
def test_other_files_are_not_served(slack: SlackStandIn, name: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        fetch(f"{slack.page_url}page/static/{name}")


def test_a_name_that_resolves_to_here_is_no_way_in(slack: SlackStandIn) -> None:
    with pytest.raises(urllib.error.HTTPError, match="403"):
        fetch(f"{slack.page_url}page/state", Host="rebound.example")


def test_each_sees_their_own(slack: SlackStandIn, web: WebClient) -> None:
    ts = web.chat_postEphemeral(channel=CHANNEL, user=EVE, text="for Eve")["message_ts"]
    assert [m["ephemeral"] for m in state(slack, EVE)["messages"] if m["ts"] == ts] == [True]
    assert all(m["ts"] != ts for m in state(slack, ALICE)["messages"])


def test_the_stream_tells_of_changes(slack: SlackStandIn, web: WebClient) -> None:
    with urllib.request.urlopen(f"{slack.page_url}page/stream", timeout=5) as stream:
        first = int(stream.readline().removeprefix(b"data: "))
        assert stream.readline() == b"\n"
        web.chat_postMessage(channel=CHANNEL, text="news")
        assert int(stream.readline().removeprefix(b"data: ")) > first
