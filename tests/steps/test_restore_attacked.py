"""A count that somebody else restores while our own call for it is lost."""

from __future__ import annotations

from typing import Any

import pytest

from roundhouse.errors import Unavailable
from roundhouse.line.incident import Outcome
from roundhouse.line.ladder import Rung
from tests.steps.samples import health, house, of_group, worker
from tests.steps.world import World

DELETE = (Rung.DELETE_RESTORE, Rung.HUMAN)


def losing(world: World, arrives: bool, by_others: int) -> list[tuple[Any, ...]]:
    """The first addition's answer is lost, and people add nodes by themselves meanwhile. All calls that were made."""
    real = world.cluster.add
    calls: list[tuple[Any, ...]] = []

    def add(*arguments: Any) -> tuple[str, ...]:
        calls.append(arguments)
        if len(calls) > 1:
            return real(*arguments)
        if arrives:
            real(*arguments)
        world.cluster._launch("workers", by_others)
        raise Unavailable("no answer")

    world.cluster.add = add  # type: ignore[method-assign, assignment]
    return calls


def deleted(arrives: bool, by_others: int) -> tuple[World, list[tuple[Any, ...]]]:
    world = house(ladder=DELETE)
    calls = losing(world, arrives, by_others)
    instance = worker(world, 3)
    world.take(health(world, instance))
    world.run()
    assert world.incident(instance).outcome in {Outcome.REPAIRED, Outcome.SUPERSEDED}
    return world, calls


@pytest.mark.parametrize(("arrives", "by_others"), [(False, 1), (True, 0), (True, 1), (False, 2)])
def test_whole_count_is_not_raised_by_a_repeated_call(arrives: bool, by_others: int) -> None:
    world, calls = deleted(arrives, by_others)
    assert of_group(world, "workers").target == 19 + arrives + by_others, "what others added is theirs to judge"
    assert len(calls) == 1


def test_call_that_never_came_through_is_made_again_while_the_count_is_short() -> None:
    world, calls = deleted(arrives=False, by_others=0)
    assert of_group(world, "workers").target == 20
    assert [call[3] for call in calls] == [calls[0][3]] * 2, "with the same client token"


@pytest.mark.parametrize("arrives", [True, False])
def test_the_one_node_that_came_is_proved_whoever_added_it(arrives: bool) -> None:
    world, _ = deleted(arrives, 0 if arrives else 1)
    incident = next(iter(world.incidents.records.values()))
    newest = max(world.cluster.nodes, key=lambda n: n.launched_at or world.now.min.replace(tzinfo=world.now.tzinfo))
    assert (incident.outcome, incident.current_instance_id) == (Outcome.REPAIRED, newest.instance_id)
