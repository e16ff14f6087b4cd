"""A cluster is ours by its ARN: one of the same name that somebody makes after ours is gone is never touched."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roundhouse.ports import Run
from tests.steps.samples import empty_account
from tests.steps.world import World

ANOTHER = "arn:aws:sagemaker:us-west-2:111122223333:cluster/another00000"


def record(world: World) -> Run:
    run = world.runs.get("train")
    assert run is not None
    return run


def made_again_by_a_colleague(world: World) -> list[str]:
    """Ours is deleted by hand, and another of its name stands there. Returns its instances."""
    world.cluster.arn = ANOTHER
    world.cluster.nodes = [
        replace(node, instance_id=f"i-{number:017d}") for number, node in enumerate(world.cluster.nodes, start=900)
    ]
    world.cluster.calls.clear()
    return [str(node.instance_id) for node in world.cluster.nodes]


def untouched(world: World, instances: list[str]) -> None:
    assert [call.operation for call in world.cluster.calls] == []
    assert [node.instance_id for node in world.cluster.nodes] == instances
    assert world.cluster.status == "InService"


def test_the_record_holds_the_arn_that_hyperpod_gave() -> None:
    world = empty_account()
    world.create()
    world.run()
    assert record(world).cluster_arn == world.cluster.arn


def test_the_arn_is_learned_when_the_answer_was_lost() -> None:
    world = empty_account()
    world.cluster.lose_next_answer()
    world.create()
    world.run()
    assert record(world).status == "done"
    assert record(world).cluster_arn == world.cluster.arn


def test_a_later_run_does_not_take_over_the_other_cluster() -> None:
    world = empty_account()
    world.create()
    world.run()
    others = made_again_by_a_colleague(world)
    world.create("run-2")
    world.run()
    assert record(world).status == "failed"
    assert "Roundhouse did not create it" in record(world).step
    untouched(world, others)


@pytest.mark.parametrize("after_s", [60, 150, 240])
def test_a_run_under_way_leaves_the_other_cluster_alone(after_s: float) -> None:
    world = empty_account()
    world.create()
    world.run(for_s=after_s)
    if record(world).status != "running":
        pytest.fail(f"the creation has ended within {after_s} s: choose an earlier moment")
    others = made_again_by_a_colleague(world)
    world.run()
    assert record(world).status == "failed"
    untouched(world, others)


def test_a_roll_back_leaves_the_other_cluster_alone() -> None:
    world = empty_account()
    world.cluster.on_demand.add("workers")
    others: list[str] = []

    def people(notice: object) -> tuple[str, float]:
        others.extend(made_again_by_a_colleague(world))
        return "roll_back", 60

    world.people = people
    world.create()
    world.run()
    assert record(world).status == "rolled_back"
    assert others
    untouched(world, others)


def test_a_cluster_made_anew_by_us_is_ours() -> None:
    world = empty_account()
    world.create()
    world.run()
    first = record(world).cluster_arn
    world.cluster.delete_cluster("train")
    world.create("run-2")
    world.run()
    assert record(world).status == "done"
    assert record(world).cluster_arn == world.cluster.arn != first
