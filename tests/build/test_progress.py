"""Stages: shortage is not a failing script, twins are one, and patience ends."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from roundhouse.build.progress import FailureKind, StageState, failed_launches, failure_kind, judge, judge_controller
from roundhouse.build.records import ClusterEvent
from roundhouse.line.state import Node, NodeStatus
from tests.build.samples import T0, cluster, event, minutes, nodes, spec

CAPACITY = "We currently do not have sufficient capacity to launch new ml.g6.48xlarge instances. Please try again."
EFA = "EFA health checks did not run successfully. Ensure that your VPC and security groups are properly configured."
SCRIPT = "Instance lifecycle script execution for EC2 Instance i-0 has Failed. To view logs, visit the log group"
NOT_MADE = "Failed to provision EC2 Instance in Cluster train and InstanceGroup workers"
MADE_FAILED = "Instance creation in Cluster train and InstanceGroup workers failed"


def failure(text: str, message: str = "", at: datetime = T0, node: int = 0, **changes: object) -> ClusterEvent:
    return event(text, at, level="Error", failure=message, logical_id=f"l-workers-{node}", **changes)


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (failure(NOT_MADE, CAPACITY), FailureKind.CAPACITY),
        (failure(NOT_MADE, EFA), FailureKind.NETWORK),
        (failure(NOT_MADE), FailureKind.OTHER),
        (failure(SCRIPT), FailureKind.LIFECYCLE),
        (failure("x", lifecycle_state="Failed"), FailureKind.LIFECYCLE),
        (failure("x", "Lifecycle scripts did not run successfully."), FailureKind.LIFECYCLE),
        (event("Instance lifecycle script execution has Started", lifecycle_state="Started"), None),
        (event("Found CapacityReservation ID cr-0 for Cluster c and IG g, using reserved capacity"), None),
        (event("3 node(s) lost orchestration-ready status", level="Warn", failure="nodes not ready"), None),
    ],
)
def test_failure_kinds(told: ClusterEvent, kind: FailureKind | None) -> None:
    assert failure_kind(told) is kind


def test_the_twins_of_one_failure_count_once_and_the_one_that_says_why_is_kept() -> None:
    told = [
        failure(NOT_MADE, at=T0),
        failure(MADE_FAILED, CAPACITY, at=T0 + timedelta(seconds=1)),
        failure(NOT_MADE, CAPACITY, at=T0, node=1),
        failure(NOT_MADE, CAPACITY, at=minutes(3)),
    ]
    assert [kind for kind, _ in failed_launches([*told, told[0]])] == [FailureKind.CAPACITY] * 3


def judged(running: int, told: list[ClusterEvent], now: datetime) -> tuple[StageState, dict[str, int]]:
    listed = [*nodes("controller", 1), *nodes("workers", running, 39 - running)]
    live = cluster(spec(), {"workers": running}, {"workers": 39}, listed=listed)
    found = judge(spec(), "workers", 39, live, events=told, started_at=T0, now=now)
    assert found.pending == 39 - running
    assert found.reason
    return found.state, found.failures


SHORT = [failure(NOT_MADE, CAPACITY, at=minutes(n), node=n) for n in (5, 10)]
BAD_SCRIPT = [failure(SCRIPT, at=minutes(5 * n)) for n in range(1, 5)]
NOON = minutes(119)


@pytest.mark.parametrize(
    ("running", "told", "now", "state"),
    [
        (39, SHORT, NOON, StageState.READY),
        (12, [], minutes(20), StageState.IN_PROGRESS),
        (12, SHORT, minutes(20), StageState.SHORTAGE),
        (12, [*SHORT, failure(SCRIPT, at=minutes(12))], minutes(20), StageState.LIFECYCLE),
        (12, [failure(NOT_MADE, EFA, at=minutes(2))], minutes(20), StageState.IN_PROGRESS),
        (12, BAD_SCRIPT, minutes(30), StageState.LIFECYCLE),
        (12, [*BAD_SCRIPT, failure(SCRIPT, at=minutes(25))], minutes(30), StageState.GAVE_UP),
        (12, [], minutes(121), StageState.GAVE_UP),
        (12, SHORT, minutes(121), StageState.SHORTAGE),
        (12, SHORT, minutes(181), StageState.GAVE_UP),
        (12, [failure(NOT_MADE, CAPACITY, at=minutes(-5))], minutes(20), StageState.IN_PROGRESS),
        (12, [failure(NOT_MADE, CAPACITY, at=minutes(5), group="cpu")], minutes(20), StageState.IN_PROGRESS),
    ],
)
def test_states(running: int, told: list[ClusterEvent], now: datetime, state: StageState) -> None:
    assert judged(running, told, now)[0] is state


def test_many_nodes_failing_once_are_not_one_node_failing_often() -> None:
    told = [failure(SCRIPT, at=minutes(5), node=n) for n in range(20)]
    assert judged(12, told, minutes(10)) == (StageState.LIFECYCLE, {"lifecycle": 20})


@pytest.mark.parametrize(
    ("status", "running", "now", "state"),
    [
        ("Creating", 0, minutes(5), StageState.IN_PROGRESS),
        ("InService", 0, minutes(5), StageState.IN_PROGRESS),
        ("InService", 1, minutes(5), StageState.READY),
        ("Creating", 0, minutes(61), StageState.GAVE_UP),
        ("Failed", 1, minutes(5), StageState.GAVE_UP),
    ],
)
def test_controller(status: str, running: int, now: datetime, state: StageState) -> None:
    live = cluster(spec(), {"controller": running}, {"controller": 1}, status)
    assert judge_controller(spec(), live, T0, now).state is state


def test_an_instance_that_reads_running_under_another_group_does_not_count() -> None:
    listed = [*nodes("workers", 38), Node("i-c", "l-c", "controller", NodeStatus.RUNNING)]
    live = cluster(spec(), {"workers": 38}, {"workers": 39}, listed=listed)
    assert judge(spec(), "workers", 39, live, events=[], started_at=T0, now=minutes(1)).running == 38
