"""Maintenance beside others: people in Slurm, repairs of ours, crashes at every call, and messages in any order."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest

from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState, Outcome, incident_key
from roundhouse.line.policy import Mode, Rule
from roundhouse.line.state import NodeStatus, SlurmNode, SlurmSnapshot
from tests.steps.health import HOUR, maintained, message, windows_of
from tests.steps.samples import LADDER, health, worker
from tests.steps.test_repair import verbs
from tests.steps.world import T0, Gate, World

DAY = 24 * HOUR


class Slurm:
    """A Slurm that obeys the agent's commands as the agent shall, and reports at every moment."""

    def __init__(self, world: World) -> None:
        self.world, self.obeyed, self.sequence = world, 0, 0
        self.reasons: dict[str, str] = {}
        world.each_moment = self.report

    def report(self) -> None:
        for command in self.world.agent.commands[self.obeyed :]:
            name, mine = command.slurm_name or "", command.reason.split()[1]
            held = self.reasons.get(name, "")
            if command.verb.value == "cordon" and not held:
                self.reasons[name] = command.reason
            if command.verb.value == "resume" and held.split()[1:2] == [mine]:
                del self.reasons[name]
        self.obeyed = len(self.world.agent.commands)
        self.sequence += 1
        nodes = {}
        for node in self.world.cluster.nodes:
            name = (node.hostname or "").split(".")[0]
            reason = self.reasons.get(name, "")
            nodes[name] = SlurmNode(name, "DRAINED" if reason else "IDLE", reason, instance_id=node.instance_id)
        snapshot = SlurmSnapshot(self.sequence, self.world.now, nodes)
        self.world.control.keep_snapshot(self.world.spec.cluster, snapshot)

    def name(self, instance: str) -> str:
        node = self.world.cluster.by_id(instance)
        return (node.hostname or "").split(".")[0] if node else ""


def the(world: World, instance: str) -> Incident:
    return windows_of(world, instance)[-1]


def test_a_drain_of_somebody_else_is_neither_overwritten_nor_undone() -> None:
    world = maintained()
    slurm, node = Slurm(world), worker(world, 3)
    slurm.reasons[slurm.name(node)] = "fan broken, ticket 42"
    world.take(message(world, [node]))
    world.run()
    assert the(world, node).outcome is Outcome.IGNORED
    assert world.agent.commands == []
    assert slurm.reasons == {slurm.name(node): "fan broken, ticket 42"}


def test_a_drain_of_somebody_else_that_goes_in_time_makes_room_for_ours() -> None:
    world = maintained()
    slurm, node = Slurm(world), worker(world, 3)
    slurm.reasons[slurm.name(node)] = "ticket 42"
    world.later(23 * 3600, slurm.reasons.clear)
    world.take(message(world, [node]))
    world.run()
    assert the(world, node).outcome is Outcome.RETURNED
    assert slurm.reasons == {}


def test_people_who_take_our_drain_back_keep_the_node() -> None:
    world = maintained()
    slurm, node = Slurm(world), worker(world, 3)
    world.take(message(world, [node]))
    world.later(22.5 * 3600, slurm.reasons.clear)
    world.run()
    assert the(world, node).outcome is Outcome.IGNORED
    assert [v for v, _ in verbs(world)].count("cordon") == 1


def test_the_drain_in_slurm_is_gone_at_the_end_also_of_a_replaced_node() -> None:
    world = maintained()
    slurm, node = Slurm(world), worker(world, 3)
    name = slurm.name(node)
    world.take(message(world, [node]))
    found = world.cluster.by_id(node)
    assert found is not None
    world.later(24.2 * 3600, lambda: world.cluster._repaired("replace", found))
    world.run(for_s=24 * 3600)
    assert name in slurm.reasons
    world.run()
    assert the(world, node).outcome is Outcome.SUPERSEDED
    assert slurm.reasons == {}


@pytest.mark.parametrize("mode", [Mode.OBSERVE, Mode.ACT])
def test_a_repair_of_ours_on_the_node_comes_first(mode: Mode) -> None:
    world = maintained()
    world.policy.rules[CauseClass.HARDWARE] = Rule(mode, LADDER, grace_s=120)
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.later(22.2 * 3600, lambda: world.take(health(world, node)))
    world.later(22.2 * 3600, lambda: world.cluster.set_status(node, NodeStatus.FAILURE))
    world.later(26 * 3600, lambda: world.cluster.set_status(node, NodeStatus.RUNNING))
    world.run(for_s=3 * DAY.total_seconds())
    mine = the(world, node)
    assert mine.state is IncidentState.CLOSED
    repair = world.incidents.records[incident_key(world.spec.cluster, node, CauseClass.HARDWARE, 1)]
    if mode is Mode.OBSERVE:
        assert repair.outcome is Outcome.OBSERVED
        assert mine.outcome is Outcome.RETURNED
        return
    assert repair.closed_at is not None
    assert mine.closed_at is not None
    assert mine.closed_at >= repair.closed_at, "the drain of the maintenance stayed until the repair was over"
    assert mine.outcome in {Outcome.RETURNED, Outcome.SUPERSEDED}


