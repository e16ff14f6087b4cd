"""Starting, seeding and stopping the process."""

from __future__ import annotations

from pathlib import Path

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from simulator.slack.client import SlackStandIn
from simulator.slack.errors import ControlError


def test_a_workspace_of_ones_own(tmp_path: Path) -> None:
    workspace = {
        "team": {"name": "Depot"},
        "users": [{"id": "U0ONE", "name": "one", "real_name": "One"}],
        "channels": [
            {"id": "C0OPEN", "name": "open", "members": ["U0ONE"]},
            {"id": "C0SHUT", "name": "shut", "bot_is_member": False},
            {"id": "C0OLD", "name": "old", "is_archived": True},
        ],
    }
    with SlackStandIn.start(tmp_path, workspace=workspace) as slack:
        web = WebClient(token=slack.bot_token, base_url=slack.api_url)
        assert web.auth_test()["team"] == "Depot"
        assert web.chat_postMessage(channel="#open", text="x")["ok"]
        for channel, error in (("C0SHUT", "not_in_channel"), ("C0OLD", "is_archived")):
            with pytest.raises(SlackApiError, match=error):
                web.chat_postMessage(channel=channel, text="x")
    with pytest.raises(ControlError, match="does not answer"):
        slack.messages()
    slack.stop()


@pytest.mark.parametrize(
    ("workspace", "why"),
    [
        ({"users": [{"id": "U0ONE"}]}, "wrong shape"),
        ({"channels": [{"id": "C0", "name": "x", "members": ["U0GHOST"]}]}, "U0GHOST"),
    ],
)
def test_a_wrong_seed_is_said_at_the_start(tmp_path: Path, workspace: dict[str, object], why: str) -> None:
    with pytest.raises(ControlError, match=why):
        SlackStandIn.start(tmp_path, workspace=workspace)
