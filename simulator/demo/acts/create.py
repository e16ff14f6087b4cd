"""Act 1: 64 nodes in three stages, over a capacity shortage and a failing lifecycle script."""

from __future__ import annotations

from collections import Counter

from simulator.demo.stage import Stage

ACT = "create"
TITLE = "Staged creation of 64 nodes"
RUN = "demo-first-run"


def play(stage: Stage) -> None:
    """Create the cluster by the command; check stages, money, calls and Slack."""
    house, checks = stage.house, stage.checks
    demo = house["demo"]
    execution = house.create("demo", RUN)
    stage.say("`roundhouse create` started: discounted nodes first")
    told = ""

    def ended() -> bool:
        nonlocal told
        run = demo.runs.get(demo.cluster)
        if run and run.step and run.step != told:
            told = run.step
            stage.say(told)
        return house.ended(execution) is not None

    house.wait("the creation to end", ended, stage.patience * 4, lambda: told)
    result = house.ended(execution) or {}
    checks.equal(ACT, "the workflow ends well", result.get("status"), "SUCCEEDED")
    workers = demo.workers()
    running = [n for n in workers if n["status"] == "Running"]
    checks.equal(ACT, "64 workers are Running", len(running), 64)
    checks.equal(
        ACT, "every worker is billed as reserved", dict(Counter(n["billed"] for n in running)), {"reserved": 64}
    )
    _calls(stage)
    checks.that(
        ACT, "a capacity shortage was met on the way", _shortages(stage) > 0, f"{_shortages(stage)} failed launches"
    )
    retried = [len(n["launches"]) for n in workers if len(n["launches"]) > 1]
    checks.that(
        ACT, "a failed lifecycle script was met on the way", bool(retried), f"launches of retried nodes: {retried}"
    )
    run = demo.runs.get(demo.cluster)
    verdicts = [(s.target, s.verdict) for s in run.stages if s.group == "workers"] if run else []
    wanted = [(39, "VERIFIED"), (52, "VERIFIED"), (64, "VERIFIED")]
    checks.equal(ACT, "the discount is VERIFIED at every stage", verdicts, wanted)
    truth = sum(node["price"] for node in demo.nodes())
    actual, expected = (run.actual_usd_per_hour or 0.0, run.expected_usd_per_hour) if run else (0.0, 0.0)
    checks.that(
        ACT, "actual cost per hour is the meter's", abs(actual - truth) < 0.01, f"{actual:.2f}, meter {truth:.2f}"
    )
    checks.that(
        ACT, "actual cost per hour is the expected one", abs(actual - expected) < 0.01, f"{actual:.2f}, {expected:.2f}"
    )
    house.wait("the end in Slack", lambda: house.messages("is complete"), stage.patience)
    roots = [m for m in house.messages(demo.cluster) if m.get("thread_ts", m["ts"]) == m["ts"]]
    checks.equal(ACT, "the creation is one Slack thread", len(roots), 1)
    status = house.status("demo")
    checks.equal(ACT, "`roundhouse status` says done", (status["run"] or {}).get("status"), "done")


def _calls(stage: Stage) -> None:
    created = stage.house.calls("CreateCluster", of="demo")
    stage.checks.equal(ACT, "CreateCluster was called once", len(created), 1)
    groups = {g["InstanceGroupName"]: g for g in created[0]["params"]["InstanceGroups"]} if created else {}
    workers = groups.get("workers", {})
    stage.checks.equal(ACT, "39 discounted workers in the first call", workers.get("InstanceCount"), 39)
    stage.checks.that(
        ACT, "the plan is in the first call", bool(workers.get("TrainingPlanArn")), workers.get("TrainingPlanArn")
    )
    added = stage.house.calls("BatchAddClusterNodes", of="demo")
    tokens = {call["params"]["ClientToken"] for call in added}
    amounts = {
        call["params"]["ClientToken"]: sum(n["IncrementTargetCountBy"] for n in call["params"]["NodesToAdd"])
        for call in added
    }
    stage.checks.equal(ACT, "the ramp adds what is missing, no more", sum(amounts.values()), 64 - 39)
    stage.checks.equal(ACT, "a client token for each stage", len(tokens), 2)


def _shortages(stage: Stage) -> int:
    sagemaker = stage.house.aws.client("sagemaker")
    count = 0
    for page in sagemaker.get_paginator("list_cluster_events").paginate(ClusterName=stage.house["demo"].cluster):
        count += sum("Failed to provision" in e.get("Description", "") for e in page["Events"])
    return count