def test_no_repair_of_ours_begins_while_aws_works_on_the_node() -> None:
    world = maintained()
    world.policy.rules[CauseClass.HARDWARE] = Rule(Mode.ACT, LADDER, grace_s=120)
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.later(24.2 * 3600, lambda: world.take(health(world, node)))
    world.later(24.2 * 3600, lambda: world.cluster.set_status(node, NodeStatus.FAILURE))
    world.later(24.8 * 3600, lambda: world.cluster.set_status(node, NodeStatus.RUNNING))
    world.later(24.9 * 3600, lambda: world.take(health(world, node, "Healthy")))
    world.run(for_s=3 * DAY.total_seconds())
    repair = world.incidents.records[incident_key(world.spec.cluster, node, CauseClass.HARDWARE, 1)]
    assert (repair.outcome, world.cluster.calls) == (Outcome.RECOVERED, [])
    assert the(world, node).outcome is Outcome.RETURNED


def test_a_repair_begins_once_the_window_is_over() -> None:
    world = maintained()
    world.policy.rules[CauseClass.HARDWARE] = Rule(Mode.ACT, LADDER, grace_s=120)
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.later(24.2 * 3600, lambda: world.take(health(world, node)))
    world.later(24.2 * 3600, lambda: world.cluster.set_status(node, NodeStatus.FAILURE))
    called: list[timedelta] = []
    world.each_moment = lambda: called.append(world.now - T0) if world.cluster.calls and not called else None
    world.run(for_s=3 * DAY.total_seconds())
    assert called
    assert 25 * HOUR <= called[0] <= 26 * HOUR
    assert the(world, node).state is IncidentState.CLOSED


def test_a_healthy_event_ends_no_maintenance() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.run(for_s=3600)
    world.take(health(world, node, "Healthy"))
    world.run()
    assert the(world, node).outcome is Outcome.RETURNED
    assert len(the(world, node).evidence) == 1


# Crashes ---------------------------------------------------------------------------------------------------------
def play(world: World) -> str:
    """One node through its window, with the messages and their copies."""
    node = worker(world, 3)
    told = message(world, [node])
    failed = world.take(told)
    if failed:
        world.take(told)  # the queue brings it again
    world.run()
    return node


def calls_of_a_life() -> int:
    world = maintained(size=4)
    play(world)
    return len(world.gate.calls)


@pytest.mark.parametrize("after", [False, True])
def test_a_process_that_dies_at_any_call_changes_nothing_in_the_end(after: bool) -> None:
    calls = calls_of_a_life()
    assert calls > 100
    chance = random.Random(7)
    for die_at in sorted({*range(1, 40), *chance.sample(range(40, calls), 40)}):
        world = maintained(size=4)
        world.gate = Gate(die_at=die_at, after=after)
        try:
            node = play(world)
        except BaseException as death:
            if type(death).__name__ != "Died":
                raise
            node = worker(world, 3)
            world.take(message(world, [node]))  # intake died: the queue brings the message again
            world.run()
        found = windows_of(world, node)
        where = f"dies {world.gate.died}"
        assert [i.outcome for i in found] == [Outcome.RETURNED], where
        ids = [c.command_id for c in world.agent.commands]
        assert len(set(ids)) == 2, where
        assert {v for v, _ in verbs(world)} == {"cordon", "resume"}, where
        assert verbs(world)[-1][0] == "resume", where
        assert len({n.notice_id for n in world.told(NoticeKind.MAINTENANCE)}) == 1, where
        assert world.cluster.calls == [], where


# Order -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(12))
def test_whatever_the_order_and_repetition_the_end_is_the_same(seed: int) -> None:
    chance = random.Random(seed)
    world = maintained()
    nodes = [worker(world, n) for n in range(3)]
    first = [message(world, [n], page=p, pages=3) for p, n in enumerate(nodes, 1)]
    later = world.now + timedelta(minutes=1)
    moved: dict[str, Any] = {"starts": 30 * HOUR, "ends": 31 * HOUR, "communication": "c-2", "at": later}
    second = [message(world, [n], page=p, pages=3, **moved) for p, n in enumerate(nodes, 1)]
    off: dict[str, Any] = {**moved, "communication": "c-3", "event": "x2", "status": "closed"}
    everything = [*first, *second, message(world, nodes[:1], **off)] * 2
    chance.shuffle(everything)
    for each in everything:
        world.later(chance.uniform(60, 3600), lambda each=each: world.take(each))
    world.run()
    for node in nodes:
        [found] = windows_of(world, node)
        assert found.outcome is Outcome.RETURNED
    assert sorted(verbs(world)) == sorted((v, n) for v in ("cordon", "resume") for n in nodes)
    for command in world.agent.commands[:3]:
        assert abs(command.issued_at - (T0 + 28 * HOUR)) < timedelta(minutes=1), "all for the new time"
