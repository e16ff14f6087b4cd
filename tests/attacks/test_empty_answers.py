"""HyperPod answers with nothing, or that it knows no such cluster, for a while: a repair waits, and goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import NotFound, Throttled
from roundhouse.line.incident import Outcome
from roundhouse.line.policy import Mode
from roundhouse.line.state import Cluster
from tests.attacks.test_twins import LADDERS, calls, yes
from tests.steps.samples import health, house, worker


@pytest.mark.parametrize("answer", ["no nodes", "no cluster", "slow down"])
@pytest.mark.parametrize("rung", sorted(LADDERS))
def test_minutes_of_empty_answers_at_any_moment_lose_no_repair(rung: str, answer: str) -> None:
    for seconds in range(5, 1200, 239):
        world = house(20, Mode.ASK, LADDERS[rung])
        world.boot_s, world.people = 400, yes
        bad = worker(world, 3)
        world.take(health(world, bad))
        real = world.cluster.cluster

        def empty(name: str, real: Callable[[str], Cluster] = real) -> Cluster:
            if answer == "no nodes":
                return replace(real(name), nodes=())
            raise NotFound("no such cluster") if answer == "no cluster" else Throttled("slow down")

        world.later(seconds, lambda world=world, empty=empty: setattr(world.cluster, "cluster", empty))  # type: ignore[misc]
        world.later(seconds + 200, lambda world=world, real=real: setattr(world.cluster, "cluster", real))  # type: ignore[misc]
        world.run(4 * 3600)
        ended = world.incident(bad)
        assert ended.outcome is Outcome.REPAIRED, (seconds, ended.decision)
        assert sum(calls(world).values()) == 1, seconds
        assert len(world.told(NoticeKind.APPROVAL_ASKED)) == 1, seconds
        assert world.running() == 20, seconds


def test_a_cluster_that_is_gone_for_good_ends_its_incidents() -> None:
    world = house(20, Mode.ACT)
    bad = worker(world, 3)
    world.take(health(world, bad))

    def gone(name: str) -> Cluster:
        raise NotFound("no such cluster")

    world.later(60, lambda: setattr(world.cluster, "cluster", gone))
    world.run(3600)
    assert world.incident(bad).outcome is Outcome.IGNORED
    assert not calls(world)
