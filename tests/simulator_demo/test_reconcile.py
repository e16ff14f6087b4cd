"""Executions are stopped and a table is set back, on the embedded AWS and by the synthesized templates: the line goes
on by its schedule, and nothing is done twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roundhouse.line.incident import Incident, IncidentState
from simulator.demo.house import House
from tests.simulator_demo.scenarios import house, scenario, stand

pytestmark = pytest.mark.slow

QUICK = {"controller_launch": "1m", "worker_launch": "4m", "lifecycle": "1m", "reboot": "5m"}


def broken(it: House, index: int) -> str:
    """A worker's GPU breaks; its instance id."""
    worker = next(n for n in it["small"].workers() if n["index"] == index)
    news: dict[str, Any] = {"health_event": True, "log_record": False, "repair_action": "None"}
    it.aws.control("fail_node", instance_id=worker["instance_id"], fault="NvidiaErrorTerminate", **news)
    return str(worker["instance_id"])


def stop(it: House) -> list[str]:
    """StopExecution of every repair that is under way; their names."""
    states = it.aws.client("sfn")
    running = [e for e in it["small"].executions("remediate_node") if e["status"] == "RUNNING"]
    for each in running:
        states.stop_execution(executionArn=each["executionArn"], cause="a person in the console")
    return [each["name"] for each in running]


def names(it: House) -> set[str]:
    return {each["name"] for each in it["small"].executions("remediate_node")}


def closed(it: House, instance_id: str) -> Incident | None:
    found = it["small"].incident_of(instance_id)
    return found if found and found.state is IncidentState.CLOSED else None


def test_stopped_repairs_go_on_and_the_command_finds_all_in_order(tmp_path: Path) -> None:
    with house("small", scenario("shortage", fault=[], timing=QUICK), tmp_path, scale=240) as it:
        stand(it, "small")
        small = it["small"]
        instance = broken(it, 3)
        question = it.wait("the question", lambda: it.question("Replace"), 60, small.known)
        [first] = stop(it)
        it.click(question, "approve", "U0OPSALICE")  # while nobody waits for it
        it.wait(
            "another workflow", lambda: f"{first}-r1" in {e["name"] for e in small.executions("remediate_node")}, 60
        )
        it.wait("the call", lambda: it.calls("BatchReplaceClusterNodes"), 60, small.known)
        stop(it)
        ended = it.wait("the end", lambda: closed(it, instance), 120, lambda: small.incident_of(instance))
        assert str(ended.outcome) == "repaired", ended
        assert len(ended.restarts) == 2
        assert [c["operation"] for c in it.calls()] == ["BatchReplaceClusterNodes"]
        assert len([n for n in small.workers() if n["status"] == "Running"]) == 10

        said = json.loads(it.roundhouse("reconcile", "-e", "small", "--json"))
        assert (said["mended"], said["shown"], said["failed"], said["unread"]) == ([], [], [], [])
