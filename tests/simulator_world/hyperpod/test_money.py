"""The money: which capacity a launch takes, what it is billed at, and what tells that a discount was lost."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulator_world.harness import AZ1, AZ2, GPU, PLAN, Bench, controller, group, plan, request

ACCOUNT_AZ1 = {"az_id": "usw2-az1", "instance_type": GPU, "count": 8}
FOUND, NOT_FOUND = "using reserved capacity", "using on-demand pool"
WRONG_ARN = PLAN.replace("contract", "contrakt")

CASES: list[tuple[str, dict[str, Any], dict[str, Any], str, str]] = [
    # name, scenario changes, group changes, subnet, expected kind
    ("the plan", {}, {}, AZ2, "reserved"),
    ("no ARN", {}, {"TrainingPlanArn": None}, AZ2, "on-demand"),
    ("an ARN that does not exist", {}, {"TrainingPlanArn": WRONG_ARN}, AZ2, "on-demand"),
    ("the wrong AZ", {}, {}, AZ1, "on-demand"),
    ("an expired plan", {"training_plan": [plan(window=[{"start": "-9d", "end": "-1d"}])]}, {}, AZ2, "on-demand"),
    ("a failed plan", {"training_plan": [plan(status="Failed")]}, {}, AZ2, "on-demand"),
    ("a pending plan", {"training_plan": [plan(status="Pending")]}, {}, AZ2, "on-demand"),
    ("the last hour", {"training_plan": [plan(window=[{"start": "-9d", "end": "+50m"}])]}, {}, AZ2, "on-demand"),
    (
        "another type",
        {"training_plan": [plan(instance_type="ml.m5.2xlarge")]},
        {},
        AZ2,
        "on-demand",
    ),
    (
        "a reservation of the account, no ARN",
        {"training_plan": [], "account_reservation": [ACCOUNT_AZ1]},
        {"TrainingPlanArn": None},
        AZ1,
        "reserved",
    ),
    (
        "a reservation in the other AZ",
        {"training_plan": [], "account_reservation": [ACCOUNT_AZ1]},
        {"TrainingPlanArn": None},
        AZ2,
        "on-demand",
    ),
    (
        "a reservation that has not begun",
        {"training_plan": [], "account_reservation": [ACCOUNT_AZ1 | {"start": "+1d"}]},
        {"TrainingPlanArn": None},
        AZ1,
        "on-demand",
    ),
]


@pytest.mark.parametrize(("changes", "spec", "subnet", "kind"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_capacity_kind(
    bench_with: Callable[..., Bench], changes: dict[str, Any], spec: dict[str, Any], subnet: str, kind: str
) -> None:
    bench = bench_with(**changes)
    bench.create(subnet=subnet, InstanceGroups=[controller(), group("workers", 2, **spec)])
    assert bench.running() == 2
    assert [(n["capacity"], n["billed"]) for n in bench.nodes()] == [(kind, kind)] * 2
    assert [n["price"] for n in bench.nodes()] == [8.0 if kind == "reserved" else 16.6] * 2
    reserved = kind == "reserved"
    assert len(bench.texts(FOUND)) == (2 if reserved else 0)
    assert len(bench.texts(NOT_FOUND)) == (0 if reserved else 2)
    meter = bench.control("meter")
    assert meter["per_hour"]["reserved"] == (16.0 if reserved else 0)
    lost = not reserved and changes.get("training_plan") != [plan(instance_type="ml.m5.2xlarge")]
    assert (meter["per_hour_total"] > meter["per_hour_expected"]) == lost


def test_a_group_pinned_to_the_plans_az_gets_it_though_the_cluster_stands_elsewhere(bench: Bench) -> None:
    pinned = group("workers", 2, OverrideVpcConfig={"SecurityGroupIds": ["sg-1"], "Subnets": [AZ2]})
    bench.create(subnet=AZ1, InstanceGroups=[controller(), pinned])
    assert {n["az_id"] for n in bench.nodes()} == {"usw2-az2"}
    assert {n["billed"] for n in bench.nodes()} == {"reserved"}
    assert {n["az_id"] for n in bench.nodes("controller")} == {"usw2-az1"}


def test_the_capacity_event_is_worded_as_documented_and_names_the_reservation(bench: Bench) -> None:
    bench.create(1)
    event = next(e for e in bench.history(InstanceGroupName="workers") if FOUND in e["Description"])
    described = bench.call("DescribeClusterEvent", {"ClusterName": "train", "EventId": event["EventId"]})
    instance = described["EventDetails"]["EventDetails"]["EventMetadata"]["Instance"]
    reservation = instance["CapacityReservation"]
    identifier = reservation["Arn"].rpartition("/")[2]
    assert reservation["Type"] == "ODCR"
    assert event["EventLevel"] == "Info"
    assert event["Description"] == (
        f"Found CapacityReservation ID {identifier} for Cluster train and IG workers, using reserved capacity"
    )
    assert instance["NodeLogicalId"] == bench.nodes()[0]["logical_id"]
    lost = next(e for e in bench.history(InstanceGroupName="controller") if NOT_FOUND in e["Description"])
    assert lost["Description"] == (
        "No CapacityReservation found for Cluster train and IG controller, using on-demand pool"
    )
    assert lost["EventLevel"] == "Warn"


def counters(bench: Bench) -> tuple[int, int, int]:
    """(total, available, in use) of the plan."""
    view = bench.call("DescribeTrainingPlan", {"TrainingPlanName": PLAN})
    return view["TotalInstanceCount"], view["AvailableInstanceCount"], view["InUseInstanceCount"]


def test_plan_counters_follow_the_nodes(bench: Bench) -> None:
    assert counters(bench) == (8, 8, 0)
    bench.create(5)
    assert counters(bench) == (8, 3, 5)
    victim = bench.nodes()[0]["instance_id"]
    bench.call("BatchDeleteClusterNodes", {"ClusterName": "train", "NodeIds": [victim]})
    assert counters(bench) == (8, 3, 5)
    bench.run(3)
    assert counters(bench) == (8, 4, 4)
    bench.call("BatchReplaceClusterNodes", {"ClusterName": "train", "NodeIds": [bench.nodes()[0]["instance_id"]]})
    bench.run(20)
    assert counters(bench) == (8, 4, 4)


def test_unhealthy_reserved_instances_are_not_available(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(training_plan=[plan(unhealthy=3)])
    assert counters(bench) == (8, 5, 0)
    bench.create(6)
    assert sorted(n["billed"] for n in bench.nodes()) == ["on-demand"] + ["reserved"] * 5


def test_whoever_asks_for_more_than_the_contract_pays_on_demand_for_the_rest(bench: Bench) -> None:
    bench.create(10)
    assert sorted(n["billed"] for n in bench.nodes()) == ["on-demand"] * 2 + ["reserved"] * 8


def test_no_room_anywhere_is_a_capacity_failure_and_not_an_error_of_the_call(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(on_demand=[{"az_id": "usw2-az2", "instance_type": "ml.m5.2xlarge", "count": 1}])
    described = bench.create(10, minutes=40)
    assert described["ClusterStatus"] == "InService"
    assert bench.running() == 8
    assert len(bench.texts("Failed to provision EC2 Instance")) > 2


def test_an_update_without_the_arn_takes_the_discount_from_later_nodes(bench: Bench) -> None:
    bench.create(2)
    bench.call("UpdateCluster", {"ClusterName": "train", "InstanceGroups": [group("workers", 4, TrainingPlanArn=None)]})
    bench.run(20)
    assert [n["billed"] for n in bench.nodes()] == ["reserved", "reserved", "on-demand", "on-demand"]


class TestFirstCallLatch:
    """Without a discounted instance out of the first call the discount never begins."""

    def grow(self, bench: Bench, count: int) -> None:
        add = {"InstanceGroupName": "workers", "IncrementTargetCountBy": count}
        bench.call("BatchAddClusterNodes", {"ClusterName": "train", "NodesToAdd": [add]})
        bench.run(20)

    def test_zero_in_the_first_call_doubles_the_bill_though_events_look_reserved(
        self, bench_with: Callable[..., Bench]
    ) -> None:
        bench = bench_with(first_call_latch=True)
        bench.create(0)
        self.grow(bench, 4)
        assert len(bench.texts(FOUND)) == 4
        assert bench.texts(NOT_FOUND) == []
        assert counters(bench) == (8, 4, 4)
        assert [(n["capacity"], n["billed"], n["price"]) for n in bench.nodes()] == [
            ("reserved", "on-demand", 16.6)
        ] * 4
        meter = bench.control("meter")
        assert meter["per_hour"]["on-demand"] == pytest.approx(4 * 16.6 + 0.46)
        assert meter["per_hour_expected"] == pytest.approx(4 * 8.0 + 0.46)

    def test_one_in_the_first_call_keeps_the_discount_for_all(self, bench_with: Callable[..., Bench]) -> None:
        bench = bench_with(first_call_latch=True)
        bench.create(1)
        self.grow(bench, 4)
        assert {n["billed"] for n in bench.nodes()} == {"reserved"}

    def test_a_first_call_that_only_got_on_demand_counts_as_none(self, bench_with: Callable[..., Bench]) -> None:
        bench = bench_with(first_call_latch=True)
        pinned = group("late", 1, OverrideVpcConfig={"SecurityGroupIds": ["sg-1"], "Subnets": [AZ2]})
        bench.create(subnet=AZ1, InstanceGroups=[controller(), group("workers", 2)])
        bench.call("UpdateCluster", {"ClusterName": "train", "InstanceGroups": [pinned]})
        bench.run(20)
        assert [(n["capacity"], n["billed"]) for n in bench.nodes("late")] == [("reserved", "on-demand")]

    def test_without_the_latch_later_nodes_have_the_discount(self, bench: Bench) -> None:
        bench.create(0)
        self.grow(bench, 4)
        assert {n["billed"] for n in bench.nodes()} == {"reserved"}


class TestMeter:
    """From the start of the lifecycle script to the start of termination; reserved slots to the end of the contract."""

    def test_starts_with_the_script(self, bench: Bench) -> None:
        bench.call("CreateCluster", request(1))
        bench.run(4.5)
        assert bench.control("meter")["per_hour_total"] == 0
        bench.run(1)
        assert bench.nodes("controller")[0]["status"] == "Pending"
        assert bench.control("meter")["per_hour_total"] == 0.46

    def test_failed_launches_are_free_and_failed_scripts_are_not(self, bench_with: Callable[..., Bench]) -> None:
        faults = [
            {"kind": "capacity_shortage", "group": "workers", "node": 0, "attempts": 3},
            {"kind": "lifecycle_failure", "group": "workers", "node": 1, "attempts": 3},
        ]
        bench = bench_with(fault=faults)
        bench.create(2, minutes=60)
        charges = [c for c in bench.control("meter", charges=True)["charges"] if c["group"] == "workers"]
        by_node = {n["index"]: {x["instance_id"] for x in n["launches"]} for n in bench.nodes()}
        assert len(by_node[0]) == len(by_node[1]) == 4
        assert sum(c["instance_id"] in by_node[0] for c in charges) == 1
        assert sum(c["instance_id"] in by_node[1] for c in charges) == 4

    def test_deleting_reserved_nodes_does_not_stop_their_bill(self, bench_with: Callable[..., Bench]) -> None:
        bench = bench_with(training_plan=[plan(window=[{"start": "-1d", "end": "+5h"}])])
        bench.create(3)
        assert bench.control("meter")["per_hour"] == {"on-demand": 0.46, "reserved": 24.0, "reserved-idle": 0}
        bench.call("DeleteCluster", {"ClusterName": "train"})
        bench.run(10)
        assert bench.control("meter")["per_hour"] == {"on-demand": 0, "reserved": 0, "reserved-idle": 24.0}
        bench.run(300)
        assert bench.control("meter")["per_hour_total"] == 0

    def test_a_slot_that_is_used_again_is_paid_once(self, bench: Bench) -> None:
        bench.create(3)
        bench.call("BatchReplaceClusterNodes", {"ClusterName": "train", "NodeIds": [bench.nodes()[0]["instance_id"]]})
        bench.run(5)
        during = bench.control("meter")["per_hour"]
        assert (during["reserved"], during["reserved-idle"]) == (16.0, 8.0)
        bench.run(15)
        after = bench.control("meter")["per_hour"]
        assert (after["reserved"], after["reserved-idle"]) == (24.0, 0)

    def test_deleting_on_demand_nodes_stops_their_bill_at_once(self, bench: Bench) -> None:
        bench.create(2, InstanceGroups=[controller(), group("workers", 2, TrainingPlanArn=None)])
        ids = [n["instance_id"] for n in bench.nodes()]
        bench.call("BatchDeleteClusterNodes", {"ClusterName": "train", "NodeIds": ids})
        assert [n["status"] for n in bench.nodes()] == ["ShuttingDown"] * 2
        assert bench.control("meter")["per_hour"]["on-demand"] == 0.46

    @pytest.mark.parametrize("operation", ["BatchReplaceClusterNodes", "BatchDeleteClusterNodes"])
    def test_billing_stops_when_termination_begins_and_capacity_comes_back_when_it_ends(
        self, bench: Bench, operation: str
    ) -> None:
        bench.create(1)
        bench.call(operation, {"ClusterName": "train", "NodeIds": [bench.nodes()[0]["instance_id"]]})
        (node,) = bench.nodes()
        assert (node["status"], node["billed"], node["capacity"]) == ("ShuttingDown", None, "reserved")
        bench.run(1.1)
        assert counters(bench) == (8, 8, 0)

    def test_total_is_rate_times_time(self, bench: Bench) -> None:
        bench.create(2)
        before = bench.control("meter")
        bench.run(90)
        after = bench.control("meter")
        assert after["total"] - before["total"] == pytest.approx(1.5 * (16.0 + 0.46))
        assert after["expected"] == after["total"]


class TestPlanWindows:
    """Blocks begin, end an hour early, and may have gaps."""

    def test_a_scheduled_plan_holds_the_group_at_nothing(self, bench_with: Callable[..., Bench]) -> None:
        bench = bench_with(training_plan=[plan(window=[{"start": "+3h", "end": "+30d"}])])
        bench.create(2, minutes=120)
        assert [n["capacity"] for n in bench.nodes()] == [None, None]
        assert bench.group()["TrainingPlanStatus"] == "Scheduled"
        bench.run(80)
        assert [n["billed"] for n in bench.nodes()] == ["reserved", "reserved"]
        assert bench.texts(NOT_FOUND) == []

    def test_instances_are_taken_back_an_hour_before_the_end(self, bench_with: Callable[..., Bench]) -> None:
        bench = bench_with(training_plan=[plan(window=[{"start": "-1d", "end": "+4h"}])])
        bench.create(2, minutes=178)
        assert bench.running() == 2
        bench.run(6)
        assert bench.nodes() == []
        assert bench.group()["TargetCount"] == 0
        assert bench.call("DescribeTrainingPlan", {"TrainingPlanName": "contract"})["Status"] == "Active"
        bench.run(60)
        assert bench.call("DescribeTrainingPlan", {"TrainingPlanName": "contract"})["Status"] == "Expired"

    def test_nodes_wait_out_the_gap_between_two_blocks(self, bench_with: Callable[..., Bench]) -> None:
        windows = [{"start": "-1d", "end": "+4h"}, {"start": "+6h", "end": "+10d"}]
        bench = bench_with(training_plan=[plan(window=windows)])
        bench.create(2, minutes=170)
        first = {n["instance_id"] for n in bench.nodes()}
        bench.run(60)
        assert bench.running() == 0
        assert bench.group()["TargetCount"] == 2
        bench.run(160)
        assert bench.running() == 2
        assert {n["billed"] for n in bench.nodes()} == {"reserved"}
        assert first.isdisjoint(n["instance_id"] for n in bench.nodes())


def test_training_plans_are_listed_filtered_and_found_by_name_or_arn(bench_with: Callable[..., Bench]) -> None:
    later = plan(name="later", window=[{"start": "+10d", "end": "+20d"}])
    bench = bench_with(training_plan=[plan(), later])
    listed = bench.call("ListTrainingPlans", {"SortBy": "TrainingPlanName", "SortOrder": "Ascending"})
    assert [(p["TrainingPlanName"], p["Status"]) for p in listed["TrainingPlanSummaries"]] == [
        ("contract", "Active"),
        ("later", "Scheduled"),
    ]
    scheduled = bench.call("ListTrainingPlans", {"Filters": [{"Name": "Status", "Value": "Scheduled"}]})
    assert [p["TrainingPlanName"] for p in scheduled["TrainingPlanSummaries"]] == ["later"]
    view = bench.call("DescribeTrainingPlan", {"TrainingPlanName": "contract"})
    assert view["TargetResources"] == ["hyperpod-cluster"]
    block = view["ReservedCapacitySummaries"][0]
    assert (block["AvailabilityZoneId"], block["AvailabilityZone"]) == ("usw2-az2", "us-west-2b")
    assert view["TrainingPlanArn"] == PLAN
    assert bench.refused("DescribeTrainingPlan", {"TrainingPlanName": "none"}).code == "ResourceNotFound"
    bench.create(1)
    assert len(bench.call("ListClusters", {"TrainingPlanArn": PLAN})["ClusterSummaries"]) == 1
    assert bench.call("ListClusters", {"TrainingPlanArn": WRONG_ARN})["ClusterSummaries"] == []
