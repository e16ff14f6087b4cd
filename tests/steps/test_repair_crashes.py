"""A repair whose steps are killed at any call and tried again: one effective call, one drain taken back, one end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.incident import Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Mode
from tests.steps.asl import Died
from tests.steps.samples import health, house, worker
from tests.steps.world import World

SIZE = 20
REPAIRS: dict[str, Callable[[], World]] = {
    "reboot": lambda: house(ladder=(Rung.REBOOT, Rung.HUMAN)),
    "replace": lambda: house(ladder=(Rung.REPLACE, Rung.HUMAN)),
    "delete and restore": lambda: house(ladder=(Rung.DELETE_RESTORE, Rung.HUMAN)),
    "asked": lambda: _asked("approve"),
    "denied": lambda: _asked("deny"),
    "observed": lambda: house(mode=Mode.OBSERVE),
}
CALLS = {"reboot": 1, "replace": 1, "delete and restore": 1, "asked": 1, "denied": 0, "observed": 0}
ENDS = {"denied": Outcome.DENIED, "observed": Outcome.OBSERVED}


def _asked(choice: str) -> World:
    world = house(mode=Mode.ASK, ladder=(Rung.REPLACE, Rung.HUMAN))
    world.people = lambda notice: (choice, 60)
    return world


def through(kind: str, prepare: Callable[[World], None] = lambda world: None) -> World:
    """One repair of that kind, as often delivered as it takes."""
    world = REPAIRS[kind]()
    prepare(world)
    event = health(world, worker(world, 3))
    while True:
        try:
            assert world.take(event) == []
            break
        except Died:
            continue  # the queue delivers it again
    world.run()
    return world


def sound(world: World, kind: str) -> None:
    said = (kind, world.gate.died)
    [incident] = world.incidents.records.values()
    [execution] = world.executions.values()
    assert execution.status == "SUCCEEDED", (said, execution.errors)
    assert incident.outcome is ENDS.get(kind, Outcome.REPAIRED), (said, incident.decision, execution.visited)
    effective = Counter(c.operation for c in world.cluster.calls if c.operation != "add")
    assert sum(effective.values()) == CALLS[kind], (said, effective)
    assert world.running() == world.cluster.groups["workers"].target == SIZE, said
    assert world.cluster.highest["workers"] <= SIZE, said
    assert world.cluster.launched["workers"] == (1 if kind == "delete and restore" else 0), said
    assert len(world.told(NoticeKind.INCIDENT_CLOSED)) == 1, said
    ids = [command.command_id for command in world.agent.commands]
    drained, resumed = (sum(f"/{verb}/" in each for each in set(ids)) for verb in ("cordon", "resume"))
    assert drained == resumed == (0 if kind == "observed" else 1), (said, ids)
    assert all(step.ended_at for step in incident.steps), said


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("kind", REPAIRS)
def test_step_is_killed_at_any_call_and_tried_again(kind: str, after: bool) -> None:
    calls = len(through(kind).gate.calls)
    for point in range(1, calls + 1):

        def prepare(world: World, point: int = point) -> None:
            world.gate.die_at, world.gate.after = point, after

        world = through(kind, prepare)
        assert world.gate.died
        sound(world, kind)


@pytest.mark.parametrize("kind", ["reboot", "replace", "delete and restore"])
def test_step_is_killed_at_any_call_while_answers_are_lost_too(kind: str) -> None:
    calls = len(through(kind, lose_answers).gate.calls)
    for point in range(1, calls + 1):

        def prepare(world: World, point: int = point) -> None:
            lose_answers(world)
            world.gate.die_at, world.gate.after = point, True

        world = through(kind, prepare)
        [incident] = world.incidents.records.values()
        assert incident.outcome is Outcome.REPAIRED, (world.gate.died, incident.decision)
        assert world.cluster.highest["workers"] <= SIZE
        assert world.cluster.launched["workers"] == (1 if kind == "delete and restore" else 0)
        repairs = [c for c in world.cluster.calls if c.operation != "add"]
        assert len(repairs) == 1, (world.gate.died, repairs)


def lose_answers(world: World) -> None:
    """Every answer of the first two calls that change something is lost."""
    world.cluster.lose_next_answer()
    world.cluster.lose_next_answer()
