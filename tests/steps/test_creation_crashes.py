"""A creation that is killed at any point, and one that is started anew at any point: the contract is never exceeded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import Conflict, Throttled, Unavailable
from tests.build import samples
from tests.steps.samples import cluster_spec, empty_account, taken_over_when_killed
from tests.steps.world import World

SIZE = 5


def _lose_every_answer(world: World) -> None:
    for _ in range(3):
        world.cluster.lose_next_answer()


HARDSHIPS: dict[str, Callable[[World], None]] = {"plain": lambda world: None, "answers lost": _lose_every_answer}


def _calls() -> int:
    world = empty_account()
    world.create()
    world.run()
    return len(world.gate.calls)


POINTS = range(1, _calls() + 1)


def complete(world: World, run_id: str) -> None:
    """The contract stands, was never exceeded, and nothing was made twice."""
    execution = world.executions[run_id]
    assert execution.status == "SUCCEEDED", (
        world.gate.died,
        execution.visited[-6:],
        execution.errors,
        execution.output,
    )
    assert world.cluster.created == 1
    assert world.cluster.highest == {"controller": 1, "workers": SIZE}
    assert world.cluster.launched == {"controller": 1, "workers": SIZE}
    assert world.running() == SIZE
    run = world.runs.get("train")
    assert run is not None
    assert (run.status, run.run_id) == ("done", run_id)
    assert {r.verdict for r in run.stages if r.group == "workers"} == {"VERIFIED"}
    assert [n.notice_id for n in world.told(NoticeKind.RUN_FINISHED)].count(f"run_finished:{run_id}:end") == 1


@pytest.mark.parametrize("hardship", HARDSHIPS)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_step_is_killed_at_any_call_and_tried_again(after: bool, hardship: str) -> None:
    for point in POINTS:
        world = empty_account()
        HARDSHIPS[hardship](world)
        world.gate.die_at, world.gate.after = point, after
        world.create()
        world.run()
        complete(world, "run-1")


@pytest.mark.parametrize("hardship", HARDSHIPS)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_execution_is_stopped_at_any_call_and_a_new_run_started(after: bool, hardship: str) -> None:
    for point in POINTS:
        world = empty_account()
        HARDSHIPS[hardship](world)
        world.gate.die_at, world.gate.after = point, after
        taken_over_when_killed(world)
        world.create()
        world.run()
        complete(world, "run-2" if world.gate.died else "run-1")


@pytest.mark.parametrize("after_s", range(0, 420, 30))
def test_second_run_takes_over_while_the_first_still_lives(after_s: int) -> None:
    world = empty_account()
    world.create()
    world.later(after_s, lambda: world.create("run-2"))
    world.run()
    complete(world, "run-2") if world.executions["run-1"].status == "FAILED" else complete_both(world)


def complete_both(world: World) -> None:
    """The first run was done before the second began, which then finds nothing to do."""
    assert world.executions["run-1"].status == world.executions["run-2"].status == "SUCCEEDED"
    assert world.cluster.highest["workers"] == world.running() == SIZE


def test_old_run_makes_no_call_after_it_was_taken_over() -> None:
    world = empty_account(cluster_spec(samples.group(count=SIZE)))
    world.create()
    world.run(for_s=150)
    made = len(world.cluster.calls)
    world.runs.put(samples.run(run_id="run-2", version=world.runs.records["train"].version))
    world.run()
    assert world.executions["run-1"].status == "FAILED"
    assert any("TakenOver" in error for error in world.executions["run-1"].errors)
    assert len(world.cluster.calls) == made


FAULTS = ("throttled", "away", "lost", "busy", "unreadable", "new run", "scaled down")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 600), st.sampled_from(FAULTS)), max_size=8), st.integers(2, 9))
def test_whatever_happens_on_the_way_the_contract_is_never_exceeded(faults: list[tuple[int, str]], size: int) -> None:
    world = empty_account(cluster_spec(samples.group(count=size)))
    world.create("run-0")
    for number, (seconds, fault) in enumerate(faults):
        world.later(seconds, partial(_happens, world, fault, number))
    world.run()
    world.create("run-last")
    world.run()
    assert world.executions["run-last"].status == "SUCCEEDED", world.executions["run-last"].errors
    assert world.cluster.created == 1
    assert world.running() == world.cluster.groups["workers"].target == size
    assert world.cluster.highest["workers"] == size
    taken = sum(fault == "scaled down" for _, fault in faults)
    assert world.cluster.launched["workers"] <= size + taken


def _happens(world: World, fault: str, number: int) -> None:
    cluster = world.cluster
    match fault:
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
        case "scaled down":
            workers = [n.instance_id or "" for n in cluster.nodes if n.group == "workers"]
            if workers and not cluster._failures:
                cluster.delete_nodes("train", workers[-1:])
