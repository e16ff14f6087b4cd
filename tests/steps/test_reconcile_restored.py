"""A table set back by hours, or emptied, in the middle of a repair: nothing is done twice, nothing is forgotten.

Point-in-time recovery makes a new table from a moment of the past. Here that moment is each one in which a record of
the repair was written, and the table is set back at each of a few moments after it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.incident import IncidentState, Outcome
from tests.steps.reconciled import to_the_end
from tests.steps.samples import health, worker
from tests.steps.test_repair_crashes import REPAIRS, SIZE, deliver
from tests.steps.world import World

TABLES = ("incidents", "ledger", "approvals")
TOUCHED = ("reboot", "replace", "delete and restore", "asked")
LATER_S = (0, 60, 300, 900, 4000)


def records(world: World, table: str) -> dict[str, Any]:
    found: dict[str, Any] = getattr(world, table).records
    return found


def repair(kind: str) -> World:
    """A repair of that kind that begins now."""
    world = REPAIRS[kind]()
    deliver(world, health(world, worker(world, 3)))
    return world


def moments(kind: str, table: str) -> list[float]:
    """Seconds after the signal at which the table held something new, in such a repair."""
    world = repair(kind)
    begun, seen, found = world.now, None, []

    def look() -> None:
        nonlocal seen
        held = {key: record.version for key, record in records(world, table).items()}
        if held != seen:
            seen = held
            found.append((world.now - begun).total_seconds())

    world.each_moment = look
    world.run()
    return sorted(set(found))


def set_back(world: World, table: str, copy: dict[str, Any]) -> None:
    held = records(world, table)
    held.clear()
    held.update(copy)


def sound(world: World, kind: str, said: object) -> None:
    calls = Counter((c.operation, c.arguments) for c in world.cluster.calls if c.operation != "add")
    assert all(count == 1 for count in calls.values()), (said, calls)
    assert len(calls) <= 1, (said, calls)
    outcomes = {i.outcome for i in world.incidents.records.values()}
    assert all(i.state is IncidentState.CLOSED for i in world.incidents.records.values()), said
    shown = [n.text for n in world.told(NoticeKind.DIFFERENCES)]
    target = world.cluster.groups["workers"].target
    whole = world.running() == target == SIZE
    assert whole or any("the contract has" in text for text in shown), (said, outcomes, shown)
    assert world.cluster.highest["workers"] <= SIZE, said
    if calls and whole and world.incidents.records:
        good = {Outcome.REPAIRED, Outcome.SUPERSEDED, Outcome.RECOVERED, Outcome.ESCALATED}
        assert outcomes & good, (said, outcomes)


def stop_all(world: World) -> None:
    """As careful people do before they put a table in another's place."""
    for execution in list(world.executions.values()):
        if execution.status == "RUNNING":
            world.stop(execution.name)


@pytest.mark.parametrize("stop", [False, True], ids=["going on", "stopped"])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", TOUCHED)
def test_a_table_is_set_back_to_any_moment_of_a_repair(kind: str, table: str, stop: bool) -> None:
    for moment in moments(kind, table):
        for later in LATER_S:
            world = repair(kind)
            copies: list[dict[str, Any]] = []
            world.later(moment, lambda world=world, copies=copies: copies.append(dict(records(world, table))))
            world.later(moment + later + 1, lambda world=world, copies=copies: set_back(world, table, copies[0]))
            if stop:
                world.later(moment + later + 1, lambda world=world: stop_all(world))
            to_the_end(world)
            sound(world, kind, (kind, table, moment, later))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("kind", TOUCHED)
def test_a_table_is_emptied_at_any_moment_of_a_repair(kind: str, table: str) -> None:
    for moment in moments(kind, table):
        world = repair(kind)
        world.later(moment + 1, lambda world=world: set_back(world, table, {}))
        to_the_end(world)
        sound(world, kind, (kind, table, moment))
