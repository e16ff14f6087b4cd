"""Repairs on clusters without continuous provisioning: no logical ids, no events, absolute counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from roundhouse.line.incident import Outcome
from roundhouse.line.ladder import Rung
from tests.steps.legacy import SCRIPT, SHORTAGE, LegacyCluster, house, legacy_of
from tests.steps.samples import health, worker
from tests.steps.world import World

SIZE = 20
LADDERS = {
    "reboot": (Rung.REBOOT, Rung.HUMAN),
    "replace": (Rung.REPLACE, Rung.HUMAN),
    "delete and restore": (Rung.DELETE_RESTORE, Rung.HUMAN),
}


def broken(kind: str, prepare: Callable[[World], None] = lambda world: None) -> World:
    """One node is reported, and all is played to the end."""
    world = house(ladder=LADDERS[kind])
    prepare(world)
    assert world.take(health(world, worker(world, 3))) == []
    world.run()
    return world


@pytest.mark.parametrize("kind", LADDERS)
def test_plain_repair(kind: str) -> None:
    world = broken(kind)
    [incident] = world.incidents.records.values()
    [execution] = world.executions.values()
    assert incident.outcome is Outcome.REPAIRED, (incident.decision, execution.visited, execution.errors)
    assert world.running() == world.cluster.groups["workers"].target == SIZE
    stands = world.cluster.by_id(incident.current_instance_id or "")
    assert stands is not None
    assert (incident.current_instance_id == incident.instance_id) == (kind == "reboot")
    assert legacy_of(world).updates == ([("workers", 19, 20)] if kind == "delete and restore" else [])
    assert world.locks.get("train").owner == ""


@pytest.mark.parametrize("kind", ["replace", "delete and restore"])
def test_lost_answer_is_judged_by_live_state_and_never_called_twice(kind: str) -> None:
    world = broken(kind, lambda world: world.cluster.lose_next_answer())
    [incident] = world.incidents.records.values()
    assert incident.outcome is Outcome.REPAIRED, incident.decision
    assert len([c for c in world.cluster.calls if c.operation != "set_count"]) == 1
    assert world.running() == world.cluster.groups["workers"].target == SIZE


def test_reboot_whose_answer_was_lost_is_never_made_twice_and_people_are_told() -> None:
    """Without events, a node that was back before anybody looked cannot be told from one that never went."""
    world = broken("reboot", lambda world: world.cluster.lose_next_answer())
    [incident] = world.incidents.records.values()
    assert [c.operation for c in world.cluster.calls] == ["reboot"]
    assert incident.outcome is Outcome.ESCALATED
    assert "nobody can tell whether" in incident.decision


def _when_deleted(world: World, what: Callable[[LegacyCluster], None]) -> None:
    """Do `what` once, as soon as the deleted node is gone."""
    done: list[bool] = []

    def moment() -> None:
        cluster = legacy_of(world)
        if not done and cluster.groups["workers"].target == 19 and len(cluster.nodes) == SIZE:
            done.append(True)
            what(cluster)

    world.each_moment = moment


def test_count_that_somebody_else_restored_is_left_alone() -> None:
    world = broken(
        "delete and restore",
        lambda world: _when_deleted(world, lambda cluster: cluster.somebody_updates("workers", SIZE)),
    )
    [incident] = world.incidents.records.values()
    assert legacy_of(world).updates == []
    assert incident.outcome is Outcome.SUPERSEDED, incident.decision
    assert world.running() == world.cluster.groups["workers"].target == SIZE


def test_deleted_by_somebody_else_meanwhile_only_ours_is_restored() -> None:
    world = broken(
        "delete and restore", lambda world: _when_deleted(world, lambda cluster: cluster.somebody_deletes("workers"))
    )
    [incident] = world.incidents.records.values()
    assert incident.outcome is Outcome.REPAIRED, incident.decision
    assert legacy_of(world).updates == [("workers", 18, 19)]
    assert legacy_of(world).killed == []


def test_update_that_finds_no_capacity_is_made_again_later() -> None:
    world = broken(
        "delete and restore", lambda world: _when_deleted(world, lambda cluster: cluster.undo.extend([SHORTAGE] * 2))
    )
    [incident] = world.incidents.records.values()
    assert incident.outcome is Outcome.REPAIRED, incident.decision
    assert legacy_of(world).updates == [("workers", 19, 20)] * 3
    assert world.locks.get("train").owner == ""


def test_script_that_fails_is_handed_to_people_with_its_log() -> None:
    world = broken(
        "delete and restore", lambda world: _when_deleted(world, lambda cluster: cluster.undo.append(SCRIPT))
    )
    [incident] = world.incidents.records.values()
    assert incident.outcome is Outcome.ESCALATED
    assert legacy_of(world).updates == [("workers", 19, 20)]
    assert "/aws/sagemaker/Clusters/train/" in incident.decision
    assert world.locks.get("train").owner == ""


def test_group_that_is_not_as_the_environment_says_is_handed_to_people() -> None:
    change = {"ExecutionRole": "arn:aws:iam::111122223333:role/other"}
    world = broken(
        "delete and restore",
        lambda world: _when_deleted(world, lambda cluster: cluster.settings["workers"].update(change)),
    )
    [incident] = world.incidents.records.values()
    assert incident.outcome is Outcome.ESCALATED
    assert legacy_of(world).updates == []
    assert "ExecutionRole" in incident.decision


def test_environment_that_says_continuous_never_sets_a_count() -> None:
    world = house(ladder=LADDERS["delete and restore"])
    world.settings.spec = replace(world.spec, provisioning_mode="continuous")
    assert world.take(health(world, worker(world, 3))) == []
    world.run()
    [incident] = world.incidents.records.values()
    assert legacy_of(world).updates == []
    assert incident.outcome is Outcome.ESCALATED
    assert "the environment says continuous" in incident.decision
