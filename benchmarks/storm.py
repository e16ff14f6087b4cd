"""A storm of signals on the deployed intake: `python -m benchmarks.storm [EVENTS]`. Prints a table, then one JSON line.

10,000 messages in one burst: news of forty broken nodes, the same again (duplicates, replays, the health agent's own
records), floods of information, healthy words that are older than the bad ones, snapshots of Slurm; in any order. They
go to the real queue of the synthesized templates, on the embedded AWS. What must come of it is known beforehand: one
incident and one workflow for each broken node. Two ways are measured side by side on the same kind of storm: `batches`,
as deployed, and `one by one`, one invocation for each message, a tenth as many messages.

Seconds are this machine's, with its two cores; the calls for a message are what AWS would count.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
import tomllib
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from roundhouse.aws.hyperpod_requests import create_cluster
from roundhouse.contracts import names
from roundhouse.environment.render import cluster_spec
from simulator.client import REPOSITORY
from simulator.demo.house import Deployed, House, opened

EVENTS, BROKEN, SEED = 10_000, 40, 7
ENVIRONMENT = "demo"
PATIENCE_S = 1_500.0
Json = dict[str, Any]
KINDS = {"duplicate": 35, "replay": 15, "twin": 10, "information": 25, "older and healthy": 10, "snapshot": 5}


@dataclass(frozen=True)
class Storm:
    """Messages of the intake queue, and the instances that are really broken."""

    messages: Sequence[Json]
    broken: Sequence[str]
    kinds: Counter[str]


def main(events: int = EVENTS) -> int:
    """Raise the storms and print. Returns 1 when a message was lost or a workflow is missing or too many."""
    rows = {}
    for way, amount in (("batches", events), ("one by one", max(BROKEN * 2, events // 10))):
        with ExitStack() as stack:
            house = stand(stack, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="storm-"))))
            if way == "one by one":
                one_by_one(house)
            rows[way] = raise_storm(house, make_storm(house[ENVIRONMENT], house.aws.now(), amount))
    print(f"{'way':12} {'messages':>9} {'seconds':>8} {'a second':>9} {'calls a message':>16} {'invocations':>12}")
    for way, row in rows.items():
        rate = row["events"] / row["seconds"]
        calls = sum(row["calls"].values()) / row["events"]
        print(f"{way:12} {row['events']:9} {row['seconds']:8.0f} {rate:9.1f} {calls:16.2f} {row['invocations']:12}")
    print("calls of batches: " + ", ".join(f"{name} {n}" for name, n in rows["batches"]["calls"].items()))
    print(json.dumps({"benchmark": "storm", **rows["batches"], "one_by_one": rows["one by one"]}))
    right = all(row["lost"] == 0 and row["executions"] == row["real_incidents"] for row in rows.values())
    return 0 if right else 1


def stand(stack: ExitStack, workdir: Path) -> House:
    """The demo's cluster of 64, all Running, on a clock that does not run: nothing is repaired during the storm."""
    scenario = tomllib.loads((REPOSITORY / "simulator" / "scenarios" / "demo.toml").read_text())
    quick = dict.fromkeys(("controller_launch", "worker_launch", "lifecycle"), "1s")
    scenario |= {"fault": [], "timing": quick}
    house = opened(stack, scenario, (ENVIRONMENT,), scale=1, workdir=workdir, say=_say)
    spec = cluster_spec(house[ENVIRONMENT].environment)
    counts = {group.name: group.count for group in spec.groups}
    house.aws.client("sagemaker").create_cluster(**create_cluster(spec, counts))

    def all_running() -> bool:
        return bool(sum(n["status"] == "Running" for n in house[ENVIRONMENT].workers()) == counts["workers"])

    house.wait("the nodes", all_running, 120)
    return house


def one_by_one(house: House) -> None:
    """Let Lambda give the intake one message at a time."""
    functions = house.aws.client("lambda")
    name = house[ENVIRONMENT].names.function("intake_signals")
    for mapping in functions.list_event_source_mappings()["EventSourceMappings"]:
        if mapping["FunctionArn"].split(":function:")[1].split(":")[0] == name:
            functions.update_event_source_mapping(UUID=mapping["UUID"], BatchSize=1)


def raise_storm(house: House, storm: Storm) -> Json:
    """Put everything into the queue at once, wait until it is empty, and count."""
    deployed, sqs = house[ENVIRONMENT], house.aws.client("sqs")
    queue = sqs.get_queue_url(QueueName=deployed.names.queue(names.INTAKE_QUEUE))["QueueUrl"]
    dead = sqs.get_queue_url(QueueName=deployed.names.queue("intake-dlq"))["QueueUrl"]
    before, begun = intake_calls(house), time.monotonic()
    for start in range(0, len(storm.messages), 10):
        entries = [
            {"Id": str(n), "MessageBody": json.dumps(message)}
            for n, message in enumerate(storm.messages[start : start + 10])
        ]
        sent = sqs.send_message_batch(QueueUrl=queue, Entries=entries)
        assert not sent.get("Failed"), sent
    house.wait("the queue to be empty", lambda: not left(sqs, queue), PATIENCE_S, lambda: left(sqs, queue))
    took = time.monotonic() - begun
    calls = intake_calls(house) - before
    known = {incident.instance_id for incident in deployed.known()}
    started = {execution["name"] for execution in every_execution(house, deployed)}
    return {
        "events": len(storm.messages),
        "kinds": dict(storm.kinds),
        "lost": left(sqs, dead) + len(set(storm.broken) - known),
        "real_incidents": len(storm.broken),
        "executions": len(started),
        "seconds": round(took, 1),
        "invocations": calls.pop("logs:PutLogEvents", 0),
        "calls": {name: n for name, n in calls.most_common() if not name.startswith("logs:")},
    }


