"""Whatever is called and whatever fails: capacity is never leaked or lent twice, targets match nodes, bills add up."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.service import ServiceError
from tests.simulator_world.harness import Bench, group, request, scenario

FAULTS = ("capacity_shortage", "efa_failure", "lifecycle_failure", "hung_script", "replacement_failure")

STEPS = st.one_of(
    st.tuples(st.just("add"), st.integers(1, 4)),
    st.tuples(st.just("update"), st.integers(0, 9)),
    st.tuples(st.just("delete"), st.integers(0, 9)),
    st.tuples(st.just("replace"), st.integers(0, 9)),
    st.tuples(st.just("reboot"), st.integers(0, 9)),
    st.tuples(st.just("break"), st.integers(0, 9)),
    st.tuples(st.just("fault"), st.integers(0, len(FAULTS) - 1)),
    st.tuples(st.just("wait"), st.integers(1, 25)),
)


def act(bench: Bench, step: str, number: int) -> None:
    """One step; a refusal by the service is as good as an answer."""
    nodes = bench.nodes()
    chosen = nodes[number % len(nodes)] if nodes else None
    try:
        if step == "add":
            spec = {"InstanceGroupName": "workers", "IncrementTargetCountBy": number}
            bench.call("BatchAddClusterNodes", {"ClusterName": "train", "NodesToAdd": [spec]})
        elif step == "update":
            bench.call("UpdateCluster", {"ClusterName": "train", "InstanceGroups": [group("workers", number)]})
        elif step == "fault":
            bench.control("inject", kind=FAULTS[number], group="workers", attempts=2)
        elif step == "wait":
            bench.run(number)
        elif chosen and step == "break" and chosen["instance_id"]:
            bench.control("fail_node", instance_id=chosen["instance_id"])
        elif chosen:
            operation = {
                "delete": "BatchDeleteClusterNodes",
                "replace": "BatchReplaceClusterNodes",
                "reboot": "BatchRebootClusterNodes",
            }.get(step)
            if operation:
                bench.call(operation, {"ClusterName": "train", "NodeLogicalIds": [chosen["logical_id"]]})
    except ServiceError:
        pass


def check(bench: Bench) -> None:
    nodes = bench.nodes(None)
    instances = [n["instance_id"] for n in nodes if n["instance_id"]]
    assert len(instances) == len(set(instances))
    addresses = [n["address"] for n in nodes if n["address"]]
    assert len(addresses) == len(set(addresses))
    capacity = bench.control("capacity")
    held: dict[str, int] = {"reserved": 0, "on-demand": 0}
    for node in nodes:
        if node["capacity"]:
            held[node["capacity"]] += 1
    assert sum(r["in_use"] for r in capacity["reserved"]) == held["reserved"]
    assert sum(p["used"] for p in capacity["on_demand"]) == held["on-demand"]
    assert all(0 <= p["used"] <= p["size"] for p in capacity["on_demand"])
    workers = [n for n in bench.nodes() if n["busy"] != "delete"]
    assert bench.group()["TargetCount"] == len(workers)
    meter = bench.control("meter")
    billed = [n for n in nodes if n["billed"]]
    assert meter["instances"]["reserved"] + meter["instances"]["on-demand"] == len(billed)
    assert all(n["billed"] for n in nodes if n["status"] == "Running")
    assert all(not n["billed"] for n in nodes if n["status"] in ("ShuttingDown", "Failure"))
    paid = meter["instances"]["reserved"] + meter["instances"]["reserved-idle"]
    assert paid <= 8, "a contract slot is paid for once"
    view = bench.call("DescribeTrainingPlan", {"TrainingPlanName": "contract"})
    assert view["AvailableInstanceCount"] + view["InUseInstanceCount"] == view["TotalInstanceCount"]


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, min_size=6, max_size=14), st.sampled_from(["Automatic", "None"]), st.sampled_from([25, 9, 1]))
def test_invariants(steps: list[tuple[str, int]], recovery: str, minutes: int) -> None:
    table: dict[str, Any] = scenario(timing={"worker_launch": [300, 700], "hang_timeout": "20m"})
    bench = Bench(table)
    bench.call("CreateCluster", request(3, NodeRecovery=recovery))
    bench.run(minutes)
    for step, number in steps:
        act(bench, step, number)
        check(bench)
    bench.control("inject", clear=True)
    bench.control("heal_nodes")
    bench.run(90)
    check(bench)
    assert bench.running() == bench.group()["TargetCount"], "with nothing wrong any more, everything asked for runs"
    bench.call("DeleteCluster", {"ClusterName": "train"})
    bench.run(10)
    capacity = bench.control("capacity")
    assert [r["in_use"] for r in capacity["reserved"]] == [0]
    assert {p["used"] for p in capacity["on_demand"]} == {0}
    assert bench.control("meter")["per_hour"]["on-demand"] == 0
