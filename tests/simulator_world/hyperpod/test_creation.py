"""Creation: what is refused, the Continuous and the legacy way to InService, minimum counts, quotas."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulator_world.harness import CPU, ELSEWHERE, GPU, Bench, controller, group, request

SlurmStrategy = {"Slurm": {"SlurmConfigStrategy": "Merge"}}

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (
        "two controllers",
        {"InstanceGroups": [controller(), controller(InstanceGroupName="second")]},
        "2 Controller Groups",
    ),
    ("no controller", {"InstanceGroups": [group("workers", 1)]}, "no InstanceGroup with Controller node type"),
    (
        "partition on the controller",
        {"InstanceGroups": [controller(SlurmConfig={"NodeType": "Controller", "PartitionNames": ["p"]})]},
        "Partitions can only be assigned to Compute node types",
    ),
    ("strategy", {"Orchestrator": SlurmStrategy}, "SlurmConfigStrategy"),
    (
        "minimum above count",
        {"InstanceGroups": [controller(), group("w", 2, MinInstanceCount=3)]},
        "cannot exceed its InstanceCount",
    ),
    (
        "minimum in legacy mode",
        {
            "NodeProvisioningMode": None,
            "InstanceGroups": [controller(), group("w", 2, MinInstanceCount=1)],
        },
        "MinInstanceCount can only be used",
    ),
    ("no slurm config", {"InstanceGroups": [controller(), group("w", 1, SlurmConfig=None)]}, "needs SlurmConfig"),
    (
        "type and requirements",
        {"InstanceGroups": [controller(), group("w", 1, InstanceRequirements={"InstanceTypes": [GPU]})]},
        "exactly one of InstanceType",
    ),
    ("neither", {"InstanceGroups": [controller(), group("w", 1, InstanceType=None)]}, "exactly one of InstanceType"),
    (
        "override without vpc",
        {
            "VpcConfig": None,
            "InstanceGroups": [
                controller(),
                group("w", 1, OverrideVpcConfig={"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}),
            ],
        },
        "needs VpcConfig",
    ),
    ("name twice", {"InstanceGroups": [controller(), group("w", 1), group("w", 1)]}, "more than once"),
    (
        "unknown subnet",
        {"VpcConfig": {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-00000000000000000"]}},
        "does not exist",
    ),
    (
        "both orchestrators",
        {"Orchestrator": {"Slurm": {}, "Eks": {"ClusterArn": "arn:aws:eks:us-west-2:111122223333:cluster/x"}}},
        "Exactly one of Eks and Slurm",
    ),
]


@pytest.mark.parametrize(("changes", "text"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_create_is_refused(bench: Bench, changes: dict[str, Any], text: str) -> None:
    error = bench.refused("CreateCluster", request(2, **changes))
    assert error.code == "ValidationException"
    assert text in error.message
    assert bench.call("ListClusters", {})["ClusterSummaries"] == []


def test_a_name_is_taken_until_the_cluster_is_gone(bench: Bench) -> None:
    bench.create(2)
    assert bench.refused("CreateCluster", request(2)).code == "ResourceInUse"
    bench.call("DeleteCluster", {"ClusterName": "train"})
    assert bench.describe()["ClusterStatus"] == "Deleting"
    bench.run(5)
    assert bench.refused("DescribeCluster", {"ClusterName": "train"}).code == "ResourceNotFound"
    first = {c["params"]["ClusterName"]: c["result"] for c in bench.control("calls")["calls"] if "result" in c}
    assert bench.call("CreateCluster", request(2))["ClusterArn"] != first["train"]["ClusterArn"]


def test_the_controller_comes_first_and_makes_the_cluster_in_service(bench: Bench) -> None:
    bench.call("CreateCluster", request(4))
    bench.run(7)
    assert bench.describe()["ClusterStatus"] == "Creating"
    assert {n["capacity"] for n in bench.nodes("workers")} == {None}
    bench.run(2)
    described = bench.describe()
    assert described["ClusterStatus"] == "InService"
    assert bench.running("workers") == 0
    assert [g["CurrentCount"] for g in described["InstanceGroups"]] == [1, 0]
    bench.run(8)
    assert bench.running("workers") == 4


def test_a_login_group_is_waited_for(bench: Bench) -> None:
    login = group("login", 1, InstanceType=CPU, SlurmConfig={"NodeType": "Login"}, TrainingPlanArn=None)
    bench.call("CreateCluster", request(1, InstanceGroups=[controller(), login, group("workers", 1)]))
    bench.run(10)
    assert bench.describe()["ClusterStatus"] == "Creating"
    bench.run(8)
    assert bench.describe()["ClusterStatus"] == "InService"


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ({"kind": "lifecycle_failure", "group": "controller", "attempts": 1}, "Failed"),
        ({"kind": "capacity_shortage", "group": "controller", "attempts": 1}, "Failed"),
        ({"kind": "efa_failure", "group": "controller", "attempts": 1}, "InService"),
        ({"kind": "lifecycle_failure", "group": "workers", "attempts": 3}, "InService"),
        ({"kind": "capacity_shortage", "group": "workers"}, "InService"),
    ],
)
def test_only_a_controllers_hard_failure_fails_a_continuous_cluster(
    bench_with: Callable[..., Bench], fault: dict[str, Any], status: str
) -> None:
    bench = bench_with(fault=[fault])
    described = bench.create(2, minutes=40)
    assert described["ClusterStatus"] == status
    if status == "Failed":
        assert described["FailureMessage"]
        assert bench.refused("UpdateCluster", {"ClusterName": "train", "NodeRecovery": "None"}).code == (
            "ConflictException"
        )
        assert bench.nodes(None) == []
        bench.call("DeleteCluster", {"ClusterName": "train"})
        bench.run(1)
        assert bench.call("ListClusters", {})["ClusterSummaries"] == []


def test_legacy_creation_is_all_or_nothing(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(fault=[{"kind": "lifecycle_failure", "group": "workers", "node": 1, "attempts": 1}])
    described = bench.create(3, NodeProvisioningMode=None)
    assert described["ClusterStatus"] == "Failed"
    assert "Lifecycle scripts did not run successfully" in described["FailureMessage"]
    assert bench.nodes(None) == []
    told = [e["detail"]["ClusterStatus"] for e in bench.signals.events if "ClusterStatus" in e["detail"]]
    assert told == ["Creating", "RollingBack", "Failed"]


def test_legacy_has_no_events_and_one_operation_at_a_time(bench: Bench) -> None:
    described = bench.create(2, NodeProvisioningMode=None)
    assert described["ClusterStatus"] == "InService"
    assert "MinCount" not in described["InstanceGroups"][0]
    assert bench.refused("ListClusterEvents", {"ClusterName": "train"}).code == "ValidationException"
    add = {"ClusterName": "train", "NodesToAdd": [{"InstanceGroupName": "workers", "IncrementTargetCountBy": 1}]}
    assert bench.refused("BatchAddClusterNodes", add).code == "ValidationException"
    bigger = {"ClusterName": "train", "InstanceGroups": [group("workers", 3)]}
    bench.call("UpdateCluster", bigger)
    assert bench.describe()["ClusterStatus"] == "Updating"
    assert bench.refused("UpdateCluster", bigger).code == "ConflictException"
    assert bench.refused("DeleteCluster", {"ClusterName": "train"}).code == "ConflictException"
    node = bench.nodes()[0]["instance_id"]
    delete = {"ClusterName": "train", "NodeIds": [node]}
    assert bench.refused("BatchDeleteClusterNodes", delete).code == "ValidationException"
    bench.run(15)
    assert bench.describe()["ClusterStatus"] == "InService"
    assert bench.running() == 3


def test_a_failed_legacy_update_rolls_back_to_the_last_counts(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(fault=[{"kind": "capacity_shortage", "group": "workers", "group_target_above": 2}])
    bench.create(2, NodeProvisioningMode=None)
    before = [n["instance_id"] for n in bench.nodes()]
    bench.call("UpdateCluster", {"ClusterName": "train", "InstanceGroups": [group("workers", 4)]})
    bench.run(30)
    described = bench.describe()
    assert described["ClusterStatus"] == "InService"
    assert "sufficient capacity" in described["FailureMessage"]
    assert bench.group()["TargetCount"] == 2
    assert [n["instance_id"] for n in bench.nodes()] == before


@pytest.mark.parametrize(
    ("quotas", "text"),
    [
        ({"max_instances_per_cluster": 100, "total_instances": 100, "cluster_usage": {GPU: 3, CPU: 1}}, GPU),
        ({"max_instances_per_cluster": 4, "total_instances": 100, "cluster_usage": {GPU: 9, CPU: 1}}, "per SageMaker"),
        ({"max_instances_per_cluster": 9, "total_instances": 4, "cluster_usage": {GPU: 9, CPU: 1}}, "across SageMaker"),
        ({"max_instances_per_cluster": 9, "total_instances": 9, "cluster_usage": {CPU: 1}}, f"{GPU} for cluster usage"),
    ],
)
def test_quotas_are_refused_at_once(bench_with: Callable[..., Bench], quotas: dict[str, Any], text: str) -> None:
    error = bench_with(quotas=quotas).refused("CreateCluster", request(4))
    assert error.code == "ResourceLimitExceeded"
    assert text in error.message


def test_quota_counts_the_targets_that_exist(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(quotas={"max_instances_per_cluster": 9, "total_instances": 9, "cluster_usage": {GPU: 5, CPU: 1}})
    bench.create(4)
    add = {"ClusterName": "train", "NodesToAdd": [{"InstanceGroupName": "workers", "IncrementTargetCountBy": 2}]}
    error = bench.refused("BatchAddClusterNodes", add)
    assert error.code == "ResourceLimitExceeded"
    assert "limit 'ml.g6.48xlarge for cluster usage' is 5 Instances, with current utilization of 4" in error.message
    assert bench.group()["TargetCount"] == 4


def test_nothing_of_this_region_is_seen_from_another(bench: Bench) -> None:
    bench.create(1)
    assert bench.refused("DescribeCluster", {"ClusterName": "train"}, caller=ELSEWHERE).code == "ResourceNotFound"
    assert bench.refused("DeleteCluster", {"ClusterName": "train"}, caller=ELSEWHERE).code == "ResourceNotFound"
    assert bench.call("ListClusters", {}, caller=ELSEWHERE)["ClusterSummaries"] == []
    assert bench.call("ListTrainingPlans", {}, caller=ELSEWHERE)["TrainingPlanSummaries"] == []
    assert bench.refused("CreateCluster", request(1), caller=ELSEWHERE).code == "ValidationException"


class TestMinimum:
    """A group with MinInstanceCount."""

    def test_holds_the_group_until_it_is_reached(self, bench: Bench) -> None:
        groups = [controller(), group("workers", 4, MinInstanceCount=3)]
        bench.call("CreateCluster", request(InstanceGroups=groups))
        bench.run(12)
        assert bench.describe()["ClusterStatus"] == "InService"
        assert bench.group()["Status"] == "Creating"
        add = {"ClusterName": "train", "NodesToAdd": [{"InstanceGroupName": "workers", "IncrementTargetCountBy": 1}]}
        failed = bench.call("BatchAddClusterNodes", add)["Failed"]
        assert [(f["ErrorCode"], f["FailedCount"]) for f in failed] == [("InvalidInstanceGroupStatus", 1)]
        bench.run(10)
        assert bench.group()["Status"] == "InService"
        assert bench.texts("minimum capacity reached")

    def test_rolls_a_new_group_back_to_nothing_after_three_hours(self, bench_with: Callable[..., Bench]) -> None:
        bench = bench_with(fault=[{"kind": "capacity_shortage", "group": "workers", "node": 3}])
        groups = [controller(), group("workers", 4, MinInstanceCount=4)]
        bench.create(InstanceGroups=groups, minutes=170)
        assert bench.running() == 3
        bench.run(15)
        view = bench.group()
        assert (view["TargetCount"], view["MinCount"], view["Status"]) == (0, 0, "InService")
        assert bench.nodes() == []
        assert bench.texts("rollback initiated")

    def test_a_changed_minimum_starts_the_three_hours_anew(self, bench_with: Callable[..., Bench]) -> None:
        bench = bench_with(fault=[{"kind": "capacity_shortage", "group": "workers", "node": n} for n in (3, 4, 5)])
        bench.create(InstanceGroups=[controller(), group("workers", 6, MinInstanceCount=4)], minutes=120)
        higher = group("workers", 6, MinInstanceCount=5)
        bench.call("UpdateCluster", {"ClusterName": "train", "InstanceGroups": [higher]})
        bench.run(90)
        assert bench.group()["TargetCount"] == 6, "three hours after creation nothing is rolled back"
        bench.run(95)
        assert bench.group()["TargetCount"] == 0

    def test_rolls_a_group_in_service_back_to_its_last_counts(self, bench: Bench) -> None:
        bench.create(4)
        before = [n["instance_id"] for n in bench.nodes()]
        bench.control("inject", kind="capacity_shortage", group="workers")
        bench.call(
            "UpdateCluster", {"ClusterName": "train", "InstanceGroups": [group("workers", 6, MinInstanceCount=6)]}
        )
        assert bench.group()["Status"] == "Updating"
        bench.run(185)
        view = bench.group()
        assert (view["TargetCount"], view["MinCount"], view["Status"]) == (4, 0, "InService")
        assert [n["instance_id"] for n in bench.nodes()] == before
