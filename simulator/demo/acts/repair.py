"""Act 3: a documented node-health event; asked in Slack, replaced under the same name, proved, back in service."""

from __future__ import annotations

from typing import Any

from roundhouse.line.incident import IncidentState
from simulator.demo.stage import ALICE, EVE, Stage, approval_id

ACT = "repair"
TITLE = "A node fails and is repaired"
NODE = 7
FAULT = "NvidiaErrorTerminate"
REASON = "HyperPod Health Monitoring Agent (HMA) has detected fault type {fault} on this node and is unhealthy."


def health_event(cluster_arn: str, cluster: str, instance_id: str) -> dict[str, Any]:
    """Detail of the node health event that AWS documents, its ids rewritten to a live node."""
    return {
        "ClusterName": cluster,
        "ClusterArn": cluster_arn,
        "InstanceId": instance_id,
        "Tags": {},
        "HealthSummary": {
            "HealthStatus": "Unhealthy",
            "HealthStatusReason": REASON.format(fault=FAULT),
            "RepairAction": "None",
            "Recommendation": "Please Replace the Faulty Node.",
        },
    }


def play(stage: Stage) -> None:
    """Break node 7, lose HyperPod's answer to the replacement, and watch it come back."""
    house, checks = stage.house, stage.checks
    demo = house["demo"]
    before = next(n for n in demo.workers() if n["index"] == NODE)
    old, name, after = before["instance_id"], before["hostname"], stage.newest_message()
    house.slurm["demo"].job(name.split(".")[0], 4711, minutes_after_drain=3)
    house.aws.control("inject", kind="lost_answer", operation="BatchReplaceClusterNodes")
    house.aws.control(
        "fail_node", instance_id=old, fault=FAULT, repair_action="None", health_event=False, log_record=False
    )
    detail = health_event(_arn(stage), demo.cluster, old)
    house.aws.control("emit_event", detail_type="SageMaker HyperPod Cluster Node Health Event", detail=detail)
    stage.say(f"{name} ({old}) reports {FAULT}; a job still runs on it")
    question = stage.question(old, after)
    if not stage.interactive:
        house.click(question, "approve", EVE)
        stage.say("Eve, who may not, clicks approve: nothing happens")
    stage.answer(question, "approve", ALICE)
    incident = house.wait(
        "the incident to close", lambda: _closed(stage, old), stage.patience * 2, lambda: demo.incident_of(old)
    )
    node = next(n for n in demo.workers() if n["logical_id"] == before["logical_id"])
    calls = [c for c in house.calls(of="demo") if old in str(c["params"])]
    checks.equal(
        ACT,
        "one call to HyperPod, though its answer was lost",
        [c["operation"] for c in calls],
        ["BatchReplaceClusterNodes"],
    )
    checks.equal(ACT, "the incident ends as repaired", str(incident.outcome), "repaired")
    checks.that(ACT, "another instance", node["instance_id"] not in {None, old}, node["instance_id"])
    checks.equal(ACT, "under the same name", node["hostname"], name)
    checks.equal(ACT, "billed as reserved", node["billed"], "reserved")
    checks.equal(ACT, "64 workers are Running", sum(n["status"] == "Running" for n in demo.workers()), 64)
    approval = demo.approvals.get(approval_id(question))
    checks.equal(
        ACT,
        "who approved is on record",
        (approval.decided_by, approval.instance_id) if approval else None,
        (ALICE, old),
    )
    passed_on = next((step.ended_at for step in incident.steps if step.name == "approval"), None)
    checks.that(
        ACT,
        "the answer is passed on, not waited out",
        bool(approval and passed_on and passed_on < approval.expires_at),
        f"{passed_on}, would expire {approval.expires_at if approval else None}",
    )
    entry = next((e for e in demo.ledger.of_cluster(demo.cluster, incident.opened_at) if e.subject == old), None)
    checks.equal(ACT, "the ledger says CONFIRMED", str(entry.state) if entry else None, "CONFIRMED")
    taken = [step.name for step in incident.steps]
    wanted = ["grace", "drain", "approval", "repair", "proof", "resume"]
    checks.that(ACT, "each step and its time is told", [s for s in wanted if s in taken] == wanted, taken)
    slurm = house.slurm["demo"].nodes[name.split(".")[0]]
    house.wait("our drain to be taken back", lambda: not slurm.drained, stage.patience)
    checks.equal(
        ACT,
        "drained by us and taken back",
        (slurm.drained, [c[0].verb.value for c in _commands(stage, name)]),
        (False, ["cordon", "resume"]),
    )
    house.wait("the end in Slack", lambda: house.messages("repaired and proved", after), stage.patience)
    asked = house.question(old, after)
    checks.that(ACT, "the question has lost its buttons", asked is None, asked and asked["text"][:80])


def _arn(stage: Stage) -> str:
    name = stage.house["demo"].cluster
    arn: str = stage.house.aws.client("sagemaker").describe_cluster(ClusterName=name)["ClusterArn"]
    return arn


def _closed(stage: Stage, instance_id: str) -> Any:
    incident = stage.house["demo"].incident_of(instance_id)
    return incident if incident and incident.state is IncidentState.CLOSED else None


def _commands(stage: Stage, hostname: str) -> list[Any]:
    return [c for c in stage.house.slurm["demo"].commands if c[0].slurm_name == hostname.split(".", maxsplit=1)[0]]
