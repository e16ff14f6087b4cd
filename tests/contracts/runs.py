"""Whole executions in memory, for what they leave behind: a repair that people approve, a creation, a lost discount.

`played` runs them on chosen definitions and lets the caller stand between the definitions and the functions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from roundhouse.contracts.notices import Notice
from roundhouse.line.policy import Mode
from tests.steps import asl
from tests.steps.samples import empty_account, house
from tests.steps.test_repair import REPLACE, fail
from tests.steps.world import World

Answer = Callable[[str, dict[str, Any], Any], Any]
"""(function, payload, what it answered) → what the definition gets to see."""


def played(folder: Path, seen: Answer) -> dict[str, World]:
    """Each run's world after its end. `folder` holds the definitions."""
    kept, asl.FOLDER = asl.FOLDER, folder
    asl.definition.cache_clear()
    try:
        return {name: _play(make, seen) for name, make in RUNS.items()}
    finally:
        asl.FOLDER = kept
        asl.definition.cache_clear()


def _play(make: Callable[[], World], seen: Answer) -> World:
    world = make()
    call = world.call

    def standing_between(resource: str, arguments: dict[str, Any]) -> Any:
        answer = call(resource, arguments)
        if "FunctionName" not in arguments:
            return answer
        return {"Payload": seen(arguments["FunctionName"], arguments["Payload"], answer["Payload"])}

    world.call = standing_between  # type: ignore[method-assign]
    world.run()
    return world


def _approving(choice: str) -> Callable[[Notice], tuple[str, float]]:
    return lambda notice: (choice, 60)


def _repair() -> World:
    world = house(mode=Mode.ASK, ladder=REPLACE)
    world.people = _approving("approve")
    fail(world)
    return world


def _creation() -> World:
    world = empty_account()
    world.create()
    return world


def _lost() -> World:
    world = empty_account()
    world.cluster.on_demand.add("workers")
    world.people = _approving("roll_back")
    world.create()
    return world


RUNS: dict[str, Callable[[], World]] = {"repair": _repair, "creation": _creation, "lost_discount": _lost}


def answers() -> dict[str, list[str]]:
    """Members of every answer that a function gave, by function."""
    found: dict[str, set[str]] = {}

    def note(function: str, payload: dict[str, Any], answer: Any) -> Any:
        found.setdefault(function, set()).update(answer if isinstance(answer, Mapping) else ())
        return answer

    played(asl.FOLDER, note)
    return {function: sorted(members) for function, members in sorted(found.items())}


def only(members: Mapping[str, list[str]]) -> Answer:
    """Answers as older code gave them: without the members that it did not know."""

    def reduced(function: str, payload: dict[str, Any], answer: Any) -> Any:
        if function not in members or not isinstance(answer, Mapping):
            return answer
        return json.loads(json.dumps({name: answer[name] for name in members[function] if name in answer}))

    return reduced
