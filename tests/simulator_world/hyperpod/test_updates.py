"""UpdateCluster: absolute counts, random victims, lost updates, whole specifications, deletion of groups."""

from typing import Any

import pytest

from tests.simulator_world.harness import Bench, controller, group


def update(count: int, **changes: Any) -> dict[str, Any]:
    """An UpdateCluster request that sets the workers' absolute count."""
    return {"ClusterName": "train", "InstanceGroups": [group("workers", count, **changes)]}


def add(count: int) -> dict[str, Any]:
    spec = {"InstanceGroupName": "workers", "IncrementTargetCountBy": count}
    return {"ClusterName": "train", "NodesToAdd": [spec]}


def test_shrinking_kills_nodes_at_random(bench: Bench) -> None:
    bench.create(8)
    everyone = {n["index"] for n in bench.nodes()}
    bench.call("UpdateCluster", update(3))
    bench.run(5)
    left = {n["index"] for n in bench.nodes()}
    assert bench.group()["TargetCount"] == len(left) == 3
    assert left not in ({0, 1, 2}, {5, 6, 7})
    assert left < everyone
    assert bench.describe()["ClusterStatus"] == "InService"


def test_the_lost_update(bench: Bench) -> None:
    """Someone reads 4, someone else adds 6, the first writes 5: five running or launching nodes die."""
    bench.create(4)
    read = bench.group()["TargetCount"]
    bench.call("BatchAddClusterNodes", add(6))
    assert bench.group()["TargetCount"] == 10
    bench.run(20)
    assert bench.running() == 10
    bench.call("UpdateCluster", update(read + 1))
    bench.run(5)
    assert (bench.group()["TargetCount"], bench.running()) == (5, 5)


