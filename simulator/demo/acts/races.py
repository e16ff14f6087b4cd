"""Act 4: the same news again, and an approval that comes too late: nothing may happen."""

from __future__ import annotations

import json

from roundhouse.line.incident import IncidentState
from simulator.demo.acts.repair import FAULT, NODE, health_event
from simulator.demo.stage import ALICE, Stage

ACT = "races"
TITLE = "Old news, twins, and a late approval"
STALE = 9


def play(stage: Stage) -> None:
    """Send the event of act 3 again, twins and all; then let a colleague be faster than an approval."""
    _again(stage)
    _too_late(stage)


def _again(stage: Stage) -> None:
    house, checks = stage.house, stage.checks
    demo = house["demo"]
    old = next((i.instance_id for i in demo.known() if i.attempts), None)
    node = next(n for n in demo.workers() if n["index"] == NODE)
    executions, sequence, after = len(demo.executions("remediate_node")), house.sequence(), stage.newest_message()
    arn = house.aws.client("sagemaker").describe_cluster(ClusterName=demo.cluster)["ClusterArn"]
    stage.say("the same event again, three times, a twin beside it, and the agent's log record")
    _log_again(stage, str(old))
    health = "SageMaker HyperPod Cluster Node Health Event"
    house.aws.control("emit_event", detail_type=health, detail=health_event(arn, demo.cluster, str(old)), copies=3)
    twin = {
        "EventDetails": {
            "EventId": "83ea0bb5-be77-45e8-a458-0a87f778a205",
            "ClusterArn": arn,
            "ClusterName": demo.cluster,
            "InstanceGroupName": "workers",
            "InstanceId": old,
            "ResourceType": "Instance",
            "EventTime": int(stage.now().timestamp() * 1000),
            "EventLevel": "Error",
            "Description": f"Instance {old} is unhealthy",
        }
    }
    house.aws.control("emit_event", detail_type="SageMaker HyperPod Cluster Event", detail=twin, resources=[arn])
    stage.pass_time(15)
    checks.equal(ACT, "no second workflow", len(demo.executions("remediate_node")), executions)
    checks.equal(ACT, "no call", house.calls(since=sequence, of="demo"), [])
    checks.equal(ACT, "no message", [m["text"][:60] for m in house.messages(after=after)], [])
    now = next(n for n in demo.workers() if n["index"] == NODE)
    checks.equal(ACT, "the new instance is left alone", now["instance_id"], node["instance_id"])


def _log_again(stage: Stage, instance_id: str) -> None:
    """The health agent's record of the instance that is gone, late."""
    logs, now = stage.house.aws.client("logs"), stage.now()
    clusters = stage.house.aws.control("nodes", cluster=stage.house["demo"].cluster)["clusters"]
    group, stream = clusters[0]["log_group"], f"SagemakerHealthMonitoringAgent/workers/{instance_id}"
    record = {
        "level": "info",
        "ts": now.isoformat(),
        "msg": "DCGM Policy Violation found ",
        "condition: ": "XID Error",
        "data: ": {"ErrNum": 79},
        "HealthMonitoringAgentDetectionEvent": "HealthEvent",
    }
    logs.create_log_stream(logGroupName=group, logStreamName=stream)
    event = {"timestamp": int(now.timestamp() * 1000), "message": json.dumps(record)}
    logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=[event])


def _sources(stage: Stage, instance_id: str) -> set[str]:
    incident = stage.house["demo"].incident_of(instance_id)
    return {each.source for each in incident.evidence} if incident else set()


def _too_late(stage: Stage) -> None:
    house, checks = stage.house, stage.checks
    demo = house["demo"]
    node = next(n for n in demo.workers() if n["index"] == STALE)
    old, after = node["instance_id"], stage.newest_message()
    house.aws.control(
        "fail_node", instance_id=old, fault=FAULT, repair_action="None", health_event=False, log_record=True
    )
    stage.say(f"{node['hostname']} ({old}) fails too: only the health agent's log says so")
    question = stage.question(old, after)
    checks.equal(ACT, "the agent's log is a second way in", _sources(stage, old), {"hyperpod.health_agent_log"})
    sequence = house.sequence()
    stage.say("while people are asked, a colleague replaces it by hand")
    house.aws.client("sagemaker").batch_replace_cluster_nodes(ClusterName=demo.cluster, NodeIds=[old])

    def replaced() -> bool:
        now = next((n for n in demo.workers() if n["index"] == STALE), None)
        return bool(now and now["status"] == "Running" and now["instance_id"] not in {None, old})

    house.wait("the colleague's replacement", replaced, stage.patience)
    stage.answer(question, "approve", ALICE)

    def closed() -> bool:
        incident = demo.incident_of(old)
        return bool(incident and incident.state is IncidentState.CLOSED)

    house.wait("the incident to close", closed, stage.patience, lambda: demo.incident_of(old))
    incident = demo.incident_of(old)
    checks.equal(ACT, "the late approval is outdated", str(incident.outcome) if incident else None, "superseded")
    acted = [c["operation"] for c in house.calls(since=sequence, of="demo")]
    checks.equal(ACT, "nothing was called for the new instance", acted, [])
    checks.equal(ACT, "64 workers are Running", sum(n["status"] == "Running" for n in demo.workers()), 64)
    name = node["hostname"].split(".")[0]
    house.wait("our drain to be undone", lambda: not house.slurm["demo"].nodes[name].drained, stage.patience)
