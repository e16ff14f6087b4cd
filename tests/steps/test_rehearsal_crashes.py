"""A rehearsal that is killed at any call on any port."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from roundhouse.build.rehearsal import Result
from roundhouse.contracts.notices import Notice
from tests.fakes.cluster import FakeCluster
from tests.steps.asl import Died
from tests.steps.rehearsing import (
    POINTS,
    Stage,
    ended,
    fail,
    stage,
    succeed,
)


# Killed at any point ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("outcome", [succeed, fail])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_step_is_killed_at_any_call_and_tried_again(after: bool, outcome: Callable[[FakeCluster], None]) -> None:
    for point in POINTS:
        world = stage(outcome)
        world.gate.die_at, world.gate.after = point, after
        world.rehearse()
        world.run()
        ended(world, Result.PASSED if outcome is succeed else Result.FAILED)
        assert len(world.clusters.known) == 1, world.gate.died
        assert set(world.clusters.deleted) == {world.clusters.known[0].arn}
        assert len([n for n in world.outbox.notices if n.notice_id.startswith("rehearsal-end:")]) == 1


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_an_execution_is_stopped_at_any_call_and_nothing_stays(after: bool) -> None:
    for point in POINTS:
        world = stage()
        world.gate.die_at, world.gate.after = point, after
        inner = world.call

        def call(
            resource: str, arguments: dict[str, Any], world: Stage = world, inner: Callable[..., Any] = inner
        ) -> Any:
            try:
                return inner(resource, arguments)
            except Died:
                world.stop("r-1")
                raise

        world.call = call  # type: ignore[method-assign]
        world.rehearse()
        world.run()
        for _ in range(12):
            world.clock.at = world.now + timedelta(minutes=15)
            world.clusters.settle()
            world.tidy()
        assert world.clusters.standing() == [], world.gate.died
        newest = world.rehearsals.newest()
        assert newest is None or not newest.under_way, world.gate.died


def test_notices_of_a_rehearsal_stay_in_its_thread() -> None:
    world = stage()
    world.rehearse()
    world.run()
    threads: set[str] = {notice.thread for notice in world.outbox.notices}
    assert threads == {"rehearsal:r-1"}
    first: Notice = world.outbox.notices[0]
    assert first.facts["By"] == "sam"