def test_a_newer_scaling_supersedes_the_older(bench: Bench) -> None:
    bench.create(2)
    bench.call("BatchAddClusterNodes", add(2))
    bench.run(1)
    bench.call("BatchAddClusterNodes", add(2))

    def statuses() -> list[str]:
        answer = bench.call("ListClusterOperations", {"ClusterName": "train", "SortOrder": "Ascending"})
        return [o["Status"] for o in answer["ClusterOperationSummaries"]]

    assert statuses() == ["Superseded", "InProgress"]
    bench.run(20)
    assert statuses() == ["Superseded", "Done"]
    done = bench.call("ListClusterOperations", {"ClusterName": "train", "Status": "Done", "Type": "Scaling"})
    identifier = done["ClusterOperationSummaries"][0]["OperationId"]
    view = bench.call("DescribeClusterOperation", {"ClusterName": "train", "OperationId": identifier})
    assert view["ScalingDetails"] == [
        {
            "InstanceGroupName": "workers",
            "Status": "Done",
            "Original": {"CurrentCount": 2, "TargetCount": 4, "MinCount": 0},
            "Desired": {"TargetCount": 6, "MinCount": 0},
        }
    ]
    assert len(bench.history(OperationId=identifier)) == 2
    absent = {"ClusterName": "train", "OperationId": "00000000-0000-4000-8000-000000000000"}
    assert bench.refused("DescribeClusterOperation", absent).code == "ResourceNotFound"


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("type", update(2, InstanceType="ml.m5.2xlarge"), "InstanceType of instance group workers cannot be changed"),
    ("role", update(2, ExecutionRole="arn:aws:iam::111122223333:role/another-role"), "ExecutionRole"),
    ("threads", update(2, ThreadsPerCore=2), "ThreadsPerCore"),
    (
        "subnet",
        update(2, OverrideVpcConfig={"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}),
        "OverrideVpcConfig",
    ),
    ("empty new group", {"ClusterName": "train", "InstanceGroups": [group("new", 0)]}, "at least 1"),
    (
        "second controller",
        {"ClusterName": "train", "InstanceGroups": [controller(InstanceGroupName="second")]},
        "2 Controller Groups",
    ),
    ("absent group", {"ClusterName": "train", "InstanceGroupsToDelete": ["nobody"]}, "does not exist"),
    ("controller", {"ClusterName": "train", "InstanceGroupsToDelete": ["controller"]}, "cannot be deleted"),
    ("both", update(2) | {"InstanceGroupsToDelete": ["workers"]}, "both updated and deleted"),
]


@pytest.mark.parametrize(("request_", "text"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_update_is_refused(bench: Bench, request_: dict[str, Any], text: str) -> None:
    bench.create(2)
    error = bench.refused("UpdateCluster", request_)
    assert error.code == "ValidationException"
    assert text in error.message
    assert bench.running() == 2


def test_a_group_is_added_and_deleted_by_name_only(bench: Bench) -> None:
    bench.create(2)
    bench.call("UpdateCluster", {"ClusterName": "train", "InstanceGroups": [group("more", 2)]})
    bench.run(20)
    assert [g["InstanceGroupName"] for g in bench.describe()["InstanceGroups"]] == ["controller", "workers", "more"]
    assert (bench.running("more"), bench.running("workers")) == (2, 2)
    bench.call("UpdateCluster", {"ClusterName": "train", "InstanceGroupsToDelete": ["more"]})
    assert bench.group("more")["Status"] == "Deleting"
    bench.run(5)
    assert [g["InstanceGroupName"] for g in bench.describe()["InstanceGroups"]] == ["controller", "workers"]


def test_node_recovery_is_a_switch_of_the_cluster(bench: Bench) -> None:
    assert bench.create(1)["NodeRecovery"] == "Automatic"
    bench.call("UpdateCluster", {"ClusterName": "train", "NodeRecovery": "None"})
    assert bench.describe()["NodeRecovery"] == "None"
    assert bench.describe()["ClusterStatus"] == "InService"


def test_software_update_takes_the_cluster_out_of_service(bench: Bench) -> None:
    bench.create(2)
    before = bench.nodes()
    bench.call("UpdateClusterSoftware", {"ClusterName": "train"})
    assert bench.describe()["ClusterStatus"] == "SystemUpdating"
    assert {n["status"] for n in bench.nodes(None)} == {"SystemUpdating"}
    assert bench.refused("UpdateCluster", update(3)).code == "ConflictException"
    assert bench.refused("DeleteCluster", {"ClusterName": "train"}).code == "ConflictException"
    victim = {"ClusterName": "train", "NodeIds": [before[0]["instance_id"]]}
    assert bench.refused("BatchReplaceClusterNodes", victim).code == "ValidationException"
    bench.run(20)
    described = bench.describe()
    assert described["ClusterStatus"] == "InService"
    assert {g["SoftwareUpdateStatus"] for g in described["InstanceGroups"]} == {"Succeeded"}
    assert {n["CurrentImageReleaseVersion"] for n in bench.listed()} == {"1.0.1"}
    assert [n["instance_id"] for n in bench.nodes()] == [n["instance_id"] for n in before]


def test_one_health_check_at_a_time(bench: Bench) -> None:
    bench.create(2)
    config = {"InstanceGroupName": "workers", "DeepHealthChecks": ["InstanceStress"]}
    check = {"ClusterName": "train", "DeepHealthCheckConfigurations": [config]}
    bench.call("StartClusterHealthCheck", check)
    assert {n["status"] for n in bench.nodes()} == {"DeepHealthCheckInProgress"}
    assert bench.refused("StartClusterHealthCheck", check).code == "ConflictException"
    victim = {"ClusterName": "train", "NodeIds": [bench.nodes()[0]["instance_id"]]}
    assert bench.call("BatchRebootClusterNodes", victim)["Failed"][0]["ErrorCode"] == "InstanceIdInUse"
    bench.run(50)
    assert bench.running() == 2
    listed = bench.call("ListClusterOperations", {"ClusterName": "train", "Type": "DeepHealthCheck"})
    assert [o["Status"] for o in listed["ClusterOperationSummaries"]] == ["Done"]


def test_tags(bench: Bench) -> None:
    arn = bench.create(1, Tags=[{"Key": "team", "Value": "ml"}])["ClusterArn"]
    bench.call("AddTags", {"ResourceArn": arn, "Tags": [{"Key": "owner", "Value": "platform"}]})
    tags = bench.call("ListTags", {"ResourceArn": arn})["Tags"]
    assert {t["Key"]: t["Value"] for t in tags} == {"team": "ml", "owner": "platform"}
