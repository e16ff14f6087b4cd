"""Legacy provisioning: what UpdateCluster does to a cluster that has no continuous provisioning, and what undoes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.simulator_world.harness import Bench, group

SHORT = [{"kind": "capacity_shortage", "group": "workers", "group_target_above": 4}]


def update(count: int) -> dict[str, Any]:
    return {"ClusterName": "train", "InstanceGroups": [group("workers", count)]}


def ids(bench: Bench) -> set[str]:
    return {n["instance_id"] for n in bench.nodes()}


def test_a_count_below_the_live_one_kills_at_random(bench: Bench) -> None:
    bench.create(8, NodeProvisioningMode=None)
    everyone = {n["index"] for n in bench.nodes()}
    bench.call("UpdateCluster", update(3))
    assert bench.describe()["ClusterStatus"] == "Updating"
    bench.run(15)
    left = {n["index"] for n in bench.nodes()}
    assert bench.group()["TargetCount"] == len(left) == 3
    assert left not in ({0, 1, 2}, {5, 6, 7})
    assert left < everyone


def test_the_stale_number(bench: Bench) -> None:
    """Somebody reads 2, somebody else grows to 6, the first writes 3: three running nodes die."""
    bench.create(2, NodeProvisioningMode=None)
    read = bench.group()["TargetCount"]
    bench.call("UpdateCluster", update(6))
    assert bench.refused("UpdateCluster", update(read + 1)).code == "ConflictException"
    bench.run(20)
    before = ids(bench)
    bench.call("UpdateCluster", update(read + 1))
    bench.run(5)
    assert (bench.running(), len(before - ids(bench))) == (3, 3)


def test_one_failed_node_undoes_the_whole_update_and_nobody_else(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(fault=[{"kind": "lifecycle_failure", "group": "workers", "node": 3, "attempts": 1}])
    bench.create(2, NodeProvisioningMode=None)
    before = ids(bench)
    bench.call("UpdateCluster", update(6))
    bench.run(30)
    described = bench.describe()
    assert (described["ClusterStatus"], bench.group()["TargetCount"]) == ("InService", 2)
    assert "Lifecycle scripts did not run" in described["FailureMessage"]
    assert ids(bench) == before
    bench.call("UpdateCluster", update(3))
    bench.run(15)
    assert bench.describe()["FailureMessage"] == "", "the message is that of the newest operation"


def test_a_roll_back_returns_to_the_count_before_the_update_also_after_a_delete(
    bench_with: Callable[..., Bench],
) -> None:
    bench = bench_with(fault=SHORT)
    bench.create(4, NodeProvisioningMode=None)
    victim = bench.nodes()[1]["instance_id"]
    bench.call("BatchDeleteClusterNodes", {"ClusterName": "train", "NodeIds": [victim]})
    bench.run(5)
    before = ids(bench)
    bench.call("UpdateCluster", update(5))
    bench.run(30)
    assert (bench.group()["TargetCount"], bench.group()["CurrentCount"]) == (3, 3)
    assert ids(bench) == before


def test_nodes_have_no_logical_ids_and_keep_their_names_across_a_replacement(bench: Bench) -> None:
    bench.create(2, NodeProvisioningMode=None)
    [old, _] = bench.listed(InstanceGroupNameContains="workers")
    assert "NodeLogicalId" not in old
    bench.call("BatchReplaceClusterNodes", {"ClusterName": "train", "NodeIds": [old["InstanceId"]]})
    bench.run(40)
    [new] = [n for n in bench.listed() if n["PrivateDnsHostname"] == old["PrivateDnsHostname"]]
    assert new["InstanceId"] != old["InstanceId"]
    assert new["LaunchTime"] > old["LaunchTime"]
