"""Stops, restored tables, lost queues and killed reconcilers in any order: nothing twice, and everything ends."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.incident import Outcome
from roundhouse.line.state import NodeStatus
from tests.steps.asl import Died
from tests.steps.reconciled import to_the_end
from tests.steps.samples import health, worker
from tests.steps.test_reconcile_restored import TABLES, records, set_back, stop_all
from tests.steps.test_repair_crashes import REPAIRS, SIZE, deliver
from tests.steps.world import World

HAPPENS = (
    "stop",
    "copy",
    "set back",
    "empty",
    "reconcile",
    "die in it",
    "bad again",
    "others replace",
    "lose",
    "slack",
)


def happen(world: World, what: str, table: str, copies: dict[str, dict[str, Any]], instance: str) -> None:
    match what:
        case "stop":
            stop_all(world)
        case "copy":
            copies[table] = dict(records(world, table))
        case "set back" if table in copies:
            set_back(world, table, copies.pop(table))
        case "empty" if table == "approvals":
            set_back(world, table, {})
        case "reconcile":
            world.reconcile()
        case "die in it":
            world.gate.die_at = len(world.gate.calls) + 12
            with suppress(Died):
                world.reconcile()
            world.gate.die_at = None
        case "bad again":
            deliver(world, health(world, instance))
        case "others replace":
            node = world.cluster.by_id(instance)
            if node is not None and node.status is NodeStatus.RUNNING:
                world.cluster._repaired("replace", node)
        case "lose":
            world.cluster.lose_next_answer()
        case "slack":
            world.slack_up = not world.slack_up
        case _:
            pass


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2500), st.sampled_from(HAPPENS), st.sampled_from(TABLES)), max_size=7),
    st.sampled_from(["reboot", "replace", "delete and restore", "asked"]),
)
def test_whatever_is_stopped_or_set_back_nothing_is_done_twice_and_everything_ends(
    happens: list[tuple[int, str, str]], kind: str
) -> None:
    world = REPAIRS[kind]()
    instance = worker(world, 3)
    copies: dict[str, dict[str, Any]] = {}
    for seconds, what, table in happens:
        world.later(seconds, partial(happen, world, what, table, copies, instance))
    deliver(world, health(world, instance))
    to_the_end(world)
    again = sum(what == "bad again" for _, what, _ in happens)
    calls = Counter((c.operation, c.arguments) for c in world.cluster.calls if c.operation != "add")
    assert max(calls.values(), default=0) <= 1 + again, calls
    assert world.cluster.highest["workers"] <= SIZE
    shown = any("the contract has" in notice.text for notice in world.told(NoticeKind.DIFFERENCES))
    people = shown or any(i.outcome is Outcome.ESCALATED for i in world.incidents.records.values())
    assert people or world.cluster.groups["workers"].target == SIZE
