"""Act 4: the event of the repair again, twins and all: nothing may happen."""

from __future__ import annotations

import json

from simulator.demo.acts.repair import NODE, health_event
from simulator.demo.stage import Stage

ACT = "twins"
TITLE = "Old news, twins and all"


def play(stage: Stage) -> None:
    """Send the event of act 3 again, three times, with twins on every way in."""
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
