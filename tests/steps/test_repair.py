"""Repairs from the first signal to the end: what HyperPod, people and others do meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from roundhouse.contracts.commands import Verb
from roundhouse.contracts.ledger import LedgerState
from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import StoreFailure, Throttled, Unavailable
from roundhouse.line.incident import Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Mode
from roundhouse.line.state import NodeStatus, Pause
from roundhouse.ports import BatchAnswer
from tests.build import samples
from tests.steps.asl import Execution
from tests.steps.samples import health, house, worker
from tests.steps.world import ALICE, World

REPLACE = (Rung.REPLACE, Rung.HUMAN)
DELETE = (Rung.DELETE_RESTORE, Rung.HUMAN)


def answering(choice: str, after_s: float = 60) -> Callable[[Notice], tuple[str, float] | None]:
    return lambda notice: (choice, after_s)


def fail(world: World, number: int = 3) -> str:
    """HyperPod reports worker `number`; its instance id."""
    instance = worker(world, number)
    assert world.take(health(world, instance)) == []
    return instance


def the(world: World) -> Execution:
    [execution] = world.executions.values()
    return execution


def repair_calls(world: World) -> list[str]:
    return [call.operation for call in world.cluster.calls if call.operation != "add"]


def verbs(world: World) -> list[tuple[str, str]]:
    return [(command.verb.value, command.instance_id) for command in world.agent.commands]


def outcome(world: World, instance: str) -> Outcome | None:
    return world.incident(instance).outcome


def heir(world: World, instance: str) -> str:
    """The instance that stands where `instance` stood."""
    logical = world.incident(instance).logical_id
    return next(n.instance_id or "" for n in world.cluster.nodes if n.logical_id == logical)


# HyperPod's answers ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("ladder", [(Rung.REBOOT, Rung.HUMAN), REPLACE, DELETE], ids=lambda each: each[0].value)
def test_lost_answer_is_judged_by_live_state_and_never_called_twice(ladder: tuple[Rung, ...]) -> None:
    world = house(ladder=ladder)
    world.cluster.lose_next_answer()
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED, world.incident(instance)
    assert len(repair_calls(world)) == 1
    assert world.running() == world.cluster.groups["workers"].target == 20


def test_call_that_never_arrived_is_made_again_after_a_while() -> None:
    world = house(ladder=REPLACE)
    world.cluster.fail_next(Unavailable("time-out, and nothing happened"))
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED
    assert len(repair_calls(world)) == 2
    states = sorted(entry.state for entry in world.ledger.records.values())
    assert states == [LedgerState.CONFIRMED, LedgerState.FAILED]


def test_throttled_call_is_made_again() -> None:
    world = house(ladder=REPLACE)
    world.cluster.fail_next(Throttled("slow down"))
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED


def _refusing(world: World, code: str, times: int) -> None:
    real, left = world.cluster.replace, [times]

    def replace_nodes(name: str, instance_ids: Any) -> BatchAnswer:
        if left[0]:
            left[0] -= 1
            return BatchAnswer((), dict.fromkeys(instance_ids, (code, "said HyperPod")))
        return real(name, instance_ids)

    world.cluster.replace = replace_nodes  # type: ignore[method-assign]


def test_inner_fault_of_hyperpod_is_tried_again() -> None:
    world = house(ladder=REPLACE)
    _refusing(world, "InternalServerError", 3)
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED


def test_inner_fault_that_lasts_ends_with_people() -> None:
    world = house(ladder=REPLACE)
    _refusing(world, "InternalServerError", 10**9)
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.ESCALATED
    assert "InternalServerError" in world.told(NoticeKind.INCIDENT_CLOSED)[0].text
    assert verbs(world) == [("cordon", instance)]


def test_refusal_that_nobody_knows_ends_with_people() -> None:
    world = house(ladder=REPLACE)
    _refusing(world, "SomethingNew", 1)
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.ESCALATED
    assert repair_calls(world) == []


def test_already_in_hand_is_watched_and_proved_like_our_own() -> None:
    world = house(ladder=REPLACE)
    _refusing(world, "InstanceIdInUse", 1)
    instance = fail(world)
    done: list[bool] = []

    def theirs() -> None:
        if not done and world.ledger.records:
            done.append(True)
            world.cluster._repaired("replace", world.cluster.nodes[world.cluster._at(instance)])

    world.each_moment = theirs
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED
    assert repair_calls(world) == []
    assert verbs(world)[-1] == ("resume", heir(world, instance))


# Rungs -----------------------------------------------------------------------------------------------------------
def test_reboot_that_does_not_help_leads_to_the_next_rung() -> None:
    world = house()
    instance = fail(world)
    told: list[bool] = []

    def still_bad() -> None:
        if world.cluster.made("reboot") and not told and world.state() == "WaitBeforeProving":
            told.append(True)
            world.cluster.tell("the node is unhealthy", level="Error", instance_id=instance, group="workers")

    world.each_moment = still_bad
    world.run()
    assert repair_calls(world) == ["reboot", "replace"]
    assert outcome(world, instance) is Outcome.REPAIRED
    assert [a.result for a in world.incident(instance).attempts] == ["failed", "proved"]


def test_last_rung_that_does_not_help_ends_with_people_and_the_node_stays_drained() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)

    def bad_again() -> None:
        if world.state() == "WaitBeforeProving":
            new = heir(world, instance)
            world.cluster.tell("Lifecycle script failed", level="Error", instance_id=new, group="workers")

    world.each_moment = bad_again
    world.run()
    assert outcome(world, instance) is Outcome.ESCALATED
    assert Verb.RESUME not in {command.verb for command in world.agent.commands}
    assert len(world.told(NoticeKind.INCIDENT_CLOSED)) == 1


def test_node_that_nobody_sees_again_is_not_proved_and_stays_drained() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    world.each_moment = lambda: (
        setattr(world.cluster, "events", _unreadable) if world.state() == "WaitBeforeProving" else None
    )
    world.run()
    assert outcome(world, instance) is Outcome.ESCALATED
    assert world.incident(instance).attempts[-1].result == "inconclusive"
    assert Verb.RESUME not in {command.verb for command in world.agent.commands}


def _unreadable(*_: object, **__: object) -> None:
    raise Unavailable("503")


def test_node_replaced_by_others_while_we_reboot_it_is_not_waited_for() -> None:
    world = house(ladder=(Rung.REBOOT, Rung.HUMAN))
    instance = fail(world)
    done: list[bool] = []

    def others() -> None:
        if world.cluster.made("reboot") and not done:
            done.append(True)
            world.cluster._repaired("replace", world.cluster.nodes[world.cluster._at(instance)])

    world.each_moment = others
    before = world.now
    world.run()
    assert outcome(world, instance) is Outcome.SUPERSEDED
    assert verbs(world)[-1] == ("resume", heir(world, instance))
    assert world.now - before < timedelta(minutes=30)


# Delete and restore ----------------------------------------------------------------------------------------------
def test_deleted_node_is_added_again_exactly_once() -> None:
    world = house(ladder=DELETE)
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED
    assert len(world.cluster.made("add")) == 1
    assert world.running() == world.cluster.groups["workers"].target == world.cluster.highest["workers"] == 20


def test_lost_answer_of_the_addition_adds_no_second_node() -> None:
    world = house(ladder=DELETE)
    world.each_moment = lambda: (
        world.cluster.lose_next_answer()
        if world.cluster.made("delete_nodes") and not world.cluster.made("add") and not world.cluster._failures
        else None
    )
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED
    assert len(world.cluster.made("add")) == 1, "the count is whole: nothing is called again"
    assert world.cluster.highest["workers"] == world.running() == 20


def test_count_that_a_person_restored_first_is_left_and_the_workflow_ends() -> None:
    world = house(ladder=DELETE)
    instance = fail(world)

    def person() -> None:
        if world.cluster.groups["workers"].target == 19:
            world.cluster.add("train", "workers", 1, "by-hand")

    world.each_moment = person
    before = world.now
    world.run()
    assert world.cluster.made("add") == [("workers", 1, "by-hand")]
    assert world.running() == world.cluster.highest["workers"] == 20
    assert outcome(world, instance) is Outcome.SUPERSEDED
    assert world.now - before < timedelta(hours=1)


# The discount of the new node ------------------------------------------------------------------------------------
def test_new_node_that_lost_its_discount_serves_and_people_are_told() -> None:
    world = house(ladder=REPLACE)
    world.cluster.on_demand.add("workers")
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.ESCALATED
    assert verbs(world)[-1] == ("resume", heir(world, instance))
    [said] = world.told(NoticeKind.INCIDENT_CLOSED)
    assert "LOST" in said.text


def test_group_unknown_to_the_environment_is_repaired_all_the_same() -> None:
    world = house(ladder=REPLACE)
    world.settings.spec = replace(world.spec, groups=(samples.CONTROLLER,))
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED


# Guards ----------------------------------------------------------------------------------------------------------
def test_observe_sends_no_command_and_says_what_would_have_been_done() -> None:
    world = house(mode=Mode.OBSERVE)
    instance = fail(world)
    world.run()
    assert world.agent.commands == []
    assert world.cluster.calls == []
    assert outcome(world, instance) is Outcome.OBSERVED
    [said] = world.outbox.notices
    assert "Would have been done" in said.text
    assert "reboot" in said.text


@pytest.mark.parametrize("now", ["Running", "Failure", "not listed"])
def test_controller_is_left_to_people_with_the_steps(now: str) -> None:
    world = house()
    [controller] = [n.instance_id or "" for n in world.cluster.nodes if n.group == "controller"]
    world.take(health(world, controller))
    if now == "not listed":
        world.cluster.nodes = [n for n in world.cluster.nodes if n.instance_id != controller]
    else:
        world.cluster.set_status(controller, NodeStatus(now))
    world.run()
    [said] = world.outbox.notices
    assert said.kind is NoticeKind.CONTROLLER_LOST
    assert "Support case" in said.text
    assert world.agent.commands == []
    assert world.cluster.calls == []


def test_pause_holds_and_an_expired_hold_is_told() -> None:
    world = house()
    world.control.set_pause(Pause(ALICE, "moving racks", world.now))
    instance = fail(world)
    world.run()
    assert world.agent.commands == []
    assert world.cluster.calls == []
    assert outcome(world, instance) is Outcome.EXPIRED
    [said] = world.told(NoticeKind.INCIDENT_CLOSED)
    assert "moving racks" in said.text


def test_pause_that_is_lifted_lets_the_repair_go_on() -> None:
    world = house(ladder=REPLACE)
    world.control.set_pause(Pause(ALICE, "moving racks", world.now))
    world.later(1800, lambda: world.control.set_pause(None))
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED


@pytest.mark.parametrize("status", ["SystemUpdating", "Updating"])
def test_patching_suspends_the_repair(status: str) -> None:
    world = house(ladder=REPLACE)
    world.people = answering("approve")  # of a node that may have been patched since the last bad news they are asked
    world.cluster.status = status
    made: list[bool] = []
    world.each_moment = lambda: made.append(True) if world.cluster.calls and world.cluster.status == status else None
    world.later(1800, lambda: setattr(world.cluster, "status", "InService"))
    instance = fail(world)
    world.run()
    assert made == []
    assert outcome(world, instance) is Outcome.REPAIRED


def test_breaker_that_cannot_be_read_holds() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    real = world.breaker.load
    world.breaker.load = _away  # type: ignore[method-assign]
    world.run(for_s=3600)
    assert world.agent.commands == []
    assert world.cluster.calls == []
    assert world.incident(instance).state == "held"
    world.breaker.load = real  # type: ignore[method-assign]
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED


def _away(cluster: str) -> Any:
    raise StoreFailure("the table is away")


@pytest.mark.parametrize("state", ["Cordon", "Act"])
def test_breaker_that_goes_away_in_mid_repair_holds_and_escalates_nothing(state: str) -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    inner, real = world.call, world.breaker.load
    function = {"Cordon": "command_agent", "Act": "act_on_node"}[state]
    broken: list[bool] = []

    def call(resource: str, arguments: dict[str, Any]) -> Any:
        if arguments.get("FunctionName") == function and not broken:
            broken.append(True)
            world.breaker.load = _away  # type: ignore[method-assign]
            world.later(1200, lambda: setattr(world.breaker, "load", real))
        return inner(resource, arguments)

    world.call = call  # type: ignore[method-assign]
    world.run()
    assert broken
    assert outcome(world, instance) is Outcome.REPAIRED
    assert len(repair_calls(world)) == 1


def test_hyperpod_that_cannot_be_read_stops_action_and_blindness_ends_with_people() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    real = world.cluster.events
    world.cluster.events = _unreadable  # type: ignore[assignment,method-assign]
    world.run(for_s=3600)
    assert world.cluster.calls == []
    assert world.agent.commands == []
    world.cluster.events = real  # type: ignore[method-assign]
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED


def test_node_whose_names_intake_did_not_know_is_found_and_restored() -> None:
    world = house(ladder=DELETE)
    instance = worker(world, 3)
    world.cluster.fail_next_read(Throttled("slow down"))
    world.take(health(world, instance))
    assert world.incident(instance).group is None
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED
    assert world.cluster.groups["workers"].target == 20
    assert all(command.slurm_name for command in world.agent.commands)


def test_jobs_get_the_whole_deadline_of_the_drain_however_long_people_took() -> None:
    from roundhouse.line.state import SlurmNode, SlurmSnapshot

    world = house(mode=Mode.ASK, ladder=REPLACE)
    world.people = answering("approve", 30)
    instance = fail(world)
    name = world.incident(instance).slurm_name or ""
    called: list[timedelta] = []

    def moment() -> None:
        node = SlurmNode(name, "MIXED+DRAIN", "roundhouse: x", (42,), instance)
        world.control._snapshots["train"] = SlurmSnapshot(1, world.now, {name: node})
        if world.cluster.calls and not called:
            [drain] = [s for s in world.incident(instance).steps if s.name == "drain"]
            called.append(world.now - drain.started_at)

    world.each_moment = moment
    world.run()
    assert called[0] >= timedelta(seconds=world.policy.drain_deadline_s)
