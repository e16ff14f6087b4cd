"""Many nodes at once: one message, no touch, recoveries pass, one canary; also while processes die."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.breaker import BreakerStatus
from roundhouse.line.incident import IncidentState, Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import BreakerLimits, Mode
from roundhouse.line.state import NodeStatus
from tests.steps.asl import Died
from tests.steps.samples import health, house, worker
from tests.steps.world import World

REPLACE = (Rung.REPLACE, Rung.HUMAN)
MANY = 20


def outage(world: World, nodes: int = MANY) -> list[str]:
    """So many workers fail at once; their instance ids."""
    instances = [worker(world, number) for number in range(nodes)]
    for start in range(0, nodes, 10):
        assert world.take(*(health(world, each) for each in instances[start : start + 10])) == []
    return instances


def heal(world: World, instances: list[str]) -> None:
    world.clock.advance(1)
    for start in range(0, len(instances), 10):
        assert world.take(*(health(world, each, "Healthy") for each in instances[start : start + 10])) == []


def untouched(world: World) -> None:
    assert world.agent.commands == []
    assert world.cluster.calls == []


@pytest.mark.parametrize("mode", [Mode.ACT, Mode.ASK])
def test_outage_opens_the_breaker_once_and_nothing_is_touched(mode: Mode) -> None:
    world = house(size=64, mode=mode)
    outage(world)
    world.run(for_s=3000)
    untouched(world)
    assert [n.kind for n in world.outbox.notices] == [NoticeKind.BREAKER_OPENED]
    assert {i.state for i in world.incidents.records.values()} == {IncidentState.HELD}


def test_recovery_closes_incidents_and_breaker_with_one_message() -> None:
    world = house(size=64)
    instances = outage(world)
    world.later(1500, lambda: heal(world, instances))
    world.run()
    untouched(world)
    assert {i.outcome for i in world.incidents.records.values()} == {Outcome.RECOVERED}
    assert world.breaker.load("train").status is BreakerStatus.CLOSED
    assert [n.kind for n in world.outbox.notices] == [NoticeKind.BREAKER_OPENED, NoticeKind.BREAKER_CLOSED]
    opened, closed = world.outbox.notices
    assert opened.thread == closed.thread


def test_second_outage_is_told_again() -> None:
    world = house(size=64)
    instances = outage(world)
    world.later(1500, lambda: heal(world, instances))
    world.run()
    world.clock.advance(86400)
    instances = outage(world)
    world.later(1500, lambda: heal(world, instances))
    world.run()
    assert [n.kind for n in world.outbox.notices] == [NoticeKind.BREAKER_OPENED, NoticeKind.BREAKER_CLOSED] * 2


def test_held_decisions_expire_quietly_when_the_canary_fails() -> None:
    world = house(size=64, ladder=REPLACE)
    outage(world)
    world.nodes_boot = False  # the canary never comes back
    world.run()
    made = world.cluster.made("replace")
    assert len(made) <= 2
    assert len(world.told(NoticeKind.INCIDENT_CLOSED)) <= len(made)
    assert all(i.state is IncidentState.CLOSED for i in world.incidents.records.values())


def test_canary_that_is_proved_closes_the_breaker_and_the_others_follow_within_limits() -> None:
    limits = BreakerLimits(
        open_s=1200, hold_expiry_s=86400, short_max=30, group_short_max=30, day_max=30, short_percent=50, day_percent=80
    )
    world = house(size=64, ladder=REPLACE, breaker=limits)
    instances = outage(world, 8)
    away: list[int] = []

    def watch() -> None:
        if world.breaker.load("train").status is not BreakerStatus.CLOSED:
            away.append(len(world.cluster.made("replace")))

    world.each_moment = watch
    world.run()
    assert max(away) == 1
    assert {world.incident(each).outcome for each in instances} == {Outcome.REPAIRED}
    assert len(world.cluster.made("replace")) == 8
    assert [n.kind for n in world.outbox.notices if "breaker" in n.kind] == ["breaker_opened", "breaker_closed"]


def test_canary_of_a_second_rung_is_known_by_its_new_instance() -> None:
    """A node that is proved although its discount is lost has come back: the breaker closes."""
    limits = BreakerLimits(open_s=600, hold_expiry_s=86400, short_percent=50, day_percent=80)
    world = house(size=64, ladder=REPLACE, breaker=limits)
    world.cluster.on_demand.add("workers")
    outage(world, 6)
    world.run(for_s=3600)
    first = next(i for i in world.incidents.records.values() if i.outcome is Outcome.ESCALATED)
    assert first.attempts[-1].result == "proved"
    assert world.told(NoticeKind.BREAKER_CLOSED)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_one_opening_and_one_closing_are_told_whenever_a_process_dies(after: bool) -> None:
    nodes = 6

    def play(point: int | None) -> World:
        world = house(size=24)
        world.gate.die_at, world.gate.after = point, after
        instances = [worker(world, number) for number in range(nodes)]
        for status, wait in (("Unhealthy", 300), ("Healthy", 3000)):
            world.clock.advance(1)
            for envelope in [health(world, each, status) for each in instances]:
                for _ in range(2):
                    try:
                        world.take(envelope)
                        break
                    except Died:
                        continue
            world.run(for_s=wait)
        world.run()
        return world

    calls = play(None).gate.calls
    writes = {"breaker.save", "outbox.tell", "incidents.put", "workflows.start"}
    for point in [at for at, name in enumerate(calls, 1) if name in writes]:
        world = play(point)
        kinds = [n.kind for n in world.outbox.notices]
        assert kinds == [NoticeKind.BREAKER_OPENED, NoticeKind.BREAKER_CLOSED], (world.gate.died, kinds)
        assert {i.outcome for i in world.incidents.records.values()} == {Outcome.RECOVERED}, world.gate.died
        assert all(e.status == "SUCCEEDED" for e in world.executions.values())
        assert len(world.executions) == nodes
        untouched(world)


def _fails(world: World, instance: str) -> None:
    world.take(health(world, instance))


def test_limit_of_drains_opens_without_any_systemic_signal() -> None:
    """Nodes fail one by one over the hour: each is drained, until one more would be too many."""
    limits = BreakerLimits(short_max=3, group_short_max=3, short_percent=100, day_percent=100, systemic_nodes=99)
    world = house(size=40, ladder=REPLACE, breaker=limits)
    for number in range(5):
        instance = worker(world, number)
        world.later(number * 660, partial(_fails, world, instance))
    world.run(for_s=3300)
    assert len(world.cluster.made("replace")) == 3
    assert len(world.told(NoticeKind.BREAKER_OPENED)) == 1


def test_nodes_in_failure_do_not_recover_by_a_word_alone() -> None:
    world = house(size=64)
    instances = outage(world)
    for each in instances:
        world.cluster.set_status(each, NodeStatus.FAILURE)
    world.nodes_boot = False
    heal(world, instances)
    world.run(for_s=1200)
    assert all(i.outcome is not Outcome.RECOVERED for i in world.incidents.records.values())
    untouched(world)
    assert world.now - min(i.opened_at for i in world.incidents.records.values()) >= timedelta(seconds=1200)
