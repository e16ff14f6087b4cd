"""What comparable systems are on record to have done wrong, each as a test that it does not happen here."""

from __future__ import annotations

from roundhouse.line.incident import Outcome
from roundhouse.line.ladder import Rung
from tests.steps.samples import health, house, worker
from tests.steps.world import World

REBOOT = (Rung.REBOOT, Rung.HUMAN)


def until(world: World, state: str) -> None:
    """Let time pass until the only execution waits there."""
    for _ in range(1000):
        if world.state() == state:
            return
        world.run(for_s=10)
    raise AssertionError(f"never came to {state}: {world.state()}")


def test_event_that_arrives_during_a_reboot_is_not_stranded() -> None:
    world = house(ladder=REBOOT)
    instance = worker(world, 3)
    assert world.take(health(world, instance)) == []
    until(world, "WaitBeforeProving")
    assert world.take(health(world, instance)) == []  # broken still, and HyperPod has it Running all the same
    world.run()
    assert world.incident(instance).outcome is Outcome.ESCALATED
    assert [c.verb.value for c in world.agent.commands] == ["cordon"]  # what was not proved stays drained


def test_bad_news_from_after_a_repair_count_though_they_come_after_its_end() -> None:
    world = house(ladder=REBOOT)
    instance = worker(world, 3)
    assert world.take(health(world, instance)) == []
    until(world, "WaitBeforeProving")
    late = health(world, instance)
    world.run()
    assert world.incident(instance).outcome is Outcome.REPAIRED
    assert world.take(late) == []
    assert len(world.incidents.records) == 2


def test_good_news_after_bad_ones_let_the_proof_pass() -> None:
    world = house(ladder=REBOOT)
    instance = worker(world, 3)
    assert world.take(health(world, instance)) == []
    until(world, "WaitBeforeProving")
    bad = health(world, instance)
    world.clock.advance(5)
    assert world.take(health(world, instance, "Healthy"), bad) == []
    world.run()
    assert world.incident(instance).outcome is Outcome.REPAIRED