def intake_calls(house: House) -> Counter[str]:
    """What the intake's role has asked for so far, by action."""
    found: Counter[str] = Counter()
    for decision in house.aws.control("decisions")["decisions"]:
        if decision["logical_id"].startswith("intakesignalsRole"):
            found[decision["action"]] += decision["times"]
    return found


def every_execution(house: House, deployed: Deployed) -> Iterator[Json]:
    pages = house.aws.client("sfn").get_paginator("list_executions")
    for page in pages.paginate(stateMachineArn=deployed.machine("remediate_node")):
        yield from page["executions"]


def left(sqs: Any, queue: str) -> int:
    wanted = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=wanted)["Attributes"]
    return sum(int(found[name]) for name in wanted)


# The storm ------------------------------------------------------------------------------------------------------
def make_storm(deployed: Deployed, now: datetime, amount: int) -> Storm:
    """`amount` messages about a cluster that stands; which nodes are broken is decided here, by nobody's code."""
    chance = random.Random(SEED)
    workers = [node["instance_id"] for node in deployed.workers()]
    broken = chance.sample(workers, min(BROKEN, amount))
    at = now - timedelta(minutes=2)
    first = {one: health(deployed, one, at + timedelta(seconds=n), "Unhealthy") for n, one in enumerate(broken)}
    messages, kinds = list(first.values()), Counter({"first": len(first)})
    for kind in chance.choices([*KINDS], [*KINDS.values()], k=amount - len(messages)):
        kinds[kind] += 1
        one = chance.choice(broken)
        match kind:
            case "duplicate":
                messages.append(first[one])
            case "replay":
                messages.append({**first[one], "replay-name": "last-week"})
            case "twin":
                messages.append(health_record(deployed, one, at))
            case "information":
                messages.append(information(deployed, chance.choice(workers), now))
            case "older and healthy":
                messages.append(health(deployed, one, at - timedelta(minutes=1), "Healthy"))
            case "snapshot":
                messages.append(snapshot(deployed, kinds[kind], now))
    chance.shuffle(messages)
    return Storm(messages, broken, kinds)


def envelope(source: str, kind: str, at: datetime, detail: Json) -> Json:
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "source": source,
        "detail-type": kind,
        "account": "111122223333",
        "region": "us-west-2",
        "time": at.isoformat(),
        "resources": [],
        "detail": detail,
    }


def health(deployed: Deployed, instance: str, at: datetime, status: str) -> Json:
    """HyperPod's word on a node's health."""
    fault = "HMA has detected fault type NvidiaErrorTerminate on this node and is unhealthy."
    summary = {"HealthStatus": status, "RepairAction": "None"}
    summary["HealthStatusReason"] = fault if status == "Unhealthy" else "All checks passed."
    detail = {"ClusterName": deployed.cluster, "InstanceId": instance, "HealthSummary": summary}
    return envelope(names.HYPERPOD_SOURCE, names.NODE_HEALTH, at, detail)


def health_record(deployed: Deployed, instance: str, at: datetime) -> Json:
    """The health agent's own record of the same fault, as the log's reader sends it on."""
    said = {
        "level": "info",
        "ts": at.isoformat(),
        "msg": "DCGM Policy Violation found ",
        "condition: ": "XID Error",
        "data: ": {"ErrNum": 79},
        "HealthMonitoringAgentDetectionEvent": "HealthEvent",
    }
    record = {"id": str(uuid.uuid4()), "timestamp": round(at.timestamp() * 1000), "message": json.dumps(said)}
    detail = {
        "messageType": "DATA_MESSAGE",
        "owner": "111122223333",
        "logGroup": f"/aws/sagemaker/Clusters/{deployed.cluster}/abcdefghijkl",
        "logStream": f"SagemakerHealthMonitoringAgent/workers/{instance}",
        "subscriptionFilters": ["health"],
        "logEvents": [record],
    }
    return {"source": names.LOG_SOURCE, "detail-type": names.LOG_FINDING, "detail": detail}


def information(deployed: Deployed, instance: str, at: datetime) -> Json:
    """A cluster event that says nothing bad."""
    event = {
        "EventId": str(uuid.uuid4()),
        "ClusterName": deployed.cluster,
        "InstanceGroupName": "workers",
        "InstanceId": instance,
        "ResourceType": "Instance",
        "EventTime": round(at.timestamp() * 1000),
        "EventLevel": "Info",
        "Description": f"Lifecycle script execution started on instance {instance}",
        "EventDetails": {"EventMetadata": None},
    }
    return envelope(names.HYPERPOD_SOURCE, names.CLUSTER_EVENT, at, {"EventDetails": event})


def snapshot(deployed: Deployed, sequence: int, at: datetime) -> Json:
    """Slurm's view of the cluster, in which all is well."""
    nodes = [
        {
            "name": n["hostname"].split(".")[0],
            "state": "IDLE",
            "reason": "",
            "jobs": [],
            "instance_id": n["instance_id"],
        }
        for n in deployed.workers()[:8]
    ]
    taken = (at + timedelta(milliseconds=sequence)).isoformat()
    detail = {"version": 1, "cluster": deployed.cluster, "sequence": sequence, "taken_at": taken, "nodes": nodes}
    return envelope(names.SLURM_SOURCE, names.SLURM_NODES, at, detail)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(*(int(given) for given in sys.argv[1:2])))
