"""A rollback, or a deployment half way: older code meets what newer code wrote. It waits, and then goes on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from roundhouse.errors import NewerContract
from roundhouse.line.incident import Outcome
from roundhouse.line.policy import Mode
from tests.steps.samples import empty_account, house
from tests.steps.test_repair import REPLACE, fail, outcome
from tests.steps.world import World


def unreadable(world: World, store: Any, method: str, for_s: float) -> None:
    """`store.method` meets a newer document from now on, for so long."""
    until, real = world.now + timedelta(seconds=for_s), getattr(store, method)

    def reading(*args: Any, **kwargs: Any) -> Any:
        if world.now < until:
            raise NewerContract("table: key: not an Incident that this code knows, but a newer one")
        return real(*args, **kwargs)

    setattr(store, method, reading)


@pytest.mark.parametrize("hours", [0.2, 12])
@pytest.mark.parametrize("store", ["incidents", "approvals", "ledger", "breaker"])
def test_a_repair_waits_for_the_code_that_knows_its_records(store: str, hours: float) -> None:
    world = house(mode=Mode.ASK, ladder=REPLACE)
    world.people = lambda notice: ("approve", 1500.0)  # a click that cannot be recorded is told, and made again
    instance = fail(world)
    world.run(for_s=150)
    method = "load" if store == "breaker" else "get"
    unreadable(world, getattr(world, store), method, hours * 3600)
    world.run()
    ends = (
        {Outcome.REPAIRED}
        if hours < 1 or store == "incidents"
        else {Outcome.REPAIRED, Outcome.EXPIRED, Outcome.ESCALATED}
    )
    assert outcome(world, instance) in ends
    assert len(world.cluster.made("replace")) <= 1


def test_a_creation_waits_for_the_functions_that_know_its_parameters() -> None:
    world = empty_account()
    unreadable(world, world.settings, "cluster_spec", 1800)
    execution = world.create()
    world.run()
    assert execution.output["status"] == "done"
    assert any("NewerContract" in error for error in execution.errors)
