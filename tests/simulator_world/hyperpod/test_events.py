"""Events and their odd manners: twins, null metadata, noise, duplicates, delays, history; faults that strike calls."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from simulator.hyperpod.events import NULL_METADATA
from tests.simulator_world.harness import START, Bench, group, request

CLUSTER_EVENT = "SageMaker HyperPod Cluster Event"
STATE_CHANGE = "SageMaker HyperPod Cluster State Change"


def delivered(bench: Bench, level: str | None = None) -> list[dict[str, Any]]:
    """The inner EventDetails of the cluster events on the bus."""
    found = [e["detail"]["EventDetails"] for e in bench.signals.events if e["type"] == CLUSTER_EVENT]
    return [d for d in found if level in (None, d["EventLevel"])]


def test_one_capacity_failure_is_told_twice_with_metadata_only_in_the_api(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(fault=[{"kind": "capacity_shortage", "group": "workers", "node": 0, "attempts": 1}])
    bench.create(1)
    first, second = delivered(bench, "Error")
    assert first["Description"] == "Failed to provision EC2 Instance in Cluster train and InstanceGroup workers"
    assert second["Description"] == "Instance creation in Cluster train and InstanceGroup workers failed"
    assert second["EventTime"] - first["EventTime"] == 1000
    assert first["EventId"] != second["EventId"]
    assert "InstanceId" not in first
    for event in (first, second):
        assert event["EventDetails"]["EventMetadata"] == NULL_METADATA
        asked = {"ClusterName": "train", "EventId": event["EventId"]}
        view = bench.call("DescribeClusterEvent", asked)["EventDetails"]
        instance = view["EventDetails"]["EventMetadata"]["Instance"]
        assert instance["NodeLogicalId"] == bench.nodes()[0]["logical_id"]
        assert instance["FailureMessage"] == (
            "We currently do not have sufficient capacity to launch new ml.g6.48xlarge instances. Please try again."
        )


def test_metadata_is_there_when_the_quirk_is_off(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(
        quirks={"null_metadata": False}, fault=[{"kind": "efa_failure", "group": "workers", "attempts": 1}]
    )
    bench.create(1)
    metadata = delivered(bench, "Error")[0]["EventDetails"]["EventMetadata"]
    assert metadata["Instance"]["FailureMessage"].startswith("EFA health checks did not run successfully.")


def test_a_failing_script_is_told_once_and_logged(bench_with: Callable[..., Bench]) -> None:
    fault = {"kind": "lifecycle_failure", "group": "workers", "attempts": 1, "message": "mount failed"}
    bench = bench_with(fault=[fault])
    bench.create(1)
    cluster = bench.control("nodes")["clusters"][0]
    (event,) = delivered(bench, "Error")
    assert event["Description"] == (
        f"Instance lifecycle script execution for EC2 Instance {event['InstanceId']} has Failed. To view lifecycle "
        f"script logs, visit log group {cluster['log_group']}"
    )
    stream = f"LifecycleConfig/workers/{event['InstanceId']}"
    assert [r["message"] for r in bench.signals.logs if r["stream"] == stream][-1] == "mount failed"


def test_retries_have_new_instances_back_off_and_vanish_in_between(bench: Bench) -> None:
    bench.create(1)
    bench.control("inject", kind="capacity_shortage", group="workers", duration="20m")
    spec = {"InstanceGroupName": "workers", "IncrementTargetCountBy": 1}
    bench.call("BatchAddClusterNodes", {"ClusterName": "train", "NodesToAdd": [spec]})
    seen = Counter[tuple[int, int]]()
    for _ in range(38):
        bench.run(seconds=30)
        plain = bench.listed(InstanceGroupNameContains="workers")
        logical = bench.listed(InstanceGroupNameContains="workers", IncludeNodeLogicalIds=True)
        seen[(len(plain), len(logical))] += 1
        assert all("NodeLogicalId" not in n for n in plain)
        assert {n["InstanceStatus"]["Status"] for n in plain} <= {"Running", "Failure"}
    assert seen[(1, 2)] > 20
    assert seen[(2, 2)] >= 4
    bench.run(20)
    node = bench.nodes()[1]
    assert node["status"] == "Running"
    assert len({x["instance_id"] for x in node["launches"]}) == len(node["launches"]) >= 5
    assert "sufficient capacity" in node["message"], "the message of an earlier failure sticks"


def test_the_back_off_doubles_up_to_its_limit(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(fault=[{"kind": "capacity_shortage", "group": "workers"}])
    bench.create(1, minutes=60)
    times = [datetime.fromisoformat(x["time"]) for x in bench.nodes()[0]["launches"]]
    gaps = [(b - a).total_seconds() for a, b in pairwise(times)]
    # Each attempt decides half a minute after it begins.
    assert gaps[:4] == [90, 150, 270, 330]
    assert set(gaps[4:]) == {330}


@pytest.mark.parametrize(("vanish", "logical"), [("plain", 1), ("all", 0), ("none", 1)])
def test_where_a_retrying_node_hides(bench_with: Callable[..., Bench], vanish: str, logical: int) -> None:
    bench = bench_with(quirks={"vanish": vanish}, fault=[{"kind": "capacity_shortage", "group": "workers"}])
    bench.create(1)
    bench.until(lambda: bench.nodes()[0]["vanished"])
    found = bench.listed(InstanceGroupNameContains="workers", IncludeNodeLogicalIds=True)
    assert len(found) == logical
    assert bench.listed(InstanceGroupNameContains="workers") == []


@pytest.mark.parametrize("flood", [True, False])
def test_the_info_flood(bench_with: Callable[..., Bench], flood: bool) -> None:
    bench = bench_with(quirks={"info_flood": flood, "spurious_warn": False})
    bench.create(8)
    infos = len(delivered(bench, "Info"))
    assert infos > 40 if flood else infos < 12
    assert len(bench.texts("using reserved capacity")) == 8, "what matters is told in any case"


def test_the_spurious_warning(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(quirks={"spurious_warn": True})
    bench.create(2)
    bench.call("UpdateCluster", {"ClusterName": "train", "InstanceGroups": [group("workers", 3)]})
    bench.run(1)
    texts = [d["Description"] for d in delivered(bench, "Warn") if d["ResourceType"] == "Cluster"]
    assert texts == [
        "1 node(s) lost orchestration-ready status. Current: 3/4 orchestration-ready across 2 instance group(s)."
    ]


def test_duplicates_and_disorder(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(quirks={"duplicates": 0.5, "delay": [0, "5m"], "state_change_repeats": 1})
    bench.create(8, minutes=60)
    ids = Counter(d["EventId"] for d in delivered(bench))
    assert max(ids.values()) == 2
    assert 0.2 < sum(n == 2 for n in ids.values()) / len(ids) < 0.8
    times = [d["EventTime"] for d in delivered(bench)]
    assert times != sorted(times)
    assert {e["EventId"] for e in bench.history()} == set(ids)
    statuses = Counter(e["detail"]["ClusterStatus"] for e in bench.signals.events if e["type"] == STATE_CHANGE)
    assert min(statuses["Creating"], statuses["InService"]) >= 2


def test_state_change_detail_has_the_documented_members(bench: Bench) -> None:
    bench.create(2)
    event = [e for e in bench.signals.events if e["type"] == STATE_CHANGE][-1]
    detail = event["detail"]
    assert set(detail) == {
        "ClusterArn",
        "ClusterName",
        "ClusterStatus",
        "CreationTime",
        "FailureMessage",
        "InstanceGroups",
        "NodeRecovery",
        "Orchestrator",
        "VpcConfig",
    }
    assert detail["CreationTime"] == START.timestamp() * 1000
    assert "MinCount" not in detail["InstanceGroups"][0]
    assert event["time"] == START + timedelta(minutes=8)


def test_event_times_do_not_depend_on_how_often_the_world_ticks() -> None:
    fine, coarse = Bench(), Bench()
    for bench in (fine, coarse):
        bench.call("CreateCluster", request(3))
    fine.run(40)
    coarse.clock.time += timedelta(minutes=40)
    coarse.world.tick(coarse.clock.time)
    assert [(e["time"], e["detail"]) for e in fine.signals.events] == [
        (e["time"], e["detail"]) for e in coarse.signals.events
    ]


def test_history_is_filtered_paged_and_short(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(quirks={"events_kept": 30})
    bench.create(8)
    assert len(bench.history()) == 30
    node = bench.nodes()[0]["instance_id"]
    assert {e["InstanceId"] for e in bench.history(NodeId=node)} == {node}
    assert {e["ResourceType"] for e in bench.history(ResourceType="Instance")} == {"Instance"}
    newest = bench.call("ListClusterEvents", {"ClusterName": "train", "MaxResults": 5})
    times = [e["EventTime"] for e in newest["Events"]]
    assert times == sorted(times, reverse=True)
    assert len(times) == 5
    late = bench.history(EventTimeAfter=times[-1])
    assert all(e["EventTime"] > times[-1] for e in late)
    absent = {"ClusterName": "train", "EventId": "00000000-0000-4000-8000-000000000000"}
    assert bench.refused("DescribeClusterEvent", absent).code == "ResourceNotFound"


def test_a_raw_event_is_delivered_as_it_is(bench: Bench) -> None:
    detail = {"ClusterArn": "arn:aws:sagemaker:us-west-2:111122223333:cluster/a1b2c3d4e5f6", "Anything": [1, None]}
    bench.control("emit_event", detail_type="SageMaker HyperPod Cluster Node Health Event", detail=detail, copies=2)
    bench.run(seconds=1)
    assert [(e["source"], e["detail"], e["resources"]) for e in bench.signals.events] == [
        ("aws.sagemaker", detail, [detail["ClusterArn"]])
    ] * 2


def test_a_whole_envelope_is_replayed_with_what_is_given_changed(bench: Bench) -> None:
    envelope = {"version": "0", "id": "x", "detail-type": "Anomaly Detected", "source": "aws.ce", "detail": {"a": 1}}
    bench.control("emit_event", event=envelope)
    bench.control("emit_event", event=envelope, detail={"a": 2}, resources=["arn"])
    bench.run(seconds=1)
    assert [(e["source"], e["type"], e["detail"], e["resources"]) for e in bench.signals.events] == [
        ("aws.ce", "Anomaly Detected", {"a": 1}, []),
        ("aws.ce", "Anomaly Detected", {"a": 2}, ["arn"]),
    ]


def test_lists_lag_behind_describe(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(quirks={"list_lag": "2m"})
    bench.create(1)
    node = bench.nodes()[0]["instance_id"]
    bench.call("BatchRebootClusterNodes", {"ClusterName": "train", "NodeIds": [node]})
    bench.run(1)

    def both() -> tuple[str, str]:
        one = bench.call("DescribeClusterNode", {"ClusterName": "train", "NodeId": node})["NodeDetails"]
        (listed,) = bench.listed(InstanceGroupNameContains="workers")
        return listed["InstanceStatus"]["Status"], one["InstanceStatus"]["Status"]

    assert both() == ("Running", "Pending")
    bench.run(2)
    assert both() == ("Pending", "Running")
    bench.run(2)
    assert both() == ("Running", "Running")


@pytest.mark.parametrize(("how", "counted"), [("provisioned", 2), ("running", 0)])
def test_current_count_may_lead_the_running_nodes(bench_with: Callable[..., Bench], how: str, counted: int) -> None:
    bench = bench_with(quirks={"current_count": how})
    bench.create(2, minutes=14)
    assert bench.running() == 0
    assert bench.group()["CurrentCount"] == counted


class TestFaultsOfCalls:
    """Throttling, quotas and lost answers."""

    def test_throttled_calls_change_nothing(self, bench: Bench) -> None:
        bench.control("inject", kind="throttle", operation="CreateCluster", calls=2)
        for _ in range(2):
            assert bench.refused("CreateCluster", request(1)).code == "ThrottlingException"
        bench.call("CreateCluster", request(1))
        log = bench.control("calls", operation="CreateCluster")["calls"]
        assert [c.get("error", {}).get("code") for c in log] == ["ThrottlingException"] * 2 + [None]

    def test_reads_are_throttled_too(self, bench: Bench) -> None:
        bench.create(1)
        bench.control("inject", kind="throttle", operation="DescribeCluster")
        assert bench.refused("DescribeCluster", {"ClusterName": "train"}).code == "ThrottlingException"
        assert bench.describe()["ClusterStatus"] == "InService"

    def test_a_lost_answer_of_create_is_found_by_name(self, bench: Bench) -> None:
        bench.control("inject", kind="lost_answer", operation="CreateCluster")
        assert bench.refused("CreateCluster", request(1)).status == 500
        assert bench.describe()["ClusterStatus"] == "Creating"
        assert bench.refused("CreateCluster", request(1)).code == "ResourceInUse"
        first = bench.control("calls")["calls"][0]
        assert first["answer_lost"]
        assert first["result"]["ClusterArn"] == bench.describe()["ClusterArn"]

    def test_an_injected_quota(self, bench: Bench) -> None:
        bench.control("inject", kind="quota", operation="CreateCluster", message="no more")
        error = bench.refused("CreateCluster", request(1))
        assert (error.code, error.message) == ("ResourceLimitExceeded", "no more")

    def test_a_fault_between_two_times(self, bench_with: Callable[..., Bench]) -> None:
        fault = {"kind": "throttle", "operation": "ListClusters", "at": "+10m", "until": "+20m", "calls": 99}
        bench = bench_with(fault=[fault])
        bench.call("ListClusters", {})
        bench.run(15)
        assert bench.refused("ListClusters", {}).code == "ThrottlingException"
        bench.run(10)
        bench.call("ListClusters", {})

    def test_disarming(self, bench: Bench) -> None:
        assert bench.control("inject", kind="throttle", operation="ListClusters", calls=9) == {"armed": 1}
        assert bench.control("inject", clear=True) == {"armed": 0}
        bench.call("ListClusters", {})

    def test_the_record_names_who_called_in_order(self, bench: Bench) -> None:
        bench.create(1)
        bench.call("UpdateCluster", {"ClusterName": "train", "NodeRecovery": "None"})
        log = bench.control("calls")
        assert [(c["sequence"], c["operation"]) for c in log["calls"]] == [(1, "CreateCluster"), (2, "UpdateCluster")]
        assert log["calls"][0]["principal"] == "arn:aws:iam::111122223333:role/builder"
        assert log["calls"][0]["time"] == START.isoformat()
        assert log["calls"][1]["params"] == {"ClusterName": "train", "NodeRecovery": "None"}
        assert log["counts"]["DescribeCluster"] == 1
        assert [c["sequence"] for c in bench.control("calls", since=1)["calls"]] == [2]
