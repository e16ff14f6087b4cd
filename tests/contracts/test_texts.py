"""Messages that are no records: commands to the agent, buttons in Slack, orders to settle, snapshots. Read for ever."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from functions.settle_approval import handler as settle
from roundhouse.contracts.commands import Command, Verb
from roundhouse.contracts.slack import CHOICES, ButtonValue
from roundhouse.errors import MalformedEvent
from roundhouse.triage import slurm_snapshot
from tests.contracts.record import FOLDER

TEXTS = FOLDER.parent / "v1" / "texts"
NOW = datetime(2026, 10, 2, 12, 1, tzinfo=UTC)


def recorded(name: str) -> Any:
    return json.loads((TEXTS / name).read_text())


@pytest.mark.parametrize("path", sorted(TEXTS.glob("command.*")), ids=lambda path: path.name)
def test_a_command_in_the_queue_is_understood_and_written_alike(path: Path) -> None:
    command = Command.from_json(path.read_text())
    assert command.verb.value in path.name
    assert json.loads(command.to_json()) == json.loads(path.read_text())


def test_every_verb_is_recorded() -> None:
    assert {path.name.split(".")[1] for path in TEXTS.glob("command.*")} == {verb.value for verb in Verb}


@pytest.mark.parametrize("name", ["button.json", "button.discount.json"])
def test_a_button_drawn_before_the_deployment_counts(name: str) -> None:
    raw = recorded(name)
    value = ButtonValue.from_text(json.dumps(raw), raw["choice"])
    assert (value.approval_id, value.choice, value.instance_id) == (raw["approval"], raw["choice"], raw["instance"])
    assert json.loads(value.to_text()) == raw


def test_no_choice_is_ever_taken_back() -> None:
    assert set(CHOICES) >= {"approve", "deny", "roll_back", "hold", "accept"}


def test_an_order_to_settle_is_understood() -> None:
    assert settle._approval_id((TEXTS / "settle.json").read_text()) == "apr-a9a75c7eedd6c662"


def test_a_snapshot_is_understood() -> None:
    snapshot = slurm_snapshot.read(recorded("snapshot.json"), NOW).snapshot
    assert snapshot is not None
    assert snapshot.sequence == 42
    [node] = snapshot.nodes.values()
    assert node.instance_id == "i-0123456789abcdef0"
    assert node.jobs == (4711,)


@pytest.mark.parametrize(
    ("name", "member", "read"),
    [
        ("command.cordon.json", "version", Command.from_json),
        ("button.json", "v", lambda text: ButtonValue.from_text(text, "approve")),
        ("snapshot.json", "version", lambda text: slurm_snapshot.read(json.loads(text), NOW)),
    ],
)
def test_a_newer_version_is_refused_and_says_which_is_understood(name: str, member: str, read: Any) -> None:
    with pytest.raises(MalformedEvent, match=r"2.*version 1"):
        read(json.dumps({**recorded(name), member: 2}))
