"""Dead letters that are driven back hours later: at most a look. One test for each queue that has dead letters."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest

from functions.post_slack import handler as post_slack
from roundhouse import codec
from roundhouse.contracts import names
from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.incident import Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Mode
from tests.fakes.queues import FakeLease
from tests.fakes.slack import FakeMessenger
from tests.fakes.stores import FakeThreads
from tests.steps.reconciled import to_the_end
from tests.steps.samples import health, house, worker
from tests.steps.test_repair_crashes import REPAIRS, deliver
from tests.steps.world import World

HOURS = (0.5, 3, 7, 30, 13 * 24)  # within and beyond the age that an event may have; a queue keeps 14 days


def state(world: World) -> dict[str, Any]:
    """Everything that a redrive must not change: calls, commands, records, what people were told."""
    return {
        "calls": list(world.cluster.calls),
        "nodes": list(world.cluster.nodes),
        "commands": list(world.agent.commands),
        "incidents": {i.incident_id: (i.outcome, i.attempts) for i in world.incidents.records.values()},
        "ledger": {e.action_id: e.state for e in world.ledger.records.values()},
        "approvals": deepcopy(world.approvals.records),
        "told": [n.notice_id for n in world.outbox.notices if n.kind is not NoticeKind.DIFFERENCES],
        "executions": {e.name: e.status for e in world.executions.values()},
    }


def later(world: World, hours: float) -> None:
    world.clock.at += timedelta(hours=hours)


def hma(world: World, instance: str) -> dict[str, Any]:
    """A record of the health agent, as read_health_log puts it into the intake queue."""
    record = {
        "HealthMonitoringAgentDetectionEvent": "HealthEvent",
        "condition: ": {"ErrNum": 79},
        "data: ": {"ErrNum": 79},
        "message": "Xid 79: GPU has fallen off the bus",
    }
    event = {
        "id": "1", "timestamp": int(world.now.timestamp() * 1000), "message": json.dumps(record)
    }  # fmt: skip
    detail = {
        "messageType": "DATA_MESSAGE",
        "owner": "111122223333",
        "logGroup": names.log_group(world.spec.cluster, world.cluster.arn),
        "logStream": f"SagemakerHealthMonitoringAgent/workers/{instance}",
        "subscriptionFilters": ["health"],
        "logEvents": [event],
    }
    return {
        "id": "hma-1",
        "source": names.LOG_SOURCE,
        "detail-type": names.LOG_FINDING,
        "time": world.now.isoformat(),
        "detail": detail,
    }


@pytest.mark.parametrize("hours", HOURS)
@pytest.mark.parametrize("kind", REPAIRS)
def test_signals_of_a_repair_that_is_over(kind: str, hours: float) -> None:
    world = REPAIRS[kind]()
    messages = [health(world, worker(world, 3)), hma(world, worker(world, 3))]
    for message in messages:
        deliver(world, message)
    to_the_end(world)
    before = state(world)
    later(world, hours)
    for message in reversed(messages):
        deliver(world, message)
    to_the_end(world)
    assert state(world) == before


@pytest.mark.parametrize("hours", HOURS)
def test_signal_that_never_arrived_while_the_node_was_replaced_by_somebody_else(hours: float) -> None:
    world = house(ladder=(Rung.REPLACE, Rung.HUMAN))
    instance = worker(world, 3)
    lost = health(world, instance)
    world.cluster.replace("train", [instance])
    world.cluster.settle()
    before = state(world)
    later(world, hours)
    deliver(world, lost)
    to_the_end(world)
    assert state(world) == before


@pytest.mark.parametrize("hours", [7, 30])
def test_signal_that_never_arrived_and_is_too_old(hours: float) -> None:
    world = house(ladder=(Rung.REPLACE, Rung.HUMAN))
    lost = health(world, worker(world, 3))
    before = state(world)
    later(world, hours)
    deliver(world, lost)
    to_the_end(world)
    assert state(world) == before


@pytest.mark.parametrize("hours", HOURS)
@pytest.mark.parametrize("choice", ["approve", "deny"])
def test_settling_of_a_question_that_is_over(choice: str, hours: float) -> None:
    world = REPAIRS["asked" if choice == "approve" else "denied"]()
    deliver(world, health(world, worker(world, 3)))
    to_the_end(world)
    before = state(world)
    later(world, hours)
    for approval_id in world.approvals.records:
        world.settle.settle(approval_id)
    to_the_end(world)
    assert state(world) == before


def test_settling_that_was_lost_is_done_by_the_reconciler() -> None:
    world = REPAIRS["asked"]()
    real = world._settle_all
    world._settle_all = world.settle.approval_ids.clear  # type: ignore[method-assign]
    deliver(world, health(world, worker(world, 3)))
    world.run(for_s=400)
    world._settle_all = real  # type: ignore[method-assign]
    assert [c.operation for c in world.cluster.calls] == []
    to_the_end(world)
    assert [c.operation for c in world.cluster.calls] == ["replace"]
    assert {i.outcome for i in world.incidents.records.values()} == {Outcome.REPAIRED}


@pytest.mark.parametrize("kind", ["asked", "denied", "delete and restore"])
def test_messages_to_slack_that_were_posted_before(kind: str) -> None:
    world = REPAIRS[kind]()
    deliver(world, health(world, worker(world, 3)))
    to_the_end(world)
    slack, threads = FakeMessenger(), FakeThreads()
    ports = post_slack.Ports(slack, threads, FakeLease(), "C1", lambda metric: None, lambda: 1.0)
    records = [
        {"messageId": n.notice_id, "receiptHandle": n.notice_id, "body": codec.to_json(n)} for n in world.outbox.notices
    ]
    for record in records:
        assert post_slack.post_batch({"Records": [record]}, ports) == {"batchItemFailures": []}
    before = [(m.notice_id, m.notice.text) for m in slack.messages]
    assert before
    for record in reversed(records):
        assert post_slack.post_batch({"Records": [record]}, ports) == {"batchItemFailures": []}
    assert [(m.notice_id, m.notice.text) for m in slack.messages] == before


@pytest.mark.parametrize("hours", HOURS)
def test_click_on_a_question_that_slack_shows_when_all_is_over(hours: float) -> None:
    """The outbox's dead letters: a question posted hours after its end has buttons, and they do nothing."""
    world = house(mode=Mode.ASK, ladder=(Rung.REPLACE, Rung.HUMAN))
    deliver(world, health(world, worker(world, 3)))
    to_the_end(world)
    [asked] = world.told(NoticeKind.APPROVAL_ASKED)
    before = state(world)
    later(world, hours)
    assert "Too late" in world.click(asked, "approve")
    to_the_end(world)
    assert state(world) == before
    assert world.cluster.calls == []


@pytest.mark.parametrize("hours", HOURS)
def test_invocation_of_the_reconciler(hours: float) -> None:
    """Dead letters of asynchronous calls: whoever invokes them again gets a look at what is so now."""
    world = REPAIRS["replace"]()
    deliver(world, health(world, worker(world, 3)))
    to_the_end(world)
    before = state(world)
    later(world, hours)
    assert world.reconcile()["mended"] == []
    world._invoke("measure_line", {})
    assert state(world) == before
