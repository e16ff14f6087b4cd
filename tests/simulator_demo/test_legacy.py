"""A cluster without continuous provisioning on the embedded AWS: created by absolute counts, a node deleted and its
count restored, with answers lost and an update that HyperPod undoes on the way."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from roundhouse.line.incident import IncidentState, Outcome
from simulator.demo.acts.repair import health_event
from simulator.demo.house import House
from tests.simulator_demo.scenarios import changes, house, running, scenario
from tests.simulator_demo.test_scenarios import verdicts

pytestmark = pytest.mark.slow

FAULT = {"kind": "capacity_shortage", "instance_type": "ml.g6.48xlarge", "group_target_above": 7}


def _counts(it: House) -> list[tuple[str, Any]]:
    """Calls that changed the cluster, in order, with the workers' count where they name one."""
    found: list[tuple[str, Any]] = []
    for call in changes(it):
        groups = call["params"].get("InstanceGroups", [])
        found.append((call["operation"], {g["InstanceGroupName"]: g["InstanceCount"] for g in groups}.get("workers")))
    return found


def test_legacy_cluster_is_created_in_stages_and_repaired(tmp_path: Path) -> None:
    with house("legacy", scenario("shortage", fault=[FAULT]), tmp_path, scale=600) as it:
        legacy = it["legacy"]

        def step() -> str:
            run = legacy.runs.get(legacy.cluster)
            return f"{run.run_id} {run.status}: {run.step}" if run else ""

        execution = it.create("legacy", "first")
        it.wait("HyperPod to undo the last stage", lambda: it.messages("undid the update"), 120, step)
        assert len(running(legacy)) == 7
        it.aws.control("inject", clear=True)
        it.aws.control("inject", kind="lost_answer", operation="UpdateCluster")
        ended = it.wait("the creation", lambda: it.ended(execution), 120, step)
        assert ended["status"] == "SUCCEEDED", step()
        assert verdicts(it, "legacy") == [(4, "VERIFIED"), (7, "VERIFIED"), (10, "VERIFIED")]
        assert Counter(node["billed"] for node in running(legacy)) == {"reserved": 10}
        made = _counts(it)
        assert made[:2] == [("CreateCluster", 4), ("UpdateCluster", 7)]
        assert set(made[2:]) == {("UpdateCluster", 10)}
        stood = {node["instance_id"] for node in legacy.workers()}

        old = next(node["instance_id"] for node in legacy.workers() if node["index"] == 3)
        sequence = it.sequence()
        arn = it.aws.client("sagemaker").describe_cluster(ClusterName=legacy.cluster)["ClusterArn"]
        it.aws.control("inject", kind="lost_answer", operation="UpdateCluster")
        it.aws.control(
            "fail_node",
            instance_id=old,
            fault="NvidiaErrorTerminate",
            repair_action="None",
            health_event=False,
            log_record=False,
        )
        detail = health_event(arn, legacy.cluster, old)
        it.aws.control("emit_event", detail_type="SageMaker HyperPod Cluster Node Health Event", detail=detail)

        def closed() -> Any:
            incident = legacy.incident_of(old)
            return incident if incident and incident.state is IncidentState.CLOSED else None

        incident = it.wait("the incident to close", closed, 150, lambda: legacy.incident_of(old))
        assert incident.outcome is Outcome.REPAIRED, incident.decision
        calls = changes(it, sequence)
        assert [call["operation"] for call in calls] == ["BatchDeleteClusterNodes", "UpdateCluster"]
        now = {node["instance_id"] for node in running(legacy)}
        assert len(now) == 10
        assert stood - now == {old}, "nobody else was touched"
        assert now - stood == {incident.current_instance_id}
