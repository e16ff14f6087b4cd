"""Describe and list: what they show, filters, order and pages."""

from datetime import timedelta
from typing import Any

import pytest

from simulator.hyperpod.control import ControlRefused
from tests.simulator_world.harness import PLAN, START, Bench, controller, group, request


def test_pages_cover_every_node_once(bench: Bench) -> None:
    bench.create(8)
    seen: list[str] = []
    token: dict[str, str] = {}
    pages = 0
    while True:
        answer = bench.call("ListClusterNodes", {"ClusterName": "train", "MaxResults": 4, **token})
        seen += [n["InstanceId"] for n in answer["ClusterNodeSummaries"]]
        pages += 1
        if "NextToken" not in answer:
            break
        token = {"NextToken": answer["NextToken"]}
    assert pages == 3
    assert sorted(seen) == sorted(n["instance_id"] for n in bench.nodes(None))
    bad = {"ClusterName": "train", "NextToken": "not-base64!"}
    assert bench.refused("ListClusterNodes", bad).code == "ValidationException"


def test_the_group_filter_is_a_substring(bench: Bench) -> None:
    bench.create(InstanceGroups=[controller(), group("gpu", 1), group("gpu-large", 2)])
    assert len(bench.listed(InstanceGroupNameContains="gpu")) == 3
    assert len(bench.listed(InstanceGroupNameContains="large")) == 2


def test_pending_nodes_are_listed_only_with_logical_ids(bench: Bench) -> None:
    bench.create(2, minutes=2)
    assert [n["InstanceGroupName"] for n in bench.listed()] == ["controller"]
    everything = bench.listed(IncludeNodeLogicalIds=True)
    assert [n["InstanceId"] for n in everything if n["InstanceGroupName"] == "workers"] == ["", ""]
    assert len({n["NodeLogicalId"] for n in everything}) == 3
    logical = next(n["NodeLogicalId"] for n in everything if n["InstanceGroupName"] == "workers")
    view = bench.call("DescribeClusterNode", {"ClusterName": "train", "NodeLogicalId": logical})["NodeDetails"]
    assert (view["InstanceStatus"]["Status"], "InstanceId" in view) == ("Pending", False)


def test_order_and_creation_filter(bench: Bench) -> None:
    bench.create(2)
    by_time = bench.listed()
    assert [n["InstanceGroupName"] for n in by_time] == ["controller", "workers", "workers"]
    late = bench.listed(CreationTimeAfter=START + timedelta(minutes=5))
    assert {n["InstanceGroupName"] for n in late} == {"workers"}
    by_name = bench.listed(SortBy="NAME", SortOrder="Descending")
    assert [n["InstanceGroupName"] for n in by_name] == ["workers", "workers", "controller"]


def test_a_node_in_full(bench: Bench) -> None:
    bench.create(1)
    node = bench.nodes()[0]
    view = bench.call("DescribeClusterNode", {"ClusterName": "train", "NodeId": node["instance_id"]})["NodeDetails"]
    assert view["Placement"] == {"AvailabilityZone": "us-west-2b", "AvailabilityZoneId": "usw2-az2"}
    assert view["PrivateDnsHostname"] == node["hostname"]
    assert view["PrivatePrimaryIp"] == node["address"]
    assert view["CapacityType"] == "OnDemand", "what the capacity costs is not told here"
    both = {"ClusterName": "train", "NodeId": node["instance_id"], "NodeLogicalId": node["logical_id"]}
    assert bench.refused("DescribeClusterNode", both).code == "ValidationException"
    assert bench.refused("DescribeClusterNode", {"ClusterName": "train"}).code == "ValidationException"


def test_a_cluster_is_found_by_arn(bench: Bench) -> None:
    arn = bench.create(1)["ClusterArn"]
    assert bench.world.cluster_arn("train") == arn
    assert bench.world.cluster_arn("nobody") is None
    assert bench.describe(arn)["ClusterName"] == "train"
    assert bench.refused("DescribeCluster", {"ClusterName": "nobody"}).code == "ResourceNotFound"


def test_a_cluster_in_full(bench: Bench) -> None:
    described = bench.create(2)
    assert described["Orchestrator"] == {"Slurm": {}}
    assert described["NodeProvisioningMode"] == "Continuous"
    workers = bench.group()
    assert (workers["CurrentCount"], workers["TargetCount"], workers["MinCount"]) == (2, 2, 0)
    assert (workers["TrainingPlanArn"], workers["TrainingPlanStatus"]) == (PLAN, "Active")
    assert workers["LifeCycleConfig"]["OnCreate"] == "on_create.sh"


def test_clusters_are_listed(bench: Bench) -> None:
    for name in ("beta", "alpha", "gamma"):
        bench.call("CreateCluster", request(1, ClusterName=name))
        bench.run(1)

    def names(**params: Any) -> list[str]:
        return [c["ClusterName"] for c in bench.call("ListClusters", dict(params))["ClusterSummaries"]]

    assert names() == ["beta", "alpha", "gamma"]
    assert names(SortBy="NAME", SortOrder="Descending") == ["gamma", "beta", "alpha"]
    assert names(NameContains="lph") == ["alpha"]
    assert names(CreationTimeAfter=START + timedelta(seconds=90)) == ["gamma"]
    assert len(names(MaxResults=2)) == 2


def test_control_commands_refuse_what_they_do_not_know(bench: Bench) -> None:
    bench.create(1)
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("explode", {}, "no control command"),
        ("nodes", {"clutser": "train"}, "unknown parameters: clutser"),
        ("fail_node", {"instance_id": "i-0"}, "no node i-0"),
        ("fail_node", {"group": "workers", "index": 0, "repair_action": "Explode"}, "repair_action"),
        ("emit_event", {"detail": {}}, "detail_type"),
        ("emit_event", {"event": {"detail-type": "x"}}, "needs `detail`"),
        ("set", {"quirks": {"nonsense": 1}}, "quirks.nonsense: unknown key"),
        ("set", {"quirks": {"duplicates": 2}}, "quirks.duplicates: a chance"),
        ("set", {"auto_recovery": "maybe"}, "quirks.auto_recovery: 'maybe' is not a bool"),
        ("fail_node", {"group": "workers", "index": 0, "fixed_by": "prayer"}, "fixed_by"),
        ("set", {"node_recovery": "Sometimes"}, "'Automatic' or 'None'"),
        ("inject", {"kind": "earthquake"}, "not one of"),
        ("inject", {"kind": "throttle"}, "needs the operation"),
        ("inject", {"kind": "stuck", "status": "Running"}, "stuck in"),
    ]
    for command, params, text in refused:
        with pytest.raises(ValueError, match=text):
            bench.control(command, **params)
    with pytest.raises(ControlRefused):
        bench.control("set", node_recovery="None", cluster="nobody")


def test_the_whole_truth_about_capacity(bench: Bench) -> None:
    bench.create(3)
    capacity = bench.control("capacity")
    assert [(r["total"], r["in_use"], r["status"]) for r in capacity["reserved"]] == [(8, 3, "Active")]
    assert {p["used"] for p in capacity["on_demand"]} == {0, 1}


def test_switching_node_recovery_and_quirks(bench: Bench) -> None:
    bench.create(1)
    bench.control("set", node_recovery="None", cluster="train", quirks={"current_count": "running"})
    assert bench.describe()["NodeRecovery"] == "None"


def test_a_node_without_an_instance_cannot_break(bench: Bench) -> None:
    bench.create(1, minutes=5)
    with pytest.raises(ControlRefused, match="without an instance"):
        bench.control("fail_node", group="workers", index=0)
