"""What the played scenarios share: a house for one environment of tests/data, and looks at money and calls."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from roundhouse.aws.hyperpod_requests import create_cluster
from roundhouse.environment.render import cluster_spec
from roundhouse.ports import Run
from simulator import client
from simulator.client import REPOSITORY
from simulator.demo.house import Deployed, House, opened

ENVIRONMENTS = REPOSITORY / "tests" / "data" / "environments"
Json = dict[str, Any]


def needs_simulator() -> None:
    """Skip without the simulator's environment."""
    if not client.PYTHON.exists():
        pytest.skip("skipped, needs .venv-simulator (simulator/requirements.txt)")


def scenario(name: str, **changed: Any) -> Json:
    """A scenario of simulator/scenarios, with some of its tables replaced."""
    text = (REPOSITORY / "simulator" / "scenarios" / f"{name}.toml").read_text()
    return tomllib.loads(text) | changed


@contextmanager
def house(environment: str, of: Json, workdir: Path, scale: float) -> Iterator[House]:
    """The running house with one environment deployed; all of it ends with the block."""
    needs_simulator()
    with ExitStack() as stack:
        yield opened(stack, of, (environment,), scale=scale, workdir=workdir, say=print, files=ENVIRONMENTS)


def running(deployed: Deployed) -> list[Json]:
    return [node for node in deployed.workers() if node["status"] == "Running"]


def changes(house: House, since: int = 0) -> list[Json]:
    """Every call that changed HyperPod, whoever made it."""
    made: list[Json] = house.aws.control("calls", since=since)["calls"]
    return [call for call in made if call["operation"].endswith(("Cluster", "ClusterNodes", "ClusterSoftware"))]


def excess_usd(house: House, cluster: str) -> float:
    """Dollars above the contract that the cluster's workers have cost so far, by the meter."""
    now = house.aws.now()
    total = 0.0
    for charge in house.aws.control("meter", charges=True)["charges"]:
        if (charge["cluster"], charge["group"]) != (cluster, "workers"):
            continue
        end = datetime.fromisoformat(charge["end"]) if charge["end"] else now
        hours = max(0.0, (end - datetime.fromisoformat(charge["start"])).total_seconds() / 3600)
        total += (charge["rate"] - charge["expected"]) * hours
    return total


def stand(house: House, environment: str) -> None:
    """A finished cluster: CreateCluster for all nodes, and the record that a creation leaves."""
    deployed = house[environment]
    spec = cluster_spec(deployed.environment)
    counts = {group.name: group.count for group in spec.groups}
    house.aws.client("sagemaker").create_cluster(**create_cluster(spec, counts))
    plans = {group.discount.training_plan_arn for group in spec.groups if group.discount.training_plan_arn}
    run = Run(deployed.cluster, "by-hand", house.aws.now(), status="done", plan_in_use_before=dict.fromkeys(plans, 0))
    deployed.runs.put(run)
    house.wait("the nodes", lambda: len(running(deployed)) == counts["workers"], 60)
    house.wait("Slurm to know them", lambda: len(house.slurm[environment].nodes) >= sum(counts.values()), 20)
