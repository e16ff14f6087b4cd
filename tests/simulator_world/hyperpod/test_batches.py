"""Adding, deleting, rebooting and replacing nodes: tokens, partial answers, identity, and what is refused."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulator_world.harness import Bench, controller, group

ABSENT = "i-0aaaaaaaaaaaaaaaa"


def add(count: int, token: str | None = None, **changes: Any) -> dict[str, Any]:
    """A BatchAddClusterNodes request for workers."""
    spec = {"InstanceGroupName": "workers", "IncrementTargetCountBy": count} | changes
    return {"ClusterName": "train", "NodesToAdd": [spec]} | ({"ClientToken": token} if token else {})


def by_ids(*ids: str, logical: bool = False) -> dict[str, Any]:
    """A request for nodes by instance ids or by logical ids."""
    return {"ClusterName": "train", "NodeLogicalIds" if logical else "NodeIds": list(ids)}


class TestAdd:
    def test_increments_the_target(self, bench: Bench) -> None:
        bench.create(2)
        answer = bench.call("BatchAddClusterNodes", add(3))
        assert len(answer["Successful"]) == 3
        assert {n["Status"] for n in answer["Successful"]} == {"Pending"}
        assert bench.group()["TargetCount"] == 5
        assert bench.group()["ActiveOperations"] == {"Scaling": 1}
        bench.run(20)
        assert bench.running() == 5
        assert "ActiveOperations" not in bench.group()

    def test_the_same_token_gives_the_same_nodes_with_their_latest_status(self, bench: Bench) -> None:
        bench.create(2)
        first = bench.call("BatchAddClusterNodes", add(2, "stage-2"))
        bench.run(20)
        gone, kept = (n["NodeLogicalId"] for n in first["Successful"])
        bench.call("BatchDeleteClusterNodes", by_ids(gone, logical=True))
        bench.run(5)
        again = bench.call("BatchAddClusterNodes", add(2, "stage-2"))
        assert {n["NodeLogicalId"]: n["Status"] for n in again["Successful"]} == {gone: "NotFound", kept: "Running"}
        assert bench.group()["TargetCount"] == 3

    @pytest.mark.parametrize(("hours", "target"), [(7.9, 4), (8.1, 6)])
    def test_a_token_lives_eight_hours(self, bench: Bench, hours: float, target: int) -> None:
        bench.create(2)
        bench.call("BatchAddClusterNodes", add(2, "stage-2"))
        bench.run(hours * 60)
        bench.call("BatchAddClusterNodes", add(2, "stage-2"))
        assert bench.group()["TargetCount"] == target

    def test_a_token_with_other_parameters_is_refused(self, bench: Bench) -> None:
        bench.create(2)
        bench.call("BatchAddClusterNodes", add(2, "stage-2"))
        assert bench.refused("BatchAddClusterNodes", add(3, "stage-2")).code == "ValidationException"
        assert bench.group()["TargetCount"] == 4

    def test_other_tokens_and_no_token_add_again(self, bench: Bench) -> None:
        bench.create(1)
        for request in (add(1, "a"), add(1, "b"), add(1), add(1)):
            bench.call("BatchAddClusterNodes", request)
        assert bench.group()["TargetCount"] == 5

    @pytest.mark.parametrize(
        ("changes", "code"),
        [
            ({"InstanceGroupName": "nobody"}, "InstanceGroupNotFound"),
            ({"AvailabilityZones": ["us-west-2c"]}, "IncompatibleAvailabilityZones"),
            ({"InstanceTypes": ["ml.p5.48xlarge"]}, "IncompatibleInstanceTypes"),
        ],
    )
    def test_partial_failure(self, bench: Bench, changes: dict[str, Any], code: str) -> None:
        bench.create(1)
        request = add(2)
        request["NodesToAdd"].append({"InstanceGroupName": "workers", "IncrementTargetCountBy": 3} | changes)
        answer = bench.call("BatchAddClusterNodes", request)
        assert len(answer["Successful"]) == 2
        assert [(f["ErrorCode"], f["FailedCount"]) for f in answer["Failed"]] == [(code, 3)]
        assert bench.group()["TargetCount"] == 3

    def test_at_most_fifty_in_a_call(self, bench: Bench) -> None:
        bench.create(1)
        request = add(26)
        request["NodesToAdd"] *= 2
        assert bench.refused("BatchAddClusterNodes", request).code == "ValidationException"

    def test_a_lost_answer_took_effect_and_its_token_finds_it(self, bench: Bench) -> None:
        bench.create(2)
        bench.control("inject", kind="lost_answer", operation="BatchAddClusterNodes")
        error = bench.refused("BatchAddClusterNodes", add(2, "stage-2"))
        assert (error.code, error.status) == ("InternalFailure", 500)
        assert bench.group()["TargetCount"] == 4
        assert len(bench.call("BatchAddClusterNodes", add(2, "stage-2"))["Successful"]) == 2
        assert bench.group()["TargetCount"] == 4


class TestDelete:
    def test_partial_answer_and_a_smaller_target(self, bench: Bench) -> None:
        bench.create(3)
        boss, victim = bench.nodes("controller")[0]["instance_id"], bench.nodes()[0]["instance_id"]
        answer = bench.call("BatchDeleteClusterNodes", by_ids(victim, boss, ABSENT))
        assert answer["Successful"] == [victim]
        assert {f["NodeId"]: f["Code"] for f in answer["Failed"]} == {boss: "NodeIdInUse", ABSENT: "NodeIdNotFound"}
        assert bench.group()["TargetCount"] == 2
        again = bench.refused("BatchDeleteClusterNodes", by_ids(victim))
        assert (again.code, again.status) == ("ValidationException", 400)
        assert "InvalidNodeStatus" in again.message
        bench.run(5)
        assert bench.running() == 2

    def test_all_refused_is_an_error(self, bench: Bench) -> None:
        bench.create(1)
        boss = bench.nodes("controller")[0]["instance_id"]
        error = bench.refused("BatchDeleteClusterNodes", by_ids(boss, ABSENT))
        assert (error.code, error.status) == ("ValidationException", 400)
        assert bench.running("controller") == 1

    def test_pending_nodes_have_only_a_logical_id_and_can_be_cancelled_by_it(self, bench: Bench) -> None:
        bench.create(2)
        bench.control("inject", kind="capacity_shortage", group="workers")
        added = bench.call("BatchAddClusterNodes", add(2))["Successful"]
        bench.run(20)
        ids = [n["NodeLogicalId"] for n in added]
        answer = bench.call("BatchDeleteClusterNodes", by_ids(*ids, logical=True))
        assert sorted(answer["SuccessfulNodeLogicalIds"]) == sorted(ids)
        bench.run(30)
        assert bench.group()["TargetCount"] == 2
        assert len(bench.nodes()) == 2

    def test_a_node_deleted_while_its_script_runs_does_not_come_up_any_more(self, bench: Bench) -> None:
        bench.create(1, minutes=15.8)
        (node,) = bench.nodes()
        assert (node["status"], node["billed"]) == ("Pending", "reserved")
        bench.call("BatchDeleteClusterNodes", by_ids(node["instance_id"]))
        bench.run(0.5)
        (node,) = bench.nodes()
        assert (node["status"], node["billed"]) == ("ShuttingDown", None)

    @pytest.mark.parametrize("logical", [False, True])
    def test_at_most_fifty_ids(self, bench: Bench, logical: bool) -> None:
        bench.create(1)
        ids = [f"i-{n:017x}" for n in range(51)]
        assert bench.refused("BatchDeleteClusterNodes", by_ids(*ids, logical=logical)).code == "ValidationException"


class TestReboot:
    def test_keeps_everything_and_runs_no_script(self, bench: Bench) -> None:
        bench.create(2)
        before = bench.nodes()[0]
        scripts = len(bench.texts("lifecycle script"))
        answer = bench.call("BatchRebootClusterNodes", by_ids(before["instance_id"]))
        assert answer == {"Successful": [before["instance_id"]], "Failed": []}
        assert bench.nodes()[0]["status"] == "Pending"
        bench.run(4)
        after = bench.nodes()[0]
        assert after["status"] == "Running"
        assert {k: after[k] for k in ("instance_id", "hostname", "wiped")} == {
            k: before[k] for k in ("instance_id", "hostname", "wiped")
        }
        assert after["boots"] == before["boots"] + 1
        assert len(bench.texts("lifecycle script")) == scripts

    def test_a_controller_may_be_rebooted(self, bench: Bench) -> None:
        bench.create(1)
        boss = bench.nodes("controller")[0]["instance_id"]
        assert bench.call("BatchRebootClusterNodes", by_ids(boss))["Successful"] == [boss]


class TestReplace:
    def test_a_new_instance_under_the_old_names(self, bench: Bench) -> None:
        bench.create(3)
        before = bench.nodes()
        old = before[1]
        assert bench.call("BatchReplaceClusterNodes", by_ids(old["instance_id"]))["Successful"] == [old["instance_id"]]
        assert bench.nodes()[1]["status"] == "ShuttingDown"
        bench.run(15)
        new = bench.nodes()[1]
        assert new["status"] == "Running"
        assert new["instance_id"] != old["instance_id"]
        assert [new[k] for k in ("logical_id", "hostname", "address")] == [
            old[k] for k in ("logical_id", "hostname", "address")
        ]
        assert (old["wiped"], new["wiped"]) == (0, 1)
        assert bench.group()["TargetCount"] == 3
        assert [n["instance_id"] for n in bench.nodes()[::2]] == [n["instance_id"] for n in before[::2]]
        started = bench.texts("is starting as part of instance replacement")
        done = bench.texts("Creation completed successfully as part of instance replacement")
        assert started == [
            f"Instance {old['instance_id']} is starting as part of instance replacement in Cluster train and IG workers"
        ]
        assert done == [
            f"Instance {new['instance_id']} Creation completed successfully as part of instance replacement in Cluster "
            "train and IG workers"
        ]
        assert bench.texts(f"EC2InstanceId {new['instance_id']} has Started")
        described = bench.call("DescribeClusterNode", {"ClusterName": "train", "NodeId": new["instance_id"]})
        assert described["NodeDetails"]["PrivateDnsHostname"] == old["hostname"]
        gone = {"ClusterName": "train", "NodeId": old["instance_id"]}
        assert bench.refused("DescribeClusterNode", gone).code == "ResourceNotFound"

    def test_what_is_refused_node_by_node(self, bench: Bench) -> None:
        bench.create(4)
        boss = bench.nodes("controller")[0]["instance_id"]
        busy, deleted, fine, broken = (n["instance_id"] for n in bench.nodes())
        bench.call("BatchReplaceClusterNodes", by_ids(busy))
        bench.call("BatchDeleteClusterNodes", by_ids(deleted))
        bench.control("inject", kind="node_error", operation="BatchReplaceClusterNodes", instance_id=broken)
        answer = bench.call("BatchReplaceClusterNodes", by_ids(busy, deleted, fine, broken, boss, ABSENT))
        assert answer["Successful"] == [fine]
        assert {f["NodeId"]: f["ErrorCode"] for f in answer["Failed"]} == {
            busy: "InstanceIdInUse",
            deleted: "InvalidInstanceStatus",
            broken: "InternalServerError",
            boss: "InvalidInstanceStatus",
            ABSENT: "InstanceIdNotFound",
        }
        assert bench.call("BatchReplaceClusterNodes", by_ids(broken))["Successful"] == [broken]

    def test_all_failed_is_still_200(self, bench: Bench) -> None:
        bench.create(1)
        answer = bench.call("BatchReplaceClusterNodes", by_ids(ABSENT))
        assert [f["ErrorCode"] for f in answer["Failed"]] == ["InstanceIdNotFound"]
        assert "Successful" not in answer

    def test_by_logical_id(self, bench: Bench) -> None:
        bench.create(1)
        logical = bench.nodes()[0]["logical_id"]
        answer = bench.call("BatchReplaceClusterNodes", by_ids(logical, "absent-node", logical=True))
        assert answer["SuccessfulNodeLogicalIds"] == [logical]
        assert [f["ErrorCode"] for f in answer["FailedNodeLogicalIds"]] == ["InstanceIdNotFound"]

    def test_not_while_the_cluster_is_being_created(self, bench: Bench) -> None:
        bench.create(1, minutes=6)
        boss = bench.nodes("controller")[0]["instance_id"]
        assert bench.refused("BatchRebootClusterNodes", by_ids(boss)).code == "ValidationException"

    @pytest.mark.parametrize("reason", ["capacity", "efa", "lifecycle"])
    def test_a_replacement_that_fails_and_then_succeeds(self, bench: Bench, reason: str) -> None:
        bench.create(2)
        old = bench.nodes()[0]
        bench.control("inject", kind="replacement_failure", reason=reason, attempts=2, group="workers", node=0)
        bench.call("BatchReplaceClusterNodes", by_ids(old["instance_id"]))
        seen: set[str] = set()
        for _ in range(80):
            bench.run(seconds=30)
            seen.add(bench.nodes()[0]["status"])
        new = bench.nodes()[0]
        assert "Failure" in seen
        assert new["status"] == "Running"
        assert [x["outcome"] for x in new["launches"]] == ["running", reason, reason, "running"]
        assert len({x["instance_id"] for x in new["launches"]}) == 4
        assert (new["logical_id"], new["hostname"]) == (old["logical_id"], old["hostname"])


def test_stuck_nodes_are_in_hand_until_they_are_deleted(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(fault=[{"kind": "stuck", "status": "ShuttingDown", "group": "workers", "node": 0}])
    bench.create(2)
    stuck = bench.nodes()[0]["instance_id"]
    bench.control("inject", kind="stuck", status="Pending", group="workers", node=1, duration="2h")
    slow = bench.nodes()[1]["instance_id"]
    bench.call("BatchReplaceClusterNodes", by_ids(stuck))
    bench.call("BatchRebootClusterNodes", by_ids(slow))
    bench.run(100)
    assert [n["status"] for n in bench.nodes()] == ["ShuttingDown", "Pending"]
    refused = bench.call("BatchReplaceClusterNodes", by_ids(stuck))["Failed"]
    assert [f["ErrorCode"] for f in refused] == ["InstanceIdInUse"]
    bench.run(60)
    assert [n["status"] for n in bench.nodes()] == ["ShuttingDown", "Running"]


def test_a_hung_script_fails_after_its_time_and_is_tried_again(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(fault=[{"kind": "hung_script", "group": "workers", "node": 0, "attempts": 1}])
    bench.create(1, minutes=60)
    assert bench.nodes()[0]["status"] == "Pending"
    bench.run(60)
    assert [x["outcome"] for x in bench.nodes()[0]["launches"]] == ["lifecycle", "running"]


def test_two_groups_in_one_add(bench: Bench) -> None:
    bench.create(InstanceGroups=[controller(), group("workers", 1), group("others", 1)])
    request = add(1)
    request["NodesToAdd"].append({"InstanceGroupName": "others", "IncrementTargetCountBy": 2})
    bench.call("BatchAddClusterNodes", request)
    operations = bench.call("ListClusterOperations", {"ClusterName": "train"})["ClusterOperationSummaries"]
    detail = bench.call(
        "DescribeClusterOperation", {"ClusterName": "train", "OperationId": operations[0]["OperationId"]}
    )
    targets = {d["InstanceGroupName"]: d["Desired"]["TargetCount"] for d in detail["ScalingDetails"]}
    assert targets == {"workers": 2, "others": 3}
