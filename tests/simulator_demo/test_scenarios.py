"""Creations under odd circumstances, on the embedded AWS and by the synthesized templates."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from roundhouse.aws.hyperpod_requests import create_cluster
from roundhouse.environment.render import cluster_spec
from simulator.demo.house import House
from simulator.demo.stage import approval_id
from tests.simulator_demo.scenarios import changes, excess_usd, house, running, scenario

pytestmark = pytest.mark.slow

CREATED, REFUSED_RUN = 0, 1
RESERVED = [
    {"az_id": "usw2-az2", "instance_type": "ml.g6.48xlarge", "count": 10, "start": "-2d", "end": "+88d"},
]


def latch(data_lag: str) -> dict[str, Any]:
    """The latch, for ten instances that the account team reserved in the right AZ."""
    lag = {"data_lag": data_lag}
    return scenario("first_call_latch", billing=lag, account_reservation=RESERVED, training_plan=[])


def verdicts(house: House, environment: str) -> list[tuple[int, str]]:
    deployed = house[environment]
    run = deployed.runs.get(deployed.cluster)
    return [(s.target, s.verdict) for s in run.stages if s.group == "workers"] if run else []


def test_the_latch_stays_open_when_the_first_call_has_discounted_nodes(tmp_path: Path) -> None:
    with house("latch", latch("1h"), tmp_path, scale=900) as it:
        latched = it["latch"]
        execution = it.create("latch", "first")
        ended = it.wait("the creation", lambda: it.ended(execution), 90, lambda: latched.runs.get(latched.cluster))
        assert ended["status"] == "SUCCEEDED"
        assert verdicts(it, "latch") == [(6, "VERIFIED"), (10, "VERIFIED")]
        run = latched.runs.get(latched.cluster)
        assert run is not None
        assert all("billed as reserved" in s.reason for s in run.stages if s.group == "workers")
        assert Counter(node["billed"] for node in running(latched)) == {"reserved": 10}
        meter = it.aws.control("meter", charges=True)
        assert {c["kind"] for c in meter["charges"] if c["group"] == "workers"} == {"reserved"}
        assert meter["per_hour_total"] == meter["per_hour_expected"]
        first, *later = changes(it)
        assert first["operation"] == "CreateCluster"
        assert {g["InstanceGroupName"]: g["InstanceCount"] for g in first["params"]["InstanceGroups"]}["workers"] == 6
        assert [call["operation"] for call in later] == ["BatchAddClusterNodes"]


def test_a_discount_that_only_the_bill_shows_to_be_lost_is_rolled_back_under_the_cap(tmp_path: Path) -> None:
    with house("latch", latch("30m"), tmp_path, scale=300) as it:
        latched, sagemaker = it["latch"], it.aws.client("sagemaker")
        execution = it.create("latch", "first")
        it.wait("CreateCluster", lambda: it.calls("CreateCluster"), 15)
        groups = it.calls("CreateCluster")[0]["params"]["InstanceGroups"]
        workers = next(g for g in groups if g["InstanceGroupName"] == "workers")
        nobody = workers | {"InstanceCount": 0, "MinInstanceCount": 0}
        sagemaker.update_cluster(ClusterName=latched.cluster, InstanceGroups=[nobody])
        assert latched.workers() == []
        question = it.wait("the question", lambda: it.question("is LOST"), 60, lambda: verdicts(it, "latch"))

        run = latched.runs.get(latched.cluster)
        assert run is not None
        assert {s.capacity.value for s in run.sightings if s.group == "workers"} == {"reserved"}, "the events look well"
        assert {n["capacity"] for n in running(latched)} == {"reserved"}
        assert {n["billed"] for n in running(latched)} == {"on-demand"}
        assert "on-demand hours" in question["text"] + str(question["blocks"])
        assert verdicts(it, "latch") == [(6, "LOST")]
        state = it.aws.control("nodes", cluster=latched.cluster)["clusters"][0]["groups"]["workers"]
        assert state["target"] == state["running"] == 6, "nothing is pending any more"
        choices = [e["text"]["text"] for b in question["blocks"] if b["type"] == "actions" for e in b["elements"]]
        assert choices == ["Roll back", "Hold", "Accept the price"]

        ended = it.wait("silence to roll back", lambda: it.ended(execution), 60, latched.nodes)
        assert ended["status"] == "SUCCEEDED"
        run = latched.runs.get(latched.cluster)
        assert run is not None
        assert run.status == "rolled_back"
        approval = latched.approvals.get(approval_id(question))
        assert approval is not None
        assert (approval.choice, approval.decided_by) == ("roll_back", None)
        assert latched.nodes() == []
        assert 0 < excess_usd(it, latched.cluster) < latched.environment.costs.rollback_dollar_cap
        made = [(call["operation"], "Roundhouse-latch-" in call["principal"]) for call in changes(it)]
        assert made == [
            ("CreateCluster", True),
            ("UpdateCluster", False),
            ("BatchAddClusterNodes", True),
            ("DeleteCluster", True),
        ]
        assert [s["Lifecycle"] for s in it.aws.client("fsx").describe_file_systems()["FileSystems"]] == ["AVAILABLE"]


def test_a_cluster_made_by_hand_under_that_name_is_refused_and_left_alone(tmp_path: Path) -> None:
    with house("latch", latch("1h"), tmp_path, scale=300) as it:
        latched = it["latch"]
        by_hand = create_cluster(cluster_spec(latched.environment), {"controller": 1, "workers": 0})
        it.aws.client("sagemaker").create_cluster(**by_hand)
        before = it.aws.control("nodes", cluster=latched.cluster)["clusters"][0]["groups"]
        sequence = it.sequence()
        done = it.command("create", "-e", "latch", "--run-id", "refused")
        assert done.returncode == REFUSED_RUN, done.stdout + done.stderr
        assert "a cluster of that name exists and Roundhouse did not create it" in " ".join(done.stdout.split())
        assert changes(it, sequence) == []
        after = it.aws.control("nodes", cluster=latched.cluster)["clusters"][0]["groups"]
        assert {n: g["target"] for n, g in after.items()} == {n: g["target"] for n, g in before.items()}
        told = it.wait("the refusal in Slack", lambda: it.messages("train-latch"), 20)
        assert any("did not create it" in m["text"] + str(m["blocks"]) for m in told)


def test_a_long_shortage_a_second_run_and_a_stopped_one_end_with_the_contract_and_no_more(tmp_path: Path) -> None:
    shortage = {"kind": "capacity_shortage", "instance_type": "ml.g6.48xlarge", "group_target_above": 4}
    with house("small", scenario("shortage", fault=[shortage]), tmp_path, scale=600) as it:
        small, sfn = it["small"], it.aws.client("sfn")

        def added() -> int:
            return sum(_added(call) for call in it.calls("BatchAddClusterNodes"))

        def run_id() -> str:
            run = small.runs.get(small.cluster)
            return run.run_id if run else ""

        def step() -> str:
            run = small.runs.get(small.cluster)
            return f"{run.run_id} {run.status}: {run.step}" if run else ""

        first = it.create("small", "first")
        it.wait("the shortage to be seen", lambda: "no capacity" in step(), 60, step)
        began = it.aws.now()
        assert added() == 3
        second = it.create("small", "second")
        ended = it.wait("the first run to give way", lambda: it.ended(first), 30, step)
        assert (ended["status"], run_id()) == ("FAILED", "second")
        it.wait("the second run to see it", lambda: step().startswith("second") and "no capacity" in step(), 60, step)
        sfn.stop_execution(executionArn=second, error="Stopped", cause="somebody stopped it in the console")
        assert len(running(small)) == 4
        third = it.create("small", "third")
        it.idle(max(timedelta(), began + timedelta(hours=4) - it.aws.now()))
        assert it.ended(third) is None, step()
        it.aws.control("inject", clear=True)
        ended = it.wait("the third run to end", lambda: it.ended(third), 90, step)
        assert ended["status"] == "SUCCEEDED"
        assert verdicts(it, "small") == [(4, "VERIFIED"), (7, "VERIFIED"), (10, "VERIFIED")]
        assert Counter(node["billed"] for node in running(small)) == {"reserved": 10}
        assert len(small.workers()) == 10
        assert (len(it.calls("CreateCluster")), added()) == (1, 6)
        assert {call["operation"] for call in changes(it)} == {"CreateCluster", "BatchAddClusterNodes"}
        it.wait("the end in Slack", lambda: it.messages("is complete"), 20)
        assert not it.messages("stopped on an error"), "a run that gave way says nothing against the one that took over"


def _added(call: dict[str, Any]) -> int:
    """Nodes that a call asks for. A call under an earlier token is a replay and adds none: there is none here."""
    return sum(each["IncrementTargetCountBy"] for each in call["params"]["NodesToAdd"])
