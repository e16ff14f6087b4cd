"""`rehearse`, and going without: what is started, what is shown, and with which exit code it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from roundhouse.build.rehearsal import Rehearsal, Result
from roundhouse.build.scripts import ScriptFile, Scripts
from roundhouse.cli import rehearsals
from roundhouse.contracts.executions import ExecutionState
from roundhouse.ports import Pause, Run
from tests.cli.conftest import CALLER, Ended, MemoryDeployment

Shell = Callable[..., Ended]
NOW = datetime.now(UTC)
ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/a1b2c3d4e5f6"
SCRIPTS = Scripts("s3://sagemaker-roundhouse-demo-111122223333/lifecycle", "on_create.sh")
RECORD = Rehearsal(
    environment="demo",
    rehearsal_id="r-1",
    scripts=SCRIPTS,
    digest="0123456789abcdef" * 4,
    files=(ScriptFile("on_create.sh", 10, "sha256:00"),),
    cluster="train-demo-rehearsal-01234567",
    instance_type="ml.m5.2xlarge",
    started_at=NOW,
    looked_at=NOW,
    cluster_arn=ARN,
)
WHY = "the region is about to run out of capacity"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsals, "REFRESH_S", 0.0)


def played(deployment: MemoryDeployment, *records: Rehearsal, end: ExecutionState) -> None:
    """Each look of the command finds the next record; with the last the execution has ended."""
    left = list(records)
    workflows: Any = deployment.workflows

    def status(machine: str, name: str) -> ExecutionState:
        assert machine.endswith(":stateMachine:roundhouse-demo-rehearse")
        if left:
            deployment.rehearsals.records["newest"] = left.pop(0)  # type: ignore[attr-defined]
        return end if not left else ExecutionState.RUNNING

    workflows.status = status


def test_rehearse_starts_the_workflow_and_comes_back(deployment: MemoryDeployment, shell: Shell) -> None:
    ended = shell("rehearse", "-e", "demo", "--id", "r-1")
    assert (ended.code, "started r-1" in ended.out) == (0, True)
    machine, payload = deployment.workflows.started["r-1"]  # type: ignore[attr-defined]
    assert machine == "arn:aws:states:us-west-2:111122223333:stateMachine:roundhouse-demo-rehearse"
    assert payload == {"by": CALLER}
    assert shell("rehearse", "-e", "demo", "--id", "r-1").code == 3


PASS = replace(RECORD, result=Result.PASSED, reason="the scripts ran to their end on i-0", ended_at=NOW)
FAIL = replace(
    RECORD,
    result=Result.FAILED,
    reason="the lifecycle script failed on i-0",
    ended_at=NOW,
    log_stream="LifecycleConfig/controller/i-0",
)
NONE = replace(RECORD, result=Result.INCONCLUSIVE, reason="no capacity", ended_at=NOW)


@pytest.mark.parametrize(
    ("last", "end", "code", "line"),
    [
        (PASS, ExecutionState.SUCCEEDED, 0, "PASSED"),
        (FAIL, ExecutionState.FAILED, 1, f"read /aws/sagemaker/Clusters/{RECORD.cluster}/a1b2c3d4e5f6 LifecycleConfig"),
        (NONE, ExecutionState.FAILED, 5, "INCONCLUSIVE"),
        (RECORD, ExecutionState.ABORTED, 5, "under way"),
        (replace(PASS, ended_at=None), ExecutionState.TIMED_OUT, 5, "is being deleted"),
    ],
)
def test_rehearse_follows_to_the_end(
    last: Rehearsal, end: ExecutionState, code: int, line: str, deployment: MemoryDeployment, shell: Shell
) -> None:
    played(deployment, RECORD, RECORD, last, end=end)
    ended = shell("rehearse", "-e", "demo", "--id", "r-1", "--wait")
    assert ended.code == code, ended.out
    assert line in " ".join(ended.out.split())
    assert ended.out.count("under way") == 1, "what does not change is said once"


def test_one_that_never_began_is_no_pass(deployment: MemoryDeployment, shell: Shell) -> None:
    deployment.workflows.ended["r-1"] = ExecutionState.SUCCEEDED  # type: ignore[attr-defined]
    ended = shell("rehearse", "-e", "demo", "--id", "r-1", "--wait")
    assert (ended.code, "did not begin" in ended.out) == (5, True)


def test_a_second_one_and_a_pause_are_refused(deployment: MemoryDeployment, shell: Shell) -> None:
    deployment.rehearsals.put(RECORD)
    ended = shell("rehearse", "-e", "demo")
    assert ended.code == 3
    assert "rehearsal r-1 is under way" in ended.err
    deployment.rehearsals.put(replace(RECORD, looked_at=NOW - timedelta(hours=2), version=1))
    assert shell("rehearse", "-e", "demo", "--id", "r-2").code == 0, "an abandoned one does not stand in the way"
    deployment.control.set_pause(Pause("sam", "moving house", NOW))
    ended = shell("rehearse", "-e", "demo")
    assert (ended.code, "moving house" in ended.err) == (3, True)


# Going without ---------------------------------------------------------------------------------------------------
def test_create_carries_the_reason_and_who_gave_it(deployment: MemoryDeployment, shell: Shell) -> None:
    assert shell("create", "-e", "demo", "--run-id", "x", "--no-watch", "--unrehearsed", f" {WHY} ").code == 0
    _, payload = deployment.workflows.started["x"]  # type: ignore[attr-defined]
    assert payload == {"run_id": "x", "unrehearsed": {"why": WHY, "by": CALLER}}


@pytest.mark.parametrize("why", ["", "hurry", " " * 40])
def test_a_reason_that_says_nothing_is_wrong_usage(why: str, deployment: MemoryDeployment, shell: Shell) -> None:
    ended = shell("create", "-e", "demo", "--no-watch", "--unrehearsed", why)
    assert (ended.code, "at least 10 characters" in ended.err) == (2, True)
    assert deployment.workflows.started == {}  # type: ignore[attr-defined]


def test_status_shows_the_rehearsal_and_a_run_without_one(deployment: MemoryDeployment, shell: Shell) -> None:
    assert "no rehearsal recorded" in shell("status", "-e", "demo").out
    deployment.rehearsals.put(FAIL)
    deployment.runs.put(Run("train-demo", "run-1", NOW, unrehearsed=f"{WHY} (sam)"))
    shown = " ".join(shell("status", "-e", "demo").out.split())
    assert "scripts (0123456789ab) FAILED" in shown
    assert f"NOT rehearsed: {WHY} (sam)" in shown
    document = json.loads(shell("status", "-e", "demo", "--json").out)
    assert document["rehearsal"]["result"] == "FAILED"
    assert document["run"]["unrehearsed"] == f"{WHY} (sam)"
