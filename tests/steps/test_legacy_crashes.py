"""Legacy creations and repairs that are killed at any call, and histories in which others act at any call: no count is
ever sent below the live one, no update while another of ours is under way, nothing above the contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from roundhouse.contracts.ledger import LedgerState
from roundhouse.errors import Conflict, Throttled, Unavailable
from roundhouse.line.incident import IncidentState, Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.state import NodeStatus
from tests.build import samples
from tests.steps.legacy import SHORTAGE, empty_account, house, legacy_of, legacy_spec
from tests.steps.samples import health, taken_over_when_killed, worker
from tests.steps.test_repair_crashes import deliver
from tests.steps.world import Gate, World

SIZE = 5
OPEN = {LedgerState.CLAIMED, LedgerState.CALLED, LedgerState.UNKNOWN}


def _lose_every_answer(world: World) -> None:
    for _ in range(3):
        world.cluster.lose_next_answer()


HARDSHIPS: dict[str, Callable[[World], None]] = {"plain": lambda world: None, "answers lost": _lose_every_answer}


def sound(world: World) -> None:
    """What must hold after every history."""
    cluster = legacy_of(world)
    assert cluster.killed == [], cluster.updates
    assert cluster.overlaps == []
    assert all(count > live for _, live, count in cluster.updates), cluster.updates


def created(world: World, run_id: str, *, stopped: bool = False) -> None:
    """The contract stands. What a stopped execution held is left: the lock to its lease, the call to the next owner."""
    sound(world)
    execution = world.executions[run_id]
    said = (world.gate.died, execution.visited[-6:], execution.errors, execution.output)
    assert execution.status == "SUCCEEDED", said
    assert legacy_of(world).updates == [("workers", 3, 4), ("workers", 4, 5)], said
    assert world.cluster.highest == {"controller": 1, "workers": SIZE}
    assert world.running() == SIZE
    held = world.locks.get("train")
    left = {e.action_id for e in world.ledger.records.values() if e.kind == "update_cluster" and e.state in OPEN}
    if stopped:
        assert left <= {held.action_id}, said
        assert held.owner in {"", "run-1"}, said
    else:
        assert (held.owner, left) == ("", set()), said


def _calls() -> int:
    world = empty_account()
    world.create()
    world.run()
    return len(world.gate.calls)


@pytest.mark.parametrize("hardship", HARDSHIPS)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_creation_is_killed_at_any_call_and_tried_again(after: bool, hardship: str) -> None:
    for point in range(1, _calls() + 1):
        world = empty_account()
        HARDSHIPS[hardship](world)
        world.gate.die_at, world.gate.after = point, after
        world.create()
        world.run()
        created(world, "run-1")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_creation_is_stopped_at_any_call_and_a_new_run_started(after: bool) -> None:
    for point in range(1, _calls() + 1):
        world = empty_account()
        world.gate.die_at, world.gate.after = point, after
        taken_over_when_killed(world)
        world.create()
        world.run()
        created(world, "run-2" if world.gate.died else "run-1", stopped=bool(world.gate.died))


def _repair(prepare: Callable[[World], None]) -> World:
    world = house(ladder=(Rung.DELETE_RESTORE, Rung.HUMAN))
    prepare(world)
    deliver(world, health(world, worker(world, 3)))
    world.run()
    return world


@pytest.mark.parametrize("hardship", HARDSHIPS)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_restored_count_is_killed_at_any_call_and_tried_again(after: bool, hardship: str) -> None:
    calls = len(_repair(HARDSHIPS[hardship]).gate.calls)
    for point in range(1, calls + 1):

        def prepare(world: World, point: int = point) -> None:
            HARDSHIPS[hardship](world)
            world.gate.die_at, world.gate.after = point, after

        world = _repair(prepare)
        sound(world)
        [incident] = world.incidents.records.values()
        said = (world.gate.died, incident.decision, [e.errors for e in world.executions.values()])
        assert incident.outcome is Outcome.REPAIRED, said
        assert legacy_of(world).updates == [("workers", 19, 20)], said
        assert len([c for c in world.cluster.calls if c.operation == "delete_nodes"]) == 1, said
        assert world.running() == world.cluster.groups["workers"].target == 20, said
        assert world.locks.get("train").owner == "", said


# Histories -------------------------------------------------------------------------------------------------------
@dataclass
class Interrupted(Gate):
    """A gate at which others act: `acts` maps the number of a call to what happens right before it."""

    acts: dict[int, Callable[[], None]] = field(default_factory=dict)

    def __call__(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        passing = super().__call__(name, real)

        def met(*args: Any, **kwargs: Any) -> Any:
            act = self.acts.pop(len(self.calls) + 1, None)
            if act is not None:
                act()
            return passing(*args, **kwargs)

        return met


HAPPENS = (
    "adds", "deletes", "throttled", "away", "lost", "busy", "unreadable", "new run", "undone", "dies",
    "breaks", "replaces", "time",
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@example([(True, 132, "breaks"), (True, 218, "away"), (True, 370, "away")], 5)  # the ramp restores a repair's count
@example([(True, 112, "replaces")], 3)  # when the last creation has ended
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 400), st.sampled_from(HAPPENS)), max_size=9),
    st.integers(3, 8),
)
def test_whoever_adds_or_deletes_meanwhile_no_count_goes_below_the_live_one(
    happens: list[tuple[bool, int, str]], size: int
) -> None:
    world = empty_account(
        legacy_spec(samples.group(count=size)), ladder=(Rung.DELETE_RESTORE, Rung.HUMAN), drain_deadline_s=60
    )
    gate = Interrupted()
    world.gate = gate
    for number, (at_call, when, what) in enumerate(happens):
        act = partial(_happens, world, what, number, size)
        if at_call:
            gate.acts[when % 150 + 1] = act
        else:
            world.later(10 * when, act)
    world.create("run-0")
    world.run()
    world.create("run-last")
    world.run()
    sound(world)
    assert world.cluster.highest["workers"] <= size
    assert all(i.state is IncidentState.CLOSED for i in world.incidents.records.values())
    last = world.executions["run-last"]
    assert last.status == "SUCCEEDED", (last.errors, last.output, last.visited[-8:])
    world.cluster.settle()  # what others have replaced at the very end comes up
    assert world.running() == world.cluster.groups["workers"].target == size
    assert legacy_of(world).status == "InService"


def _happens(world: World, what: str, number: int, size: int) -> None:
    cluster = legacy_of(world)
    match what:
        case "adds" if "workers" in cluster.groups:
            cluster.somebody_updates("workers", min(size, cluster.groups["workers"].target + 1))
        case "deletes":
            cluster.somebody_deletes("workers")
        case "throttled":
            cluster.fail_next(Throttled("slow down"))
        case "away":
            cluster.fail_next(Unavailable("503"))
        case "lost":
            cluster.lose_next_answer()
        case "busy":
            cluster.fail_next(Conflict("another operation is under way"))
        case "unreadable":
            cluster.fail_next_read(Throttled("slow down"))
        case "new run":
            world.create(f"run-{number + 1}")
        case "undone" if cluster.status == "Updating":
            cluster.undo.append(SHORTAGE)
        case "dies":
            world.gate.die_at = len(world.gate.calls) + 3
        case "breaks":
            workers = [n for n in cluster.nodes if n.group == "workers" and n.status is NodeStatus.RUNNING]
            if workers and cluster.status == "InService":
                deliver(world, health(world, workers[0].instance_id or ""))
        case "replaces":
            workers = [n for n in cluster.nodes if n.group == "workers" and n.status is NodeStatus.RUNNING]
            if workers and cluster.status == "InService":
                cluster._repaired("replace", workers[-1])
        case "time":
            cluster.settle()
        case _:
            pass
