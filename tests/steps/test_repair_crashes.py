"""A repair whose steps are killed at any call and tried again: one effective call, one drain taken back, one end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.contracts.commands import Verb
from roundhouse.contracts.ledger import LedgerState
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import Throttled
from roundhouse.line.incident import IncidentState, Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Mode
from roundhouse.line.state import NodeStatus, Pause
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
    deliver(world, event)
    world.run()
    return world


def deliver(world: World, event: dict[str, Any]) -> None:
    """The queue delivers it again when intake's process dies."""
    while True:
        try:
            assert world.take(event) == []
        except Died:
            continue
        return


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


HAPPENS = (
    "healthy",
    "bad again",
    "others replace",
    "throttled",
    "lost",
    "unreadable",
    "pause",
    "patch",
    "slack",
    "dies",
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 1500), st.sampled_from(HAPPENS)), max_size=6),
    st.sampled_from(["reboot", "replace", "delete and restore", "asked"]),
)
def test_whatever_happens_meanwhile_no_rung_is_taken_twice_and_no_count_is_lost(
    happens: list[tuple[int, str]], kind: str
) -> None:
    world = REPAIRS[kind]()
    instance = worker(world, 3)
    broken: list[str] = []
    for seconds, what in happens:
        world.later(seconds, partial(_happens, world, what, instance))
    seen = [0]

    def watch() -> None:
        new = world.cluster.calls[seen[0] :]
        seen[0] = len(world.cluster.calls)
        if new and (world.control.pause() or world.cluster.status != "InService"):
            broken.extend(call.operation for call in new if call.operation != "add")

    world.each_moment = watch
    assert world.take(health(world, instance)) == []
    world.run()
    assert not broken
    assert all(i.state is IncidentState.CLOSED for i in world.incidents.records.values())
    assert all(e.status == "SUCCEEDED" for e in world.executions.values())
    taken = Counter(
        (e.incident_id, e.kind, e.subject)
        for e in world.ledger.records.values()
        if e.state is not LedgerState.FAILED and e.kind != "add_nodes"
    )
    assert set(taken.values()) <= {1}, taken
    people = any(i.outcome is Outcome.ESCALATED for i in world.incidents.records.values())
    assert world.cluster.highest["workers"] <= SIZE
    if not people:
        assert world.cluster.groups["workers"].target == SIZE
        drained = {c.command_id.split("/")[0] for c in world.agent.commands if c.verb is Verb.CORDON}
        resumed = {c.command_id.split("/")[0] for c in world.agent.commands if c.verb is Verb.RESUME}
        assert drained == resumed


def _happens(world: World, what: str, instance: str) -> None:
    cluster = world.cluster
    there = cluster.by_id(instance)
    match what:
        case "healthy":
            deliver(world, health(world, instance, "Healthy"))
        case "bad again":
            deliver(world, health(world, instance))
        case "others replace" if there is not None and there.status is NodeStatus.RUNNING:
            cluster._repaired("replace", there)
        case "throttled":
            cluster.fail_next(Throttled("slow down"))
        case "lost":
            cluster.lose_next_answer()
        case "unreadable":
            cluster.fail_next_read(Throttled("slow down"))
        case "pause":
            world.control.set_pause(Pause("U0ALICE", "moving racks", world.now))
            world.later(300, lambda: world.control.set_pause(None))
        case "patch":
            cluster.status = "SystemUpdating"
            world.later(300, lambda: setattr(cluster, "status", "InService"))
        case "slack":
            world.slack_up = not world.slack_up
        case "dies":
            world.gate.die_at = len(world.gate.calls) + 5
        case _:
            pass
