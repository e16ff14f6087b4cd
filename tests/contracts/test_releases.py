"""Executions that began under the released definitions end well on today's functions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roundhouse.line.incident import Outcome
from stacks.functions import FUNCTIONS
from tests.contracts.record import RELEASED, placeholders
from tests.contracts.runs import only, played
from tests.statemachines import test_statuses as statuses
from tests.steps import asl
from tests.steps.world import World

ANSWERS: dict[str, list[str]] = json.loads((RELEASED / "answers.json").read_text())
DEFINITIONS = sorted(RELEASED.glob("*.asl.json"))
VALUES = {"cluster_name", "poll_s", "controller_timeout_s"}


def _ends(worlds: dict[str, World]) -> None:
    for name, world in worlds.items():
        for execution in world.executions.values():
            assert execution.status == "SUCCEEDED", (name, execution.visited[-5:], execution.errors)
            assert not [error for error in execution.errors if "KeyError" in error or "BadInput" in error]
    [incident] = worlds["repair"].incidents.records.values()
    assert incident.outcome is Outcome.REPAIRED
    assert [call.operation for call in worlds["repair"].cluster.calls] == ["replace"]
    assert worlds["creation"].executions["run-1"].output["status"] == "done"
    assert worlds["lost_discount"].executions["run-1"].output["status"] == "rolled_back"


def test_released_definitions_run_on_todays_functions() -> None:
    _ends(played(RELEASED, lambda function, payload, answer: answer))


def test_answers_of_the_release_are_enough_for_what_comes_after_them() -> None:
    """An execution keeps the decision that older code made: without the members that are new since."""
    _ends(played(RELEASED, only(ANSWERS)))


def test_the_release_left_answers_that_todays_functions_still_give() -> None:
    seen: dict[str, set[str]] = {}

    def note(function: str, payload: dict[str, Any], answer: Any) -> Any:
        seen.setdefault(function, set()).update(answer or ())
        return answer

    played(RELEASED, note)
    lost = {name: set(members) - seen[name] for name, members in ANSWERS.items() if set(members) - seen[name]}
    assert lost == {}, "members that a released definition may read"


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.name)
def test_every_function_that_a_released_definition_names_still_exists(path: Any) -> None:
    """Keep it one release longer: executions last up to fourteen days (stacks/functions.py, STILL_CALLED)."""
    assert placeholders(path.read_text()) - VALUES <= FUNCTIONS.keys()


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.name)
def test_a_status_that_a_released_definition_does_not_know_does_no_harm(
    path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A status that is new today leads an older execution nowhere it should not go: its Choices have a Default, and
    that is to wait, to decide anew, or to end without a further action."""
    machine = path.name.split(".")[0]
    monkeypatch.setattr(asl, "FOLDER", RELEASED)
    asl.definition.cache_clear()
    released = json.loads(path.read_text())["States"]
    harmless = {"Resume", "Decide", "Close", "Finish", "WaitToPlan", "Broken", "CloseAfterError", "FinishAfterError"}
    strays = {}
    for task, table in statuses.MACHINES[machine].items():
        after = released.get(task, {}).get("Next")  # none: the execution ends there, whatever is answered
        if after is None or released[after]["Type"] != "Choice":
            continue
        for status, today in table.items():
            then = statuses.route(machine, task, status)
            if then not in {today, *harmless}:
                strays[task, status] = (then, today)
    asl.definition.cache_clear()
    assert strays == {}
