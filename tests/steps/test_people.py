"""Asking and reading answers: task tokens are written by one role and never read by the other."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import Any

from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.approval import Approval
from roundhouse.line.policy import Mode
from roundhouse.steps.people.questions import People, Reading
from tests.steps.samples import house
from tests.steps.test_repair import REPLACE, fail
from tests.steps.world import World

DECISION: dict[str, Any] = {
    "status": "ask",
    "reason": "broken",
    "rung": "replace",
    "instance_id": "i-00000000000000005",
    "approval_s": 3600,
}


def asking(world: World) -> People:
    return People(
        approvals=world.approvals,
        tokens=world.tokens,
        incidents=world.incidents,
        runs=world.runs,
        outbox=world.outbox,
        settle=world.settle,
        policy=world.policy,
        spec=world.spec,
    )


def the_incident(world: World) -> str:
    fail(world)
    [incident_id] = world.incidents.records
    return incident_id


def the_approval(world: World) -> Approval:
    [approval] = world.approvals.records.values()
    return approval


def test_reading_has_no_way_to_a_token() -> None:
    assert "tokens" not in {field.name for field in fields(Reading)}
    assert "tokens" in {field.name for field in fields(People)}


def test_no_step_of_a_repair_reads_a_token() -> None:
    world = house(mode=Mode.ASK, ladder=REPLACE)
    world.people = lambda notice: ("approve", 60)
    fail(world)
    world.run()
    assert "tokens.keep" in world.gate.calls
    assert "tokens.token" not in world.gate.calls


def test_message_carries_the_approval_and_never_the_token() -> None:
    world = house(mode=Mode.ASK)
    asking(world).ask("repair", the_incident(world), DECISION, "the-secret-token", world.now)
    [asked] = world.told(NoticeKind.APPROVAL_ASKED)
    assert "the-secret-token" not in str(asked)
    assert asked.approval is not None
    assert asked.approval["approval_id"] == the_approval(world).approval_id


def test_task_that_is_tried_again_asks_once_and_keeps_the_newer_token() -> None:
    world = house(mode=Mode.ASK)
    subject = the_incident(world)
    for seconds, token in ((0, "old"), (7, "new")):
        asking(world).ask("repair", subject, DECISION, token, world.now + timedelta(seconds=seconds))
    approval = the_approval(world)
    assert world.tokens.token(approval.approval_id) == "new"
    assert len(world.told(NoticeKind.APPROVAL_ASKED)) == 1
    assert approval.expires_at == world.now + timedelta(seconds=3600 * 0.97)


def test_question_that_was_answered_meanwhile_is_settled_at_once() -> None:
    world = house(mode=Mode.ASK)
    subject = the_incident(world)
    asking(world).ask("repair", subject, DECISION, "old", world.now)
    [asked] = world.told(NoticeKind.APPROVAL_ASKED)
    world.click(asked, "approve")
    assert asking(world).ask("repair", subject, DECISION, "new", world.now)["status"] == "decided"
    assert world.settle.approval_ids == [the_approval(world).approval_id]
    assert world.tokens.token(the_approval(world).approval_id) == "new"


def test_second_failure_of_a_rung_is_another_question() -> None:
    world = house(mode=Mode.ASK)
    subject = the_incident(world)
    first = asking(world).ask("repair", subject, DECISION, "t", world.now)["approval_id"]
    other = asking(world).ask("repair", subject, {**DECISION, "rung": "reboot"}, "t", world.now)["approval_id"]
    third = asking(world).ask("repair", subject, {**DECISION, "instance_id": "i-0"}, "t", world.now)["approval_id"]
    assert len({first, other, third}) == 3
