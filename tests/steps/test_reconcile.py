"""The reconciler on the whole line: what was stopped, lost or forgotten goes on, and nothing is done twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.incident import IncidentState, Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.state import NodeStatus, Pause
from tests.steps.asl import Died
from tests.steps.reconciled import kinds, to_the_end
from tests.steps.samples import health, house, worker
from tests.steps.test_repair_crashes import ENDS, REPAIRS, SIZE, deliver
from tests.steps.world import World

REPLACE = (Rung.REPLACE, Rung.HUMAN)
CHOICES = {"Verdict", "Closed", "Done", "ApprovalNeeded", "Answer", "Acted", "NodeBack", "Proved"}
TOUCHED = {"reboot", "replace", "delete and restore", "asked"}


def fail(world: World, number: int = 3) -> str:
    """HyperPod reports worker `number`; its instance id."""
    instance = worker(world, number)
    assert world.take(health(world, instance)) == []
    return instance


def stopping_at(world: World, state: str, times: int = 1) -> Callable[[], int]:
    """StopExecution when an execution is at `state`, so often: while it waits there, or while the task's function is
    at work, which ends all the same. How often it was by now."""
    stopped = [0]
    real = world.call

    def look() -> None:
        for execution in list(world.executions.values()):
            if execution.status == "RUNNING" and execution.visited and execution.visited[-1] == state:
                if stopped[0] < times:
                    stopped[0] += 1
                    world.stop(execution.name)

    def call(resource: str, arguments: dict[str, Any]) -> Any:
        try:
            return real(resource, arguments)
        finally:
            look()

    world.each_moment, world.call = look, call  # type: ignore[method-assign]
    return lambda: stopped[0]


def sound(world: World, kind: str, said: object) -> None:
    [incident] = world.incidents.records.values()
    assert incident.outcome is ENDS.get(kind, Outcome.REPAIRED), (said, incident)
    calls = Counter(c.operation for c in world.cluster.calls if c.operation != "add")
    assert sum(calls.values()) == (1 if kind in TOUCHED else 0), (said, calls)
    assert world.running() == world.cluster.groups["workers"].target == SIZE, said
    assert world.cluster.highest["workers"] <= SIZE, said
    assert len(world.told(NoticeKind.INCIDENT_CLOSED)) == (1 if kind in ENDS or kind in TOUCHED else 0), said
    assert all(step.ended_at for step in incident.steps), said


def states_of(kind: str) -> list[str]:
    """Every state that such a repair goes through, in order, once."""
    world = REPAIRS[kind]()
    deliver(world, health(world, worker(world, 3)))
    world.run()
    [execution] = world.executions.values()
    return list(dict.fromkeys(execution.visited))


@pytest.mark.parametrize("kind", REPAIRS)
def test_a_workflow_is_stopped_at_any_state_and_goes_on(kind: str) -> None:
    for state in states_of(kind):
        world = REPAIRS[kind]()
        count = stopping_at(world, state)
        deliver(world, health(world, worker(world, 3)))
        to_the_end(world)
        assert count() == (state not in CHOICES), state  # a choice takes no time: nobody can stop it there
        sound(world, kind, state)


def test_a_workflow_that_is_stopped_again_and_again_is_left_to_people() -> None:
    world = house(ladder=REPLACE)
    count = stopping_at(world, "WaitForNode", times=100)
    instance = fail(world)
    to_the_end(world)
    incident = world.incident(instance)
    assert incident.outcome is Outcome.ESCALATED
    assert "begun again 3 times" in incident.decision
    assert count() == 4
    assert [c.operation for c in world.cluster.calls] == ["replace"]
    [told] = world.told(NoticeKind.INCIDENT_CLOSED)
    assert "who stopped its workflow" in told.text


def test_restarts_of_other_days_do_not_count() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    world.run(for_s=150)
    [first] = world.executions
    for _ in range(5):
        for name in [e.name for e in world.executions.values() if e.status == "RUNNING"]:
            world.stop(name)
        world.clock.advance(9 * 3600)
        assert kinds(world.reconcile()) == ["no_workflow"]
    assert list(world.executions)[-1] == f"{first}-r5"
    world.run()
    assert world.incident(instance).outcome in {Outcome.REPAIRED, Outcome.EXPIRED, Outcome.ESCALATED}


def test_news_begin_a_stopped_workflow_again_too() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    world.run(for_s=60)
    world.stop(world.incident(instance).incident_id)
    deliver(world, health(world, instance))
    assert len(world.executions) == 1, "in the first minutes nobody asks"
    world.clock.advance(120)
    deliver(world, health(world, instance))
    world.run()
    assert world.incident(instance).outcome is Outcome.REPAIRED
    assert len(world.executions) == 2


def test_a_workflow_that_never_began_is_begun_under_its_own_name() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    world.executions.clear()
    world.clock.advance(300)
    assert kinds(world.reconcile()) == ["no_workflow"]
    assert list(world.executions) == [world.incident(instance).incident_id]
    assert world.incident(instance).restarts == ()
    to_the_end(world)
    assert world.incident(instance).outcome is Outcome.REPAIRED


def test_while_paused_nothing_is_begun() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    world.run(for_s=60)
    world.stop(world.incident(instance).incident_id)
    world.cluster.set_status(worker(world, 7), NodeStatus.FAILURE)
    world.control.set_pause(Pause("U0ALICE", "moving racks", world.now))
    world.clock.advance(300)
    said = world.reconcile()
    assert (kinds(said), kinds(said, "left")) == ([], ["no_workflow", "lost_signal"])
    assert (len(world.executions), said["paused"]) == (1, True)
    world.control.set_pause(None)
    assert kinds(world.reconcile()) == ["no_workflow", "lost_signal"]


def test_two_at_once_begin_one() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    world.run(for_s=60)
    world.stop(world.incident(instance).incident_id)
    world.clock.advance(300)
    world.reconcile()
    world.incidents.records[world.incident(instance).incident_id] = world.incident(instance)
    world.reconcile()
    assert len(world.executions) == 2
    assert len(world.incident(instance).restarts) == 1


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_the_reconciler_is_killed_at_any_call_and_runs_again(after: bool) -> None:
    def stopped() -> World:
        world = REPAIRS["delete and restore"]()
        deliver(world, health(world, worker(world, 3)))
        stopping_at(world, "WaitForNode")
        world.run(for_s=600)
        world.each_moment = lambda: None
        world.clock.advance(900)
        world.cluster.settle()
        return world

    counting = stopped()
    begun = len(counting.gate.calls)
    counting.reconcile()
    calls = len(counting.gate.calls) - begun
    assert calls > 5
    for point in range(1, calls + 1):
        world = stopped()
        world.gate.die_at, world.gate.after = len(world.gate.calls) + point, after
        with pytest.raises(Died):
            world.reconcile()
        to_the_end(world)
        sound(world, "delete and restore", world.gate.died)
        [incident] = world.incidents.records.values()
        assert len(incident.restarts) == 1


def test_a_node_whose_message_was_lost_is_taken_up() -> None:
    world = house(ladder=REPLACE)
    instance = worker(world, 5)
    fault = "HMA has detected fault type NvidiaErrorTerminate on this node and is unhealthy."
    world.cluster.set_status(instance, NodeStatus.FAILURE, fault)
    assert kinds(world.reconcile()) == ["lost_signal"]
    assert kinds(world.reconcile()) == ["lost_signal"]  # two runs before the line has taken the first message
    to_the_end(world)
    incident = world.incident(instance)
    assert (incident.outcome, incident.code, incident.trusted) == (Outcome.REPAIRED, "NvidiaErrorTerminate", True)
    assert [c.operation for c in world.cluster.calls] == ["replace"]


def test_a_node_in_failure_for_a_reason_that_nobody_knows_is_shown_once_a_day() -> None:
    world = house(ladder=REPLACE)
    world.cluster.set_status(worker(world, 5), NodeStatus.FAILURE)
    end = world.now + timedelta(hours=23)
    while world.now < end:
        world.reconcile()
        world.run(for_s=1800)
        world.clock.advance(1800)
    [incident] = world.incidents.records.values()
    assert incident.outcome is Outcome.ESCALATED
    assert world.cluster.calls == []


def test_a_signal_of_ours_changes_nothing_once_the_node_runs_again() -> None:
    world = house(ladder=REPLACE)
    instance = worker(world, 5)
    world.cluster.set_status(instance, NodeStatus.FAILURE, "GPU fell off")
    world.reconcile()
    world.cluster.set_status(instance, NodeStatus.RUNNING)
    to_the_end(world)
    assert world.incidents.records == {}


def test_a_controller_that_is_not_listed_is_told_to_people_with_the_steps() -> None:
    world = house(ladder=REPLACE)
    gone = [n for n in world.cluster.nodes if n.group == "controller"]
    world.cluster.nodes = [n for n in world.cluster.nodes if n.group != "controller"]
    assert kinds(world.reconcile()) == ["no_controller"]
    to_the_end(world)
    [incident] = world.incidents.records.values()
    assert incident.outcome is Outcome.ESCALATED
    assert len(world.told(NoticeKind.CONTROLLER_LOST)) == 1
    world.cluster.nodes += gone
    assert kinds(world.reconcile()) == []


def test_a_controller_that_one_list_omits_is_told_to_nobody() -> None:
    world = house(ladder=REPLACE)
    gone = [n for n in world.cluster.nodes if n.group == "controller"]
    world.cluster.nodes = [n for n in world.cluster.nodes if n.group != "controller"]
    world.reconcile()
    world.later(30, lambda: world.cluster.nodes.extend(gone))
    to_the_end(world)
    assert [i.outcome for i in world.incidents.records.values()] in ([], [Outcome.RECOVERED])
    assert world.told(NoticeKind.CONTROLLER_LOST) == []


def test_a_count_below_the_contract_is_shown_once_a_day() -> None:
    world = house(ladder=REPLACE)
    world.cluster.delete_nodes("train", [worker(world, 2)])
    world.cluster.settle()
    for _ in range(3):
        said = world.reconcile()
        assert kinds(said, "shown") == ["below_contract"]
        world.clock.advance(900)
    [told] = world.told(NoticeKind.DIFFERENCES)
    assert "19 nodes and the contract has 20" in told.text
    world.clock.advance(86400)
    world.reconcile()
    assert len(world.told(NoticeKind.DIFFERENCES)) == 2


def test_incident_that_closes_between_two_looks_is_left_alone() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    world.run()
    assert world.incident(instance).state is IncidentState.CLOSED
    assert world.reconcile() == {
        "mended": [], "shown": [], "left": [], "failed": [], "unread": [], "paused": False
    }  # fmt: skip
