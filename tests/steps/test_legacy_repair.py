"""Repairs on clusters without continuous provisioning: no logical ids, no events, absolute counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from roundhouse.line.incident import Outcome
from roundhouse.line.ladder import Rung
from tests.steps.legacy import house, legacy_of
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
