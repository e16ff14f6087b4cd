"""Broken nodes, the health agent, and HyperPod's own repair in its race with everybody else's."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from simulator.hyperpod.control import ControlRefused
from tests.simulator_world.harness import Bench, request

HEALTH = "SageMaker HyperPod Cluster Node Health Event"


def told(bench: Bench) -> list[tuple[str, str, str]]:
    """(instance, status, repair action) of the node-health events that were delivered."""
    return [
        (
            e["detail"]["InstanceId"],
            e["detail"]["HealthSummary"]["HealthStatus"],
            e["detail"]["HealthSummary"]["RepairAction"],
        )
        for e in bench.signals.events
        if e["type"] == HEALTH
    ]


def agent_records(bench: Bench) -> list[dict[str, Any]]:
    return [r for r in bench.signals.logs if r["stream"].startswith("SagemakerHealthMonitoringAgent/")]


def test_the_documented_event(bench: Bench) -> None:
    bench.create(1, NodeRecovery="None")
    arn, node = bench.describe()["ClusterArn"], bench.nodes()[0]["instance_id"]
    bench.control("fail_node", instance_id=node)
    bench.run(seconds=29)
    assert told(bench) == []
    bench.run(seconds=2)
    event = next(e for e in bench.signals.events if e["type"] == HEALTH)
    assert event["source"] == "aws.sagemaker"
    assert event["resources"] == [arn]
    assert event["detail"] == {
        "ClusterName": "train",
        "ClusterArn": arn,
        "InstanceId": node,
        "Tags": {},
        "HealthSummary": {
            "HealthStatus": "Unhealthy",
            "HealthStatusReason": (
                "HyperPod Health Monitoring Agent (HMA) has detected fault type NvidiaErrorTerminate on this node and "
                "is unhealthy."
            ),
            "RepairAction": "None",
            "Recommendation": "Please Replace the Faulty Node.",
        },
    }


@pytest.mark.parametrize(
    ("recovery", "switch", "fault", "action"),
    [
        ("Automatic", True, "NvidiaErrorTerminate", "Replace"),
        ("Automatic", True, "NvidiaErrorReboot", "Reboot"),
        ("Automatic", False, "NvidiaErrorTerminate", "None"),
        ("None", True, "NvidiaErrorTerminate", "None"),
    ],
)
def test_the_actor_repairs_only_where_recovery_is_automatic(
    bench: Bench, recovery: str, switch: bool, fault: str, action: str
) -> None:
    bench.create(2, NodeRecovery=recovery)
    bench.control("set", auto_recovery=switch)
    before = bench.nodes()[0]
    bench.control("fail_node", group="workers", index=0, fault=fault)
    bench.run(25)
    after = bench.nodes()[0]
    assert told(bench)[0] == (before["instance_id"], "Unhealthy", action)
    assert [r["action"] for r in bench.control("own_repairs")["repairs"]] == ([action] if action != "None" else [])
    assert (after["instance_id"] != before["instance_id"]) == (action == "Replace")
    assert after["health"] == ("Unhealthy" if action == "None" else "Healthy")
    assert after["status"] == "Running"
    operations = [c["operation"] for c in bench.control("calls")["calls"]]
    assert operations == ["CreateCluster"]


def test_the_actor_gives_way_to_whoever_is_first(bench: Bench) -> None:
    bench.create(1)
    node = bench.nodes()[0]["instance_id"]
    bench.control("fail_node", instance_id=node)
    bench.run(2)
    bench.call("BatchReplaceClusterNodes", {"ClusterName": "train", "NodeIds": [node]})
    bench.run(30)
    assert bench.nodes()[0]["wiped"] == 1
    assert bench.control("own_repairs")["repairs"] == []


def test_the_actor_waits_for_a_reboot_that_is_under_way(bench: Bench) -> None:
    bench.create(1)
    node = bench.nodes()[0]["instance_id"]
    bench.control("fail_node", instance_id=node)
    bench.run(5)
    bench.call("BatchRebootClusterNodes", {"ClusterName": "train", "NodeIds": [node]})
    bench.run(4)
    assert bench.nodes()[0]["instance_id"] == node, "its own repair was due in the middle of the reboot"
    bench.run(25)
    assert bench.nodes()[0]["wiped"] == 1, "the reboot did not help, so it is noticed and repaired again"


def test_whoever_comes_second_is_told_so(bench: Bench) -> None:
    bench.create(1)
    node = bench.nodes()[0]["instance_id"]
    bench.control("fail_node", instance_id=node)
    bench.run(6)
    assert bench.nodes()[0]["status"] == "ShuttingDown"
    answer = bench.call("BatchReplaceClusterNodes", {"ClusterName": "train", "NodeIds": [node]})
    assert answer["Failed"][0]["ErrorCode"] == "InstanceIdInUse"
    bench.run(20)
    assert bench.nodes()[0]["wiped"] == 1


@pytest.mark.parametrize("fixed_by", ["reboot", "replace"])
def test_a_reboot_mends_only_what_a_reboot_mends(bench: Bench, fixed_by: str) -> None:
    bench.create(1, NodeRecovery="None")
    node = bench.nodes()[0]["instance_id"]
    bench.control("fail_node", instance_id=node, fixed_by=fixed_by)
    bench.run(1)
    bench.call("BatchRebootClusterNodes", {"ClusterName": "train", "NodeIds": [node]})
    bench.run(5)
    assert bench.nodes()[0]["health"] == ("Healthy" if fixed_by == "reboot" else "Unhealthy")
    statuses = [status for _, status, _ in told(bench)]
    assert statuses == (["Unhealthy", "Healthy"] if fixed_by == "reboot" else ["Unhealthy", "Unhealthy"])


def test_healing_is_told_too(bench: Bench) -> None:
    bench.create(1, NodeRecovery="None")
    node = bench.nodes()[0]["instance_id"]
    bench.control("fail_node", instance_id=node)
    bench.run(1)
    bench.control("heal_node", instance_id=node)
    bench.run(1)
    assert told(bench) == [(node, "Unhealthy", "None"), (node, "Healthy", "None")]


def test_a_fault_that_heals_before_it_is_noticed_is_never_told(bench: Bench) -> None:
    bench.create(1)
    bench.control("fail_node", group="workers", index=0)
    bench.control("heal_node", group="workers", index=0)
    bench.run(10)
    assert told(bench) == []
    assert bench.nodes()[0]["wiped"] == 0


def test_many_at_once_and_back(bench: Bench) -> None:
    bench.create(6, NodeRecovery="None")
    failed = bench.control("fail_nodes", group="workers", count=4, repair_action="None")["nodes"]
    bench.run(1)
    assert len(told(bench)) == 4
    healed = bench.control("heal_nodes")["nodes"]
    assert [n["instance_id"] for n in healed] == [n["instance_id"] for n in failed]
    bench.run(1)
    assert [status for _, status, _ in told(bench)] == ["Unhealthy"] * 4 + ["Healthy"] * 4
    with pytest.raises(ControlRefused, match="only 6 nodes"):
        bench.control("fail_nodes", group="workers", count=7)


@pytest.mark.parametrize(
    ("quirk", "options", "events", "records"),
    [
        (True, {}, 1, 1),
        (False, {}, 0, 1),
        (False, {"health_event": True}, 1, 1),
        (True, {"log_record": False}, 1, 0),
        (True, {"health_event": False, "log_record": False}, 0, 0),
    ],
)
def test_slurm_may_tell_only_in_the_log(
    bench_with: Callable[..., Bench], quirk: bool, options: dict[str, Any], events: int, records: int
) -> None:
    bench = bench_with(quirks={"node_health_events": quirk})
    bench.create(1, NodeRecovery="None")
    bench.control("fail_node", group="workers", index=0, **options)
    bench.run(1)
    assert (len(told(bench)), len(agent_records(bench))) == (events, records)


def test_the_agents_record(bench: Bench) -> None:
    bench.create(1, NodeRecovery="None")
    node = bench.nodes()[0]
    cluster = bench.control("nodes")["clusters"][0]
    bench.control("fail_node", instance_id=node["instance_id"])
    bench.control("fail_node", group="controller", index=0, record={"level": "info", "msg": "NPD caught event: %v"})
    bench.run(1)
    worker, boss = agent_records(bench)
    assert worker["group"] == cluster["log_group"] == f"/aws/sagemaker/Clusters/train/{cluster['arn'][-12:]}"
    assert worker["stream"] == f"SagemakerHealthMonitoringAgent/workers/{node['instance_id']}"
    message = json.loads(worker["message"])
    assert message["HealthMonitoringAgentDetectionEvent"] == "HealthEvent"
    assert (message["condition: "], message["data: "]) == ("XID Error", {"ErrNum": 79})
    assert json.loads(boss["message"])["msg"] == "NPD caught event: %v"


def test_a_replaced_instance_brings_no_old_fault_along(bench: Bench) -> None:
    bench.create(1, NodeRecovery="None")
    bench.control("fail_node", group="workers", index=0)
    bench.run(1)
    node = bench.nodes()[0]["instance_id"]
    bench.call("BatchReplaceClusterNodes", {"ClusterName": "train", "NodeIds": [node]})
    bench.run(15)
    assert (bench.nodes()[0]["health"], bench.nodes()[0]["fault"]) == ("Healthy", None)


def test_workers_added_while_the_controller_reboots_wait_for_it(bench: Bench) -> None:
    bench.create(1)
    boss = bench.nodes("controller")[0]["instance_id"]
    bench.call("BatchRebootClusterNodes", {"ClusterName": "train", "NodeIds": [boss]})
    spec = {"InstanceGroupName": "workers", "IncrementTargetCountBy": 1}
    bench.call("BatchAddClusterNodes", {"ClusterName": "train", "NodesToAdd": [spec]})
    bench.run(1)
    assert bench.nodes()[1]["capacity"] is None
    bench.run(15)
    assert bench.running() == 2


def test_a_deleted_cluster_is_not_repaired(bench: Bench) -> None:
    bench.create(1)
    bench.control("fail_node", group="workers", index=0)
    bench.call("DeleteCluster", {"ClusterName": "train"})
    bench.run(5)
    bench.call("CreateCluster", request(1))
    bench.run(60)
    assert bench.nodes()[0]["wiped"] == 0
    assert bench.control("own_repairs")["repairs"] == []


def test_a_healthy_event_for_a_node_that_only_a_raw_event_called_broken(bench: Bench) -> None:
    bench.create(1)
    node = bench.nodes()[0]["instance_id"]
    bench.control("heal_node", instance_id=node)
    bench.control("heal_node", instance_id=node, event=False)
    bench.run(1)
    assert told(bench) == [(node, "Healthy", "None")]


def test_a_reboot_that_did_not_help_is_followed_by_a_replacement(bench: Bench) -> None:
    bench.create(1)
    bench.control("fail_node", group="workers", index=0, fault="NvidiaErrorReboot", fixed_by="replace")
    bench.run(40)
    assert [r["action"] for r in bench.control("own_repairs")["repairs"]] == ["Reboot", "Replace"]
    assert (bench.nodes()[0]["health"], bench.nodes()[0]["wiped"]) == ("Healthy", 1)
