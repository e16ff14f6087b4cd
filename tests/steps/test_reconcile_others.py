"""The reconciler between people, Slurm, the breaker and the rest of the line."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from roundhouse.contracts.commands import REASON_PREFIX, Verb
from roundhouse.contracts.executions import ExecutionState
from roundhouse.contracts.ledger import LedgerState
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import StoreFailure, Throttled
from roundhouse.line.approval import ApprovalStatus
from roundhouse.line.breaker import BreakerState, BreakerStatus
from roundhouse.line.incident import Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Mode
from roundhouse.line.state import SlurmNode, SlurmSnapshot
from tests.steps.health import maintained, message, windows_of
from tests.steps.reconciled import kinds, to_the_end
from tests.steps.samples import health, house, worker
from tests.steps.test_repair_crashes import REPAIRS, deliver
from tests.steps.world import T0, World

REPLACE = (Rung.REPLACE, Rung.HUMAN)


def asked() -> tuple[World, str]:
    """People are asked about a node, and say nothing."""
    world = house(mode=Mode.ASK, ladder=REPLACE)
    instance = worker(world, 3)
    deliver(world, health(world, instance))
    world.run(for_s=300)
    assert [a.status for a in world.approvals.records.values()] == [ApprovalStatus.PENDING]
    return world, instance


def snapshot(world: World, incident_id: str, instance: str, number: int, state: str = "IDLE+DRAIN") -> SlurmSnapshot:
    node = world.cluster.by_id(instance)
    assert node is not None
    assert node.hostname is not None
    name = node.hostname.split(".")[0]
    reason = f"{REASON_PREFIX} {incident_id} NvidiaErrorTerminate" if "DRAIN" in state else ""
    return SlurmSnapshot(number, world.now, {name: SlurmNode(name, state, reason, (), instance)})


def test_a_question_is_taken_back_when_a_colleague_has_replaced_the_node_and_no_event_told() -> None:
    world, instance = asked()
    node = world.cluster.by_id(instance)
    assert node is not None
    world.cluster._repaired("replace", node)
    world.cluster.settle()
    assert kinds(world.reconcile()) == ["stale_question"]
    world.run(for_s=60)
    [approval] = world.approvals.records.values()
    assert approval.status is ApprovalStatus.OUTDATED
    assert "stands in the place of" in approval.why
    to_the_end(world)
    assert world.incident(instance).outcome is Outcome.SUPERSEDED
    assert world.cluster.calls == []


def test_an_answer_given_while_no_workflow_runs_counts() -> None:
    world, instance = asked()
    [question] = world.told(NoticeKind.APPROVAL_ASKED)
    world.stop(world.incident(instance).incident_id)
    assert "Noted" in world.click(question, "approve")
    to_the_end(world)
    assert world.incident(instance).outcome is Outcome.REPAIRED
    assert [c.operation for c in world.cluster.calls] == ["replace"]
    assert len(world.told(NoticeKind.APPROVAL_ASKED)) == 1


def test_silence_while_no_workflow_runs_is_silence() -> None:
    world, instance = asked()
    world.stop(world.incident(instance).incident_id)
    world.clock.advance(2 * 3600)
    assert kinds(world.reconcile()) == ["late_question", "no_workflow"]
    to_the_end(world)
    assert world.incident(instance).outcome is Outcome.EXPIRED
    assert world.cluster.calls == []


def test_a_drain_that_was_never_taken_back_is_taken_back_once_a_snapshot_shows_it() -> None:
    world = REPAIRS["replace"]()
    instance = worker(world, 3)
    deliver(world, health(world, instance))
    to_the_end(world)
    [incident] = world.incidents.records.values()
    now_there = incident.current_instance_id
    assert now_there is not None
    world.agent.commands.clear()
    world.control.keep_snapshot("train", snapshot(world, incident.incident_id, now_there, 1))
    assert kinds(world.reconcile()) == ["our_drain"]
    [command] = world.agent.commands
    assert (command.verb, command.instance_id) == (Verb.RESUME, now_there)
    world.clock.advance(60)
    world.control.keep_snapshot("train", snapshot(world, incident.incident_id, now_there, 2, "IDLE"))
    assert kinds(world.reconcile()) == []
    world.clock.advance(3600)
    world.control.keep_snapshot("train", replace(snapshot(world, "inc-unknown-1", now_there, 3), taken_at=world.now))
    assert kinds(world.reconcile(), "shown") == ["strange_drain"]


def test_a_canary_whose_workflow_died_at_the_very_end_is_settled() -> None:
    world = REPAIRS["replace"]()
    instance = worker(world, 3)
    deliver(world, health(world, instance))
    world.run(for_s=700)
    begun = world.now - timedelta(seconds=300)
    to_the_end(world)
    world.breaker.records["train"] = BreakerState(BreakerStatus.HALF_OPEN, begun, "many", canary=instance, version=9)
    assert kinds(world.reconcile()) == ["canary_ended"]
    assert world.breaker.load("train").status is BreakerStatus.CLOSED
    assert kinds(world.reconcile()) == []


def test_claims_of_an_incident_that_has_ended_get_their_end() -> None:
    world = REPAIRS["replace"]()
    deliver(world, health(world, worker(world, 3)))
    to_the_end(world)
    [entry] = world.ledger.records.values()
    world.ledger.records[entry.action_id] = replace(entry, state=LedgerState.CLAIMED)
    assert kinds(world.reconcile()) == ["open_entry"]
    assert world.ledger.records[entry.action_id].state is LedgerState.CONFIRMED


def test_what_cannot_be_read_is_said_and_keeps_nothing_else_from_being_mended() -> None:
    world = house(ladder=REPLACE)
    instance = worker(world, 3)
    deliver(world, health(world, instance))
    world.run(for_s=60)
    world.stop(world.incident(instance).incident_id)
    world.clock.advance(300)
    world.cluster.fail_next_read(Throttled("slow down"))
    world.breaker.fail_next(StoreFailure("the table is away"))
    said = world.reconcile()
    assert said["unread"] == ["HyperPod", "breaker"]
    assert kinds(said) == ["no_workflow"]


def test_what_step_functions_does_not_tell_is_left_to_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    world = house(ladder=REPLACE)
    for number in (3, 4):
        deliver(world, health(world, worker(world, number)))
    world.run(for_s=60)
    for name in list(world.executions):
        world.stop(name)
    world.clock.advance(300)
    real, told = world.status, [0]

    def status(state_machine: str, name: str) -> ExecutionState | None:
        told[0] += 1
        if told[0] > 3:
            raise Throttled("slow down")
        return real(state_machine, name)

    with monkeypatch.context() as patch:
        patch.setattr(world, "status", status)
        said = world.reconcile()
        assert (said["mended"], said["unread"]) == ([], ["some executions"])
        told[0] = -10
        assert kinds(world.reconcile()) == ["no_workflow", "no_workflow"]
    assert len(world.executions) == 4


def test_a_drain_of_an_incident_of_long_ago_is_no_stranger() -> None:
    world = house(ladder=(Rung.HUMAN,))
    instance = worker(world, 3)
    deliver(world, health(world, instance))
    to_the_end(world)
    [incident] = world.incidents.records.values()
    assert incident.outcome is Outcome.ESCALATED
    world.clock.advance(40 * 86400)
    world.control.keep_snapshot("train", snapshot(world, incident.incident_id, instance, 1))
    assert kinds(world.reconcile(), "shown") == []


def test_one_that_fails_does_not_keep_the_others_from_being_mended() -> None:
    world, instance = asked()
    world.stop(world.incident(instance).incident_id)
    world.clock.advance(2 * 3600)
    world.settle.broken = True
    with pytest.raises(Exception, match="the settle queue is away"):
        world.reconcile()
    assert len(world.executions) == 2, "the workflow was begun all the same"
    world.settle.broken = False
    to_the_end(world)
    assert world.incident(instance).outcome is Outcome.EXPIRED


@pytest.mark.parametrize("at_h", [0.5, 23, 24.5], ids=["long before", "drained", "in its window"])
def test_a_stopped_workflow_of_a_maintenance_goes_on_with_its_own_machine(at_h: float) -> None:
    world = maintained()
    node = worker(world, 3)
    assert world.take(message(world, [node])) == []
    world.run(for_s=at_h * 3600)
    world.clock.at = T0 + timedelta(hours=at_h)
    [first] = world.executions.values()
    world.stop(first.name)
    to_the_end(world)
    assert [e.machine for e in world.executions.values()] == ["maintain_node", "maintain_node"]
    assert windows_of(world, node)[-1].outcome is Outcome.RETURNED
    assert [c.verb for c in world.agent.commands][-1] is Verb.RESUME
    assert world.cluster.calls == []
