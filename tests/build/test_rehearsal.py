"""What a throw-away cluster shows, and what a rehearsal proves of scripts that are there now."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from roundhouse.build.rehearsal import (
    STALE,
    TAG,
    TAG_ID,
    Rehearsal,
    Result,
    cluster_name,
    judge,
    proof,
    rehearsal_spec,
)
from roundhouse.build.scripts import ScriptFile, Scripts
from roundhouse.line.state import Cluster, ClusterEvent, Group, Node, NodeStatus
from tests.build.samples import ARN, CPU, T0, minutes, spec

SCRIPTS = Scripts("s3://sagemaker-unit/lifecycle", "on_create.sh")
FILES = (ScriptFile("on_create.sh", 10, "sha256:aa"), ScriptFile("lib.sh", 10, "sha256:bb"))
RECORD = Rehearsal(
    environment="unit",
    rehearsal_id="r-1",
    scripts=SCRIPTS,
    digest="d" * 64,
    files=FILES,
    cluster="train-rehearsal-dddddddd",
    instance_type="ml.m5.xlarge",
    started_at=T0,
    looked_at=T0,
)
NODE = "i-0123456789abcdef0"
LIMIT = 3600


def cluster(status: str = "InService", node: NodeStatus | None = NodeStatus.RUNNING, **changes: str) -> Cluster:
    group = Group("controller", CPU, 1, 1, "Controller")
    nodes = (Node(NODE, "l-0", "controller", node, message=changes.pop("message", "")),) if node else ()
    return Cluster(RECORD.cluster, ARN, status, "None", {"controller": group}, nodes, T0, **changes)  # type: ignore


def said(state: str | None, minute: float = 5, text: str = "Lifecycle script", who: str | None = NODE) -> ClusterEvent:
    return ClusterEvent(
        f"{state}-{minute}", minutes(minute), "Info", "Instance", text, instance_id=who, lifecycle_state=state
    )


CREATING = cluster("Creating", NodeStatus.PENDING)
SHORT = "We currently do not have sufficient capacity"
BROKEN = "Lifecycle scripts did not run successfully."


@pytest.mark.parametrize(
    ("seen", "events", "minute", "result"),
    [
        (None, (), 10, None),
        (None, (), 60, Result.INCONCLUSIVE),
        (CREATING, (), 10, None),
        (CREATING, (said("Started"),), 10, None),
        (CREATING, (said("Started"),), 60, Result.FAILED),
        (CREATING, (), 60, Result.INCONCLUSIVE),
        (CREATING, (said("Failed"),), 10, Result.FAILED),
        (CREATING, (said(None, text="Instance lifecycle script execution has Failed"),), 10, Result.FAILED),
        (CREATING, (said("TimedOut"),), 10, Result.FAILED),
        (cluster(), (said("Started"), said("Succeeded")), 10, Result.PASSED),
        (cluster(), (said("Succeeded", who=None),), 10, Result.PASSED),
        (cluster(), (said("COMPLETED"),), 10, Result.PASSED),
        (cluster(), (said("Succeeded", who="i-00000000000000001"),), 10, None),
        (cluster(), (said("Failed", 3), said("Succeeded", 9)), 10, Result.FAILED),
        (cluster(), (), 10, None),
        (cluster(), (), 60, Result.INCONCLUSIVE),
        (cluster(), (said("SomethingNew"),), 60, Result.INCONCLUSIVE),
        (cluster(), (said(None, text="EC2 Instance provisioned"),), 60, Result.INCONCLUSIVE),
        (cluster(node=NodeStatus.PENDING), (said("Succeeded"),), 10, None),
        (cluster(node=None), (said("Succeeded"),), 10, None),
        (cluster("Updating"), (said("Succeeded"),), 10, None),
        (cluster("Failed", failure=BROKEN), (), 10, Result.FAILED),
        (cluster("Failed", failure=SHORT), (), 10, Result.INCONCLUSIVE),
        (cluster("Failed", message=BROKEN), (), 10, Result.FAILED),
        (cluster("Failed"), (), 10, Result.INCONCLUSIVE),
        (cluster("RollingBack", failure=BROKEN), None, 10, Result.FAILED),
        (cluster("RollingBack", failure=SHORT), None, 10, Result.INCONCLUSIVE),
        (cluster(), None, 10, Result.PASSED),
        (CREATING, None, 10, None),
        (CREATING, None, 60, Result.INCONCLUSIVE),
    ],
)
def test_only_an_end_of_the_scripts_is_a_result(
    seen: Cluster | None, events: tuple[ClusterEvent, ...] | None, minute: float, result: Result | None
) -> None:
    found = judge(RECORD, seen, events, minutes(minute), LIMIT)
    assert found.result is result, found
    assert found.reason


def test_nothing_but_a_running_node_of_a_cluster_in_service_ever_passes() -> None:
    states = ("Creating", "InService", "Updating", "SystemUpdating", "RollingBack", "Failed", "Deleting", "")
    events = (said("Started"), said("Succeeded"))
    passed = {
        (status, node)
        for status in states
        for node in (*NodeStatus, None)
        for minute in (1, 90)
        for told in (events, None)
        if judge(RECORD, cluster(status, node), told, minutes(minute), LIMIT).result is Result.PASSED
    }
    assert passed == {("InService", NodeStatus.RUNNING)}


@pytest.mark.parametrize("name", ["t", "train", "a" * 63, "train-with-a-long-name-" + "-".join("x" * 20)])
def test_names_fit_and_are_the_same_for_the_same_content(name: str) -> None:
    made = cluster_name(name, "0123456789abcdef")
    assert re.fullmatch(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}", made)
    assert len(made) <= 63
    assert made == cluster_name(name, "0123456789abcdef")
    assert made != cluster_name(name, "f123456789abcdef")
    assert made != name


def test_tags_never_pass_what_hyperpod_takes() -> None:
    many = tuple((f"key{n}", "v") for n in range(50))
    made = rehearsal_spec(spec(tags=(*many[:49], (TAG, "forged"))), RECORD)
    assert len(made.tags) <= 50
    assert dict(made.tags)[TAG] == "unit"
    assert dict(made.tags)[TAG_ID] == "r-1"


def test_a_rehearsal_is_abandoned_when_nobody_has_looked_for_a_while() -> None:
    assert not RECORD.abandoned(T0 + STALE)
    assert RECORD.abandoned(T0 + STALE + timedelta(seconds=1))
    assert not replace(RECORD, ended_at=T0).abandoned(T0 + 10 * STALE)


# Proof -----------------------------------------------------------------------------------------------------------
PASSED = replace(RECORD, result=Result.PASSED, reason="ran to the end", ended_at=minutes(20))
OTHER = replace(RECORD, digest="e" * 64, files=(replace(FILES[0], checksum="sha256:cc"),), ended_at=minutes(9))
DAYS = 30 * 86400


@pytest.mark.parametrize(
    ("known", "newest", "days", "words"),
    [
        (PASSED, PASSED, 0, None),
        (PASSED, PASSED, 30, None),
        (PASSED, OTHER, 1, None),
        (PASSED, PASSED, 31, "passed 31 days ago, older than the 30 days that count"),
        (replace(PASSED, result=Result.FAILED), PASSED, 0, "was FAILED on 2026-10-02 16:00 UTC: ran to the end"),
        (replace(PASSED, result=Result.INCONCLUSIVE), PASSED, 0, "was INCONCLUSIVE"),
        (None, RECORD, 0, "r-1 is still under way"),
        (None, OTHER, 0, "changed: on_create.sh; new: lib.sh"),
        (None, replace(OTHER, scripts=replace(SCRIPTS, script="x.sh")), 0, "never been rehearsed"),
        (None, replace(OTHER, digest="", files=()), 0, "never been rehearsed"),
        (None, None, 0, "never been rehearsed"),
    ],
)
def test_only_a_young_pass_of_this_very_content_is_proof(
    known: Rehearsal | None, newest: Rehearsal | None, days: int, words: str | None
) -> None:
    found = proof(SCRIPTS, RECORD.digest, FILES, known, newest, T0 + timedelta(days=days), DAYS)
    assert found is None if words is None else words in (found or ""), found
