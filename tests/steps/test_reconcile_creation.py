"""A creation whose workflow was stopped anywhere: shown with the command that goes on, which then completes it."""

from __future__ import annotations

from typing import Any

from roundhouse.contracts.notices import NoticeKind
from tests.steps.reconciled import kinds
from tests.steps.samples import empty_account
from tests.steps.test_creation_crashes import complete
from tests.steps.world import World


def states() -> list[str]:
    world = empty_account()
    execution = world.create()
    world.run()
    return list(dict.fromkeys(execution.visited))


def stopped_at(state: str) -> World:
    """A creation that is stopped once it is at `state`: while it waits there, or while the task's call is made."""
    world = empty_account()
    real = world.call

    def look() -> None:
        for execution in list(world.executions.values()):
            if execution.name == "run-1" and execution.status == "RUNNING" and execution.visited[-1:] == [state]:
                world.stop(execution.name)

    def call(resource: str, arguments: dict[str, Any]) -> Any:
        try:
            return real(resource, arguments)
        finally:
            look()

    world.call, world.each_moment = call, look  # type: ignore[method-assign]
    world.create()
    world.run()
    return world


def test_a_creation_is_stopped_at_any_state_and_gone_on_with() -> None:
    stopped = 0
    for state in states():
        world = stopped_at(state)
        execution = world.executions["run-1"]
        if execution.status != "STOPPED":
            continue  # a choice takes no time
        stopped += 1
        world.clock.advance(900)
        shown = kinds(world.reconcile(), "shown")
        run = world.runs.get("train")
        going = run is not None and run.status == "running"
        assert shown == (["run_without_workflow"] if going else []), state
        told = world.told(NoticeKind.DIFFERENCES)
        assert all("roundhouse create -e unit" in notice.text for notice in told)
        if not going:
            continue
        world.create("run-2")
        world.run()
        complete(world, "run-2")
        assert kinds(world.reconcile(), "shown") == []
    assert stopped >= 8
