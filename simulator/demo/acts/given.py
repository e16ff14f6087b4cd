"""Before a quick play: a cluster of the contract's size that is there already. Made by AWS's own call, not by us."""

from __future__ import annotations

from roundhouse.aws.hyperpod_requests import create_cluster
from roundhouse.build.records import Run
from roundhouse.environment.render import cluster_spec
from simulator.demo.stage import Stage

ACT = "given"
TITLE = "A cluster that is there already"


def play(stage: Stage) -> None:
    """One CreateCluster for all nodes, as somebody would do it by hand, and the wait until they run."""
    house, demo = stage.house, stage.house["demo"]
    spec = cluster_spec(demo.environment)
    counts = {group.name: group.count for group in spec.groups}
    house.aws.client("sagemaker").create_cluster(**create_cluster(spec, counts))
    plans = {group.discount.training_plan_arn for group in spec.groups if group.discount.training_plan_arn}
    before = Run(demo.cluster, "by-hand", stage.now(), status="done", plan_in_use_before=dict.fromkeys(plans, 0))
    demo.runs.put(before)  # what a creation leaves: the new node of a repair is compared with it

    def missing() -> int:
        return sum(counts.values()) - [node["status"] for node in demo.nodes()].count("Running")

    house.wait("the nodes to run", lambda: not missing(), stage.patience, lambda: f"{missing()} are missing")
    house.wait("Slurm to know them", lambda: len(house.slurm["demo"].nodes) >= sum(counts.values()), stage.patience)
