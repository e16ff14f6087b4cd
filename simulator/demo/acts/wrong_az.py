"""Act 2: the reserved capacity is in another AZ than everybody was told. Caught at stage one, rolled back."""

from __future__ import annotations

from datetime import datetime

from simulator.demo.stage import BOB, Stage, approval_id

ACT = "wrong_az"
TITLE = "A discount lost in the wrong AZ"
ENVIRONMENT = "demo-wrong-az"
RUN = "wrong-az-first-run"


def play(stage: Stage) -> None:
    """Create the second environment; answer the question with roll back; check money and storage."""
    house, checks = stage.house, stage.checks
    wrong = house[ENVIRONMENT]
    house.listen(ENVIRONMENT)
    execution = house.create(ENVIRONMENT, RUN)
    stage.say("second environment: its subnets are in usw2-az2, the reservation is in usw2-az1")
    asked_about = f"discount of {wrong.cluster} is LOST"

    def added() -> int:
        return len(house.calls("BatchAddClusterNodes", of=ENVIRONMENT))

    house.wait("the question", lambda: house.question(asked_about) or added() or house.ended(execution), stage.patience)
    checks.equal(ACT, "no stage was added", added(), 0)
    question = stage.question(asked_about)
    stage.say("caught at stage one, the ramp is stopped, people are asked")
    stage.answer(question, "roll_back", BOB)
    house.wait("the roll-back", lambda: house.ended(execution), stage.patience * 2)
    house.listen(next(iter(house.deployed)))
    run = wrong.runs.get(wrong.cluster)
    checks.equal(ACT, "the run ends as rolled back", run.status if run else None, "rolled_back")
    checks.equal(ACT, "the cluster is gone", wrong.nodes(), [])
    approval = wrong.approvals.get(approval_id(question))
    checks.equal(
        ACT, "Bob decided that", (approval.choice, approval.decided_by) if approval else None, ("roll_back", BOB)
    )
    first = house.calls("CreateCluster", of=ENVIRONMENT)
    asked = {g["InstanceGroupName"]: g["InstanceCount"] for g in first[0]["params"]["InstanceGroups"]} if first else {}
    checks.equal(ACT, "only the first stage was ever asked for", asked.get("workers"), 5)
    spent = _spent(stage)
    cap = wrong.environment.costs.rollback_dollar_cap
    checks.that(ACT, f"less than the cap of {cap:.0f} USD went on demand", 0 <= spent < cap, f"{spent:.2f} USD")
    systems = house.aws.client("fsx").describe_file_systems()["FileSystems"]
    checks.equal(ACT, "storage was not touched", [s["Lifecycle"] for s in systems], ["AVAILABLE"])
    checks.equal(ACT, "nobody called for a delete of storage", house.calls("DeleteFileSystem"), [])


def _spent(stage: Stage) -> float:
    """Dollars above the contract that the workers of this act have cost so far, by the meter."""
    charges = stage.house.aws.control("meter", charges=True)["charges"]
    now = stage.now()
    total = 0.0
    for charge in charges:
        if charge["cluster"] != "train-wrong-az" or charge["group"] != "workers":
            continue
        end = datetime.fromisoformat(charge["end"]) if charge["end"] else now
        total += (
            (charge["rate"] - charge["expected"])
            * (end - datetime.fromisoformat(charge["start"])).total_seconds()
            / 3600
        )
    return total
