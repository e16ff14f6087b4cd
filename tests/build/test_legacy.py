"""Absolute counts: what may be sent, what became of an update, and what comes after one that failed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from roundhouse.build import legacy
from roundhouse.build.legacy import Next, Progress, judge_update, live_count, retry
from roundhouse.build.progress import FailureKind, kind_of_text
from roundhouse.build.settings import differences, group_settings, live_settings
from roundhouse.build.spec import StageWaits
from roundhouse.build.staging import StepKind, next_step
from roundhouse.contracts.ledger import LedgerEntry, LedgerState
from roundhouse.line.state import Cluster, NodeStatus
from tests.build.samples import cluster, group, minutes, passed, run, spec

SHORTAGE = "We currently do not have sufficient capacity to launch new ml.g6.48xlarge instances. Please try again."
SCRIPT = "Lifecycle scripts did not run successfully. Please see CloudWatch logs for details."
LOGS = "/aws/sagemaker/Clusters/train/a1b2c3d4e5f6"
SPEC = spec(group(count=64), provisioning_mode="legacy")
SETTINGS = {each.name: group_settings(SPEC, each) for each in SPEC.groups}


def live(running: int = 39, **changes: Any) -> Cluster:
    made = cluster(SPEC, {"workers": running})
    groups = {name: replace(each, settings=SETTINGS[name]) for name, each in made.groups.items()}
    return replace(made, **{"continuous": False, "groups": groups, **changes})


def counted(running: int, **counts: Any) -> Cluster:
    made = live(running)
    return replace(made, groups={**made.groups, "workers": replace(made.groups["workers"], **counts)})


def entry(state: LedgerState = LedgerState.CALLED, at: float = 0, detail: str = "", **changes: Any) -> LedgerEntry:
    made = LedgerEntry(
        f"a/update_cluster/workers:52/{at}", "train", "update_cluster", "workers:52", None, state, minutes(at),
        minutes(at), group="workers", detail=detail, from_count=39, to_count=52,
    )  # fmt: skip
    return replace(made, **changes)


# The count -------------------------------------------------------------------------------------------------------
def test_live_count_is_what_all_agree_on() -> None:
    assert live_count(live(39), "workers") == legacy.LiveCount(39)


@pytest.mark.parametrize(
    ("made", "count", "word"),
    [
        (counted(39, target=40), 40, "disagree"),
        (counted(39, current=38), 39, "disagree"),
        (counted(39, current=41, target=41), 41, "disagree"),
        (live(39, nodes=()), 39, "disagree"),
        (live(39, status="Updating"), 39, "Updating"),
        (live(39, status="RollingBack"), 39, "RollingBack"),
    ],
)
def test_live_count_is_the_largest_and_says_why_it_cannot_be_used(made: Cluster, count: int, word: str) -> None:
    found = live_count(made, "workers")
    assert found.count == count
    assert word in found.problem


@pytest.mark.parametrize("status", list(NodeStatus))
def test_a_node_in_a_state_that_says_nothing_is_a_problem(status: NodeStatus) -> None:
    made = live(39)
    odd = replace(
        made, nodes=tuple(replace(n, status=status) if n.instance_id == "i-workers-0" else n for n in made.nodes)
    )
    trusted = {"Running", "Pending", "DeepHealthCheckInProgress", "Failure"}
    assert bool(live_count(odd, "workers").problem) == (status.value not in trusted)


def test_group_that_is_not_there_has_no_count() -> None:
    assert "there is no group" in live_count(live(), "other").problem


# The update ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("made", "at", "progress"),
    [
        (live(39, status="Updating"), 90, Progress.UNDER_WAY),
        (live(39, status="RollingBack"), 90, Progress.UNDER_WAY),
        (live(39, status="SystemUpdating"), 90, Progress.UNDER_WAY),
        (live(52), 1, Progress.DONE),
        (live(52, failure=SHORTAGE), 1, Progress.DONE),
        (live(53), 90, Progress.DONE),
        (live(39), 4.9, Progress.NOT_YET),
        (live(39, failure=SHORTAGE), 4.9, Progress.NOT_YET),
        (live(39, failure=SHORTAGE), 5, Progress.ROLLED_BACK),
        (live(39), 5, Progress.NOTHING),
        (None, 1, Progress.NOTHING),
        (live(39, groups={}), 1, Progress.NOTHING),
    ],
)
def test_update_is_judged_by_live_state(made: Cluster | None, at: float, progress: Progress) -> None:
    found, why = judge_update(entry(), made, minutes(at))
    assert found is progress
    assert why


FAILED = LedgerState.FAILED


@pytest.mark.parametrize(
    ("tries", "at", "next_", "word"),
    [
        ([], 0, Next.GO, ""),
        ([entry(LedgerState.CONFIRMED)], 60, Next.GO, ""),
        ([entry(FAILED, detail=f"rolled back: {SCRIPT}")], 600, Next.STOP, LOGS),
        ([entry(FAILED, detail=f"rolled back: {SHORTAGE}")], 9, Next.WAIT, "no capacity at the moment"),
        ([entry(FAILED, detail=f"rolled back: {SHORTAGE}")], 10, Next.GO, ""),
        ([entry(FAILED, at, f"rolled back: {SHORTAGE}") for at in (0, 170)], 180, Next.GO, ""),
        ([entry(FAILED, at, f"rolled back: {SHORTAGE}") for at in (0, 170)], 181, Next.STOP, "no capacity since"),
        ([entry(FAILED, detail="no effect: nothing")], 9, Next.WAIT, "tried again"),
        ([entry(FAILED, at, "no effect: nothing") for at in (0, 10)], 20, Next.GO, ""),
        ([entry(FAILED, at, "no effect: nothing") for at in (0, 10, 20)], 600, Next.STOP, "failed 3 times"),
        ([entry(FAILED, at, "refused: Conflict: busy") for at in range(9)], 9, Next.GO, ""),
        ([entry(FAILED, 0, f"rolled back: {SCRIPT}"), entry(LedgerState.CONFIRMED, 20)], 30, Next.GO, ""),
    ],
)
def test_what_comes_after_updates_that_failed(tries: list[LedgerEntry], at: float, next_: Next, word: str) -> None:
    found = retry(tries, StageWaits(), minutes(at), LOGS)
    assert found.next is next_
    assert word in found.reason
    assert (found.wait_s > 0) == (next_ is Next.WAIT)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (SCRIPT, FailureKind.LIFECYCLE),
        (SHORTAGE, FailureKind.CAPACITY),
        ("EFA health checks did not run successfully.", FailureKind.NETWORK),
        ("", FailureKind.OTHER),
    ],
)
def test_kind_of_a_failure_message(text: str, kind: FailureKind) -> None:
    assert kind_of_text(text) is kind


# Stages ----------------------------------------------------------------------------------------------------------
def test_stage_is_one_absolute_count() -> None:
    step = next_step(SPEC, live(39), run(passed("workers", 0, 39)))
    assert (step.kind, step.counts, step.additions) == (StepKind.UPDATE, {"workers": 52}, ())


def test_node_that_a_repair_restores_is_left_to_it() -> None:
    step = next_step(SPEC, live(38), run(passed("workers", 0, 39)), {"workers": 1})
    assert step.counts == {"workers": 51}


def test_rollback_of_an_update_is_waited_for() -> None:
    step = next_step(SPEC, live(39, status="RollingBack"), run(passed("workers", 0, 39)))
    assert step.kind is StepKind.WAIT_CONTROLLER


# Settings --------------------------------------------------------------------------------------------------------
def test_live_settings_that_are_the_environments_have_no_difference() -> None:
    workers = SPEC.group("workers")
    assert differences(group_settings(SPEC, workers), group_settings(SPEC, workers)) == []


def test_what_only_hyperpod_knows_is_no_difference() -> None:
    wanted = group_settings(replace(SPEC, file_system_mounts=(("fs", "mount", "/fsx"),)), SPEC.group("workers"))
    lived = {key: value for key, value in wanted.items() if key not in {"SlurmConfig", "ThreadsPerCore"}}
    lived["LifeCycleConfig"] = {**wanted["LifeCycleConfig"], "OnInitComplete": "later.sh"}
    lived["InstanceStorageConfigs"] = [
        {"FsxLustreConfig": dict(reversed(wanted["InstanceStorageConfigs"][0]["FsxLustreConfig"].items()))}
    ]
    lived["CapacityRequirements"] = {"OnDemand": {}}
    assert differences(lived, wanted) == []


def test_differences_name_member_and_both_values() -> None:
    wanted = group_settings(SPEC, SPEC.group("workers"))
    lived = {**wanted, "ExecutionRole": "arn:aws:iam::111122223333:role/other", "TrainingPlanArn": None}
    first, second = differences(lived, wanted)
    assert first == f"ExecutionRole is {lived['ExecutionRole']}, the environment says {wanted['ExecutionRole']}"
    assert second.startswith("TrainingPlanArn is none, the environment says arn:")


def test_patch_schedule_is_sent_under_the_name_that_a_request_has() -> None:
    raw = {
        "InstanceGroupName": "workers",
        "TargetCount": 5,
        "MinCount": 0,
        "AutoPatchConfig": {
            "PatchingStrategy": "WhenIdle",
            "CurrentPatchSchedule": {"a": 1},
            "DesiredPatchSchedule": {"b": 2},
        },
    }
    assert live_settings(raw) == {
        "InstanceGroupName": "workers",
        "AutoPatchConfig": {"PatchingStrategy": "WhenIdle", "PatchSchedule": {"b": 2}},
    }
