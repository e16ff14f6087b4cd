"""Creations from beginning to end: what goes wrong on the way, what people answer, and what a second run finds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from roundhouse.build.spec import StageWaits
from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import AccessDenied, Conflict, LimitExceeded, RoundhouseError, Throttled, Unavailable
from roundhouse.line.state import NodeStatus
from roundhouse.ports import Pause, Run
from tests.build import samples
from tests.steps.samples import cluster_spec, empty_account
from tests.steps.world import T0, World

LIFECYCLE = "Lifecycle script execution failed on the instance"
SHORTAGE = "We currently do not have sufficient capacity"


def record(world: World) -> Run:
    run = world.runs.get("train")
    assert run is not None
    return run


def verdicts(world: World) -> list[str]:
    return [r.verdict for r in sorted(record(world).stages, key=lambda r: r.stage) if r.group == "workers"]


def answering(choice: str, after_s: float = 60) -> Callable[[Notice], tuple[str, float] | None]:
    return lambda notice: (choice, after_s)


def titles(world: World, kind: NoticeKind) -> list[str]:
    return [notice.title for notice in world.told(kind)]


# Hardships on the way --------------------------------------------------------------------------------------------
def test_plain_creation_grows_in_stages_and_tells_each() -> None:
    world = empty_account()
    execution = world.create()
    world.run()
    assert execution.output["status"] == "done"
    assert [c.operation for c in world.cluster.calls] == ["create", "add", "add"]
    assert verdicts(world) == ["VERIFIED"] * 3
    assert len(record(world).proven) == 5
    assert set(world.outbox.sent.values()) == {1}


FAILURES: tuple[RoundhouseError, ...] = (
    Throttled("slow down"),
    Unavailable("503"),
    Conflict("another operation is under way"),
)


@pytest.mark.parametrize("failure", FAILURES, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("call", range(3))
def test_call_that_fails_is_made_again(failure: RoundhouseError, call: int) -> None:
    world = empty_account()
    world.each_moment = lambda: _fail_at(world, call, failure)
    execution = world.create()
    world.run()
    if call == 0 and isinstance(failure, Conflict):
        assert world.cluster.created == 1
    assert execution.output["status"] == "done", execution.errors
    assert world.cluster.launched["workers"] == world.running() == 5


def _fail_at(world: World, call: int, failure: RoundhouseError) -> None:
    if len(world.cluster.calls) == call and not getattr(world, "failed", False):
        world.failed = True  # type: ignore[attr-defined]
        world.cluster.fail_next(failure)


@pytest.mark.parametrize("call", range(3))
def test_lost_answer_asks_for_nothing_twice(call: int) -> None:
    world = empty_account()
    world.each_moment = lambda: (
        world.cluster.lose_next_answer() if len(world.cluster.calls) == call and not world.cluster._failures else None
    )
    execution = world.create()
    world.run()
    assert execution.output["status"] == "done", execution.errors
    assert world.cluster.created == 1
    assert world.cluster.launched["workers"] == 5
    assert world.cluster.highest["workers"] == 5


@pytest.mark.parametrize("failure", [LimitExceeded("quota of 3"), AccessDenied("not allowed")])
def test_refusal_for_good_ends_the_run_and_says_why(failure: RoundhouseError) -> None:
    world = empty_account()
    world.cluster.fail_next(failure)
    execution = world.create()
    world.run()
    assert execution.status == "FAILED"
    assert record(world).status == "failed"
    [said] = world.told(NoticeKind.RUN_STOPPED)
    assert said.text == str(failure)


def _trouble(world: World, text: str, until_s: float, **members: Any) -> None:
    """Nodes come up only after `until_s`; meanwhile HyperPod tells every minute why not."""
    world.nodes_boot = False
    last = T0

    def tell() -> None:
        nonlocal last
        if world.now >= T0 + timedelta(seconds=until_s):
            world.nodes_boot = True
        elif world.cluster.status == "InService" and world.now - last >= timedelta(seconds=60):
            last = world.now
            world.cluster.tell(text, level="Error", group="workers", logical_id=f"l-{world.now.minute}", **members)

    def controller() -> None:
        world.cluster.status = "InService"
        for node in [n for n in world.cluster.nodes if n.group == "controller"]:
            world.cluster.set_status(node.instance_id or "", NodeStatus.RUNNING)

    world.later(90, controller)
    world.each_moment = tell


@pytest.mark.parametrize(
    ("text", "members", "said"),
    [
        (SHORTAGE, {}, "no capacity at the moment"),
        (LIFECYCLE, {"lifecycle_state": "Failed"}, "a lifecycle script fails"),
    ],
    ids=["shortage", "lifecycle"],
)
def test_trouble_is_waited_out_and_told_once(text: str, members: dict[str, Any], said: str) -> None:
    world = empty_account()
    _trouble(world, text, 5400, **members)
    execution = world.create()
    world.run()
    assert execution.output["status"] == "done"
    about = [n for n in world.told(NoticeKind.RUN_PROGRESS) if said in n.title]
    assert len(about) == 1
    assert world.outbox.sent[about[0].notice_id] <= 2  # not once a look


def test_stage_that_gives_up_cancels_what_is_pending_and_a_new_run_goes_on() -> None:
    world = empty_account()
    _trouble(world, SHORTAGE, 10**9)
    execution = world.create()
    world.run()
    assert execution.status == "FAILED"
    assert record(world).status == "failed"
    assert "StopRamp" in execution.visited
    assert "AskPeople" not in execution.visited
    assert world.cluster.groups["workers"].target == world.running() == 0
    assert "did not reach its contract" in titles(world, NoticeKind.RUN_STOPPED)[-1]
    assert all("discount" not in title for title in titles(world, NoticeKind.RUN_STOPPED))
    world.nodes_boot, world.each_moment = True, lambda: None
    second = world.create("run-2")
    world.run()
    assert second.output["status"] == "done", second.errors
    assert world.running() == world.cluster.highest["workers"] == 5


def test_old_runs_patience_is_not_counted_against_a_new_one() -> None:
    world = empty_account()
    world.create()
    world.run(for_s=400)
    world.stop("run-1")
    world.nodes_boot = False
    world.run(for_s=86400)
    second = world.create("run-2")
    world.later(600, lambda: setattr(world, "nodes_boot", True))
    world.run()
    assert second.output["status"] == "done", second.output


# Others at the same cluster --------------------------------------------------------------------------------------
def test_cluster_deleted_by_somebody_is_not_created_again() -> None:
    world = empty_account()
    execution = world.create()
    world.run(for_s=200)
    world.cluster.delete_cluster("train")
    world.run()
    assert execution.status == "FAILED"
    assert world.cluster.created == 1
    assert "somebody deleted it" in record(world).history[-1][2]


def test_cluster_that_somebody_creates_between_preflight_and_the_call_is_neither_grown_nor_taken_over() -> None:
    world = empty_account()
    execution, real = world.create(), world.cluster.create

    def create(spec: Any, counts: dict[str, int]) -> str:
        real(spec, counts)  # a colleague's call, a moment earlier
        return real(spec, counts)

    world.cluster.create = create  # type: ignore[method-assign]
    world.run()
    assert execution.status == "FAILED"
    assert "somebody has just created" in world.told(NoticeKind.RUN_STOPPED)[-1].text
    assert record(world).stages == ()
    later = world.create("run-2")
    world.run()
    assert later.status == "FAILED"
    assert "Roundhouse did not create it" in record(world).step
    assert {c.operation for c in world.cluster.calls} == {"create"}


def test_run_after_that_deletion_is_a_fresh_creation() -> None:
    world = empty_account()
    world.create()
    world.run()
    world.cluster.delete_cluster("train")
    second = world.create("run-2")
    world.run()
    assert second.output["status"] == "done"
    assert world.cluster.created == 2
    assert world.running() == 5


def test_node_taken_away_by_somebody_is_added_again_by_a_later_run() -> None:
    world = empty_account()
    world.create()
    world.run()
    world.cluster.delete_nodes("train", [world.cluster.nodes[-1].instance_id or ""])
    world.cluster.settle()
    world.run(for_s=1800)
    second = world.create("run-2")
    world.run(for_s=1800)
    assert second.output["status"] == "done"
    assert world.running() == world.cluster.groups["workers"].target == 5


def test_cluster_that_is_not_ours_is_refused() -> None:
    world = empty_account()
    world.cluster.seed("controller", 1, "Controller", samples.CPU)
    world.cluster.seed("workers", 2)
    execution = world.create()
    world.run()
    assert execution.status == "FAILED"
    assert world.cluster.calls == []
    assert record(world).status == "failed"
    assert "must not be created" in world.told(NoticeKind.RUN_STOPPED)[0].text


@pytest.mark.parametrize("status", ["SystemUpdating", "Updating"])
def test_cluster_that_is_being_patched_is_waited_for_without_spinning(status: str) -> None:
    world = empty_account()
    execution = world.create()
    world.run(for_s=170)
    world.cluster.status = status
    world.later(1800, lambda: setattr(world.cluster, "status", "InService"))
    world.run()
    assert execution.output["status"] == "done", execution.errors


def test_controller_that_stays_away_ends_the_run_in_time() -> None:
    world = empty_account()
    execution = world.create()
    world.run(for_s=170)
    [controller] = [n.instance_id or "" for n in world.cluster.nodes if n.group == "controller"]
    world.cluster.set_status(controller, NodeStatus.FAILURE)
    world.run()
    assert execution.status == "FAILED"
    assert world.now - T0 < timedelta(hours=2)
    assert record(world).status == "failed"


def test_failed_controller_is_told() -> None:
    world = empty_account()
    execution = world.create()
    world.nodes_boot = False
    world.later(100, lambda: setattr(world.cluster, "status", "Failed"))
    world.run()
    assert execution.status == "FAILED"
    assert "Failed" in world.told(NoticeKind.RUN_STOPPED)[0].text


# Pause -----------------------------------------------------------------------------------------------------------
PAUSE = Pause("U0ALICE", "moving racks", T0)


def test_pause_refuses_a_new_creation_and_says_so() -> None:
    world = empty_account()
    world.control.set_pause(PAUSE)
    execution = world.create()
    world.run()
    assert execution.status == "FAILED"
    assert world.cluster.calls == []
    [said] = world.told(NoticeKind.RUN_STOPPED)
    assert "moving racks" in said.text


def test_pause_refuses_a_second_run_and_leaves_the_first_alone() -> None:
    world = empty_account()
    first = world.create()
    world.run(for_s=100)
    world.control.set_pause(PAUSE)
    second = world.create("run-2")
    world.later(600, lambda: world.control.set_pause(None))
    world.run()
    assert second.status == "FAILED"
    assert first.output["status"] == "done"


def test_pause_holds_a_ramp_until_it_is_lifted() -> None:
    world = empty_account()
    execution = world.create()
    world.run(for_s=100)
    world.control.set_pause(PAUSE)
    world.run(for_s=7200)
    assert world.cluster.launched["workers"] == 3
    world.control.set_pause(None)
    world.run()
    assert execution.output["status"] == "done"


# A preflight that fails ------------------------------------------------------------------------------------------
def test_preflight_names_every_problem_in_words_for_people() -> None:
    world = empty_account()
    world.surroundings.quotas.clear()
    world.surroundings.objects.clear()
    world.create()
    world.run()
    [said] = world.told(NoticeKind.RUN_STOPPED)
    assert "errorMessage" not in said.text
    assert "quota" in said.text
    assert "lifecycle script" in said.text
    assert world.cluster.calls == []


def test_waits_are_data() -> None:
    slow = empty_account(cluster_spec(waits=StageWaits(poll_s=300)))
    execution = slow.create()
    slow.run()
    quick = empty_account(cluster_spec(waits=StageWaits(poll_s=10)))
    other = quick.create()
    quick.run()
    assert execution.output["status"] == other.output["status"] == "done"
    assert len(other.visited) > len(execution.visited)
