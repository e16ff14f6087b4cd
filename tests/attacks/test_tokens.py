"""Somebody has a task token and may answer Step Functions: still nothing is done that people have not approved."""

from __future__ import annotations

from typing import Any

import pytest

from roundhouse.line.policy import Mode
from tests.steps.samples import empty_account, house
from tests.steps.test_repair import REPLACE, fail
from tests.steps.world import World

FORGED: tuple[dict[str, Any], ...] = (
    {},
    {"approval_id": None, "choice": "approve"},
    {"approval_id": "apr-0000000000000000", "choice": "approve", "status": "approve"},
    {"status": "approve", "by": "U0ALICE", "reason": "because I say so"},
)


def answer_whatever_waits(world: World, output: dict[str, Any]) -> int:
    """SendTaskSuccess on every token that is waited for; how many there were."""
    waiting = [e.waiting.token for e in world.executions.values() if e.waiting and e.waiting.token]
    return sum(world.succeed(token, dict(output)) for token in waiting if token)


@pytest.mark.parametrize("output", FORGED, ids=str)
def test_an_answered_token_without_an_approval_repairs_nothing(output: dict[str, Any]) -> None:
    world = house(mode=Mode.ASK, ladder=REPLACE)
    fail(world)
    answered = 0
    for _ in range(5):
        world.run(for_s=600)
        answered += answer_whatever_waits(world, output)
    world.run()
    assert answered
    assert world.cluster.calls == []
    assert all(approval.choice != "approve" for approval in world.approvals.records.values())


@pytest.mark.parametrize("choice", ["accept", "roll_back"])
def test_an_answered_token_without_an_approval_spends_and_deletes_nothing(choice: str) -> None:
    world = empty_account()
    world.cluster.on_demand.add("workers")
    world.create()
    while not world.approvals.records:
        world.run(for_s=60)
    before = list(world.cluster.calls)
    assert answer_whatever_waits(world, {"approval_id": None, "choice": choice, "status": choice}) == 1
    world.run(for_s=60)
    assert [call.operation for call in world.cluster.calls[len(before) :]] == []


def test_the_question_stands_for_as_long_as_it_was_promised_however_often_its_task_is_ended() -> None:
    world = empty_account()
    world.cluster.on_demand.add("workers")
    execution = world.create()
    ended = 0
    for _ in range(6):
        world.run(for_s=world.spec.ask_timeout_s / 4)
        ended += answer_whatever_waits(world, {"choice": "roll_back"})
    [approval] = world.approvals.records.values()
    asked = (approval.expires_at - approval.asked_at).total_seconds()
    world.run()
    assert ended > 1
    assert execution.output["status"] == "rolled_back", "silence still rolls back"
    [approval] = world.approvals.records.values()
    assert approval.decided_by is None
    assert approval.decided_at is not None
    waited = (approval.decided_at - approval.asked_at).total_seconds()
    assert asked - 120 <= waited <= asked * 1.1
