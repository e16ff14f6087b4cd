"""Whoever may put events on our bus says that nodes are down: looked at, rebooted at most, never destroyed alone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from roundhouse.contracts import names
from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.incident import IncidentState
from roundhouse.line.policy import BreakerLimits, Mode
from tests.steps.samples import house, worker
from tests.steps.world import World

HOUR = 3600
STEP_S = 240


def snapshot(world: World, sequence: int, down: Iterable[str], **changes: Any) -> dict[str, Any]:
    nodes = [
        {"name": str(n.hostname).split(".")[0], "state": "DOWN*" if n.instance_id in set(down) else "IDLE"}
        for n in world.cluster.nodes
        if n.group == "workers"
    ]
    detail = {"version": 1, "cluster": "train", "sequence": sequence, "taken_at": world.now.isoformat(), "nodes": nodes}
    return {
        "id": f"s{sequence}",
        "source": names.SLURM_SOURCE,
        "time": world.now.isoformat(),
        "detail": detail | changes,
    }


def keep_saying(world: World, victims: list[str], every_s: float, hours: float) -> None:
    """One more victim at a time, and a snapshot every four minutes that goes on saying so."""
    said: list[str] = []

    def say(number: int) -> None:
        if number * STEP_S % every_s == 0 and len(said) < len(victims):
            said.append(victims[len(said)])
        world.take(snapshot(world, number + 1, said))

    for number in range(round(hours * HOUR / STEP_S)):
        world.later(number * STEP_S, partial(say, number))
    world.run(hours * HOUR)


def test_slow_lies_about_every_node_destroy_none_and_stop_at_the_breaker() -> None:
    limits = BreakerLimits(short_max=4, group_short_max=4, short_percent=50, day_max=5, day_percent=80, open_s=90_000)
    world = house(20, Mode.ACT, breaker=limits, slurm_may_reboot=True)
    keep_saying(world, [worker(world, n) for n in range(10)], 7 * STEP_S, 6)
    assert world.cluster.made("replace") == world.cluster.made("delete_nodes") == []
    assert 0 < len(world.cluster.made("reboot")) <= 5
    assert len(world.told(NoticeKind.BREAKER_OPENED)) == 1


def test_a_node_that_slurm_goes_on_missing_is_not_called_repaired_and_people_are_asked_before_it_is_lost() -> None:
    world = house(20, Mode.ACT, repair_timeout_s=1800, slurm_may_reboot=True)
    victim = worker(world, 3)
    keep_saying(world, [victim], STEP_S, 3)
    assert len(world.cluster.made("reboot")) == 1
    assert world.cluster.made("replace") == []
    (question,) = world.told(NoticeKind.APPROVAL_ASKED)
    assert victim in question.title
    assert "repaired" not in {i.outcome for i in world.incidents.records.values()}


def test_lies_about_nodes_that_hyperpod_has_running_touch_none_unless_the_policy_says_so() -> None:
    world = house(20, Mode.ACT)
    keep_saying(world, [worker(world, n) for n in range(3)], 2 * STEP_S, 4)
    assert world.cluster.calls == []
    assert len(world.told(NoticeKind.APPROVAL_ASKED)) >= 3


def test_a_snapshot_from_the_future_and_a_number_beyond_all_others_are_believed_for_as_long_as_any() -> None:
    world = house(4, Mode.ACT)
    later = (world.now + timedelta(days=400)).isoformat()
    world.take(snapshot(world, 10**30, [], taken_at=later))
    kept = world.control.snapshot("train")
    assert kept is not None
    assert kept.taken_at == world.now
    world.later(60, lambda: world.take(snapshot(world, 2, [worker(world, 1)])))
    world.run(61)
    (incident,) = world.incidents.records.values()
    assert (incident.instance_id, incident.state) == (worker(world, 1), IncidentState.OPEN)
    kept = world.control.snapshot("train")
    assert kept is not None
    assert kept.sequence == 2
