"""`create` and `status`: a run as a person sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from roundhouse.cli.runs import ENDED, draw_run
from roundhouse.contracts.executions import ExecutionState
from roundhouse.errors import StoreFailure
from roundhouse.line.breaker import BreakerState, BreakerStatus
from roundhouse.ports import Pause, Run, StageRecord
from tests.cli.conftest import Ended, MemoryDeployment

Shell = Callable[..., Ended]
T0 = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
FIRST = StageRecord("workers", 0, 39, T0, T0 + timedelta(minutes=20), "VERIFIED", "all 39 nodes found [reserved]")
SECOND = StageRecord("workers", 1, 52, T0 + timedelta(minutes=25))
THIRD = StageRecord("workers", 2, 64, T0 + timedelta(minutes=45))
RUN = Run(
    cluster="train-demo",
    run_id="run-1",
    started_at=T0,
    step="44 of 52 nodes Running",
    stages=(FIRST, SECOND),
    expected_usd_per_hour=512.46,
    history=((T0, 0, "created"), (T0 + timedelta(minutes=30), 44, "ramp")),
    capacity={"reserved": 44, "on_demand": 1},
)


def drawn(run: Run, contract: int = 64) -> str:
    console = Console(width=120, no_color=True)
    with console.capture() as capture:
        console.print(draw_run(run, contract))
    return capture.get()


def test_a_run_shows_how_far_it_is() -> None:
    text = drawn(RUN)
    for part in (
        "run run-1",
        "running",
        "44 of 64 Running",
        "44 of 52 nodes Running",
        "VERIFIED",
        "all 39 nodes found [reserved]",
        "expected 512.46 USD/h",
        "44 reserved, 1 on_demand",
    ):
        assert part in text
    assert "actual" not in text, "nothing is said of a cost that is not known"


def test_stages_count_from_one_and_the_last_is_shown_while_it_waits() -> None:
    rows = [line.split() for line in drawn(RUN).splitlines() if line.startswith("workers")]
    assert [row[:4] for row in rows] == [["workers", "1", "39", "VERIFIED"], ["workers", "2", "52", "…"]]


def test_the_actual_cost_stands_beside_the_expected_one() -> None:
    assert "expected 512.46 USD/h, actual 1,062.86 USD/h" in drawn(replace(RUN, actual_usd_per_hour=1062.86))


@pytest.mark.parametrize("run", [replace(RUN, stages=(), history=(), capacity=None), replace(RUN, step="[/x]")])
def test_a_run_of_any_age_can_be_drawn(run: Run) -> None:
    assert "run run-1" in drawn(run, contract=0)


def test_every_end_of_a_run_has_an_exit_code() -> None:
    assert ENDED == {"done": 0, "held": 3, "rolled_back": 3, "failed": 1}


def test_status_before_anything_was_created(deployment: MemoryDeployment, shell: Shell) -> None:
    ended = shell("status", "-e", "demo")
    assert ended.code == 0
    for part in ("train-demo", "no creation recorded", "breaker closed", "no open incidents"):
        assert part in ended.out


def test_status_shows_run_breaker_and_pause(deployment: MemoryDeployment, shell: Shell) -> None:
    deployment.runs.put(RUN)
    deployment.breaker.save("train-demo", BreakerState(BreakerStatus.OPEN, T0, "20 nodes with cause unreachable"))
    deployment.control.set_pause(Pause("sam", "network [work]", T0))
    output = shell("status", "-e", "demo").out
    for part in (
        "44 of 64 Running",
        "breaker open since 11-30 09:00 UTC: 20 nodes",
        "PAUSED by sam since 11-30 09:00 UTC: network [work]",
    ):
        assert part in output


def test_a_breaker_that_cannot_be_read_is_said_to_stop_action(deployment: MemoryDeployment, shell: Shell) -> None:
    deployment.breaker.fail_next(StoreFailure("table away"))  # type: ignore[attr-defined]
    assert "breaker unreadable (table away): nothing acts" in shell("status", "-e", "demo").out


def test_status_as_json_is_one_document(deployment: MemoryDeployment, shell: Shell) -> None:
    deployment.runs.put(RUN)
    document = json.loads(shell("status", "-e", "demo", "--json").out)
    assert document["run"]["run_id"] == "run-1"
    assert document["breaker"]["status"] == "closed"
    assert (document["pause"], document["open_incidents"]) == (None, [])


@pytest.mark.parametrize(("status", "code"), ENDED.items())
def test_create_follows_its_run_to_the_end(status: str, code: int, deployment: MemoryDeployment, shell: Shell) -> None:
    deployment.runs.put(replace(RUN, status=status))
    ended = shell("create", "-e", "demo", "--run-id", "run-1")
    assert ended.code == code
    assert "44 of 64 Running" in ended.out


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (None, "ended without a result: its execution is aborted. `roundhouse create -e demo` goes on"),
        (RUN, "ended without a result: its execution is aborted. `roundhouse create -e demo` goes on"),
        (replace(RUN, run_id="run-2"), "run-1 has ended: run-2 has the cluster now"),
    ],
)
def test_create_does_not_follow_an_execution_that_somebody_stopped(
    record: Run | None, told: str, deployment: MemoryDeployment, shell: Shell
) -> None:
    if record is not None:
        deployment.runs.put(record)
    deployment.workflows.ended["run-1"] = ExecutionState.ABORTED  # type: ignore[attr-defined]
    ended = shell("create", "-e", "demo", "--run-id", "run-1")
    assert (ended.code, told in ended.out) == (1, True), ended.out


@pytest.mark.parametrize("command", [("create", "--run-id"), ("rehearse", "--id")])
def test_a_name_that_step_functions_would_not_take_is_refused(
    command: tuple[str, str], deployment: MemoryDeployment, shell: Shell
) -> None:
    ended = shell(command[0], "-e", "demo", command[1], "my run!")
    assert (ended.code, deployment.workflows.started) == (2, {})  # type: ignore[attr-defined]
    assert f"error: {command[1]} 'my run!' is no name" in ended.err
