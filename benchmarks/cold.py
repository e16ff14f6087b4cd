"""How long a function takes to start: `python -m benchmarks.cold [FUNCTION…]`. Prints a table, then one JSON line.

Each function's handler is imported and given its first event in a fresh process, several times; the median counts. AWS
is a stand-in on loopback that answers at once. Times are of the processor, so that neighbours do not count. Two ways
are measured side by side: `compiled`, with bytecode from an earlier start, and `as shipped`, as Lambda starts our code
for the first time: an asset holds no bytecode, and Lambda's disk keeps none.
"""

from __future__ import annotations

import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from base64 import b64encode
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.stand_in import Json, StandIn, listening
from roundhouse import codec
from roundhouse.build.records import Run
from roundhouse.contracts.names import Names
from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.environment import load
from roundhouse.environment.render import cluster_spec, policy
from roundhouse.line.approval import Approval, Option
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Attempt, Incident
from roundhouse.line.ladder import Rung
from stacks.functions import FUNCTIONS

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = "demo"
TIMES = 5
NODE, HEIR = "i-0aaaaaaaaaaaaaaa1", "i-0aaaaaaaaaaaaaaa2"
EXPECTED = {"check_preflight": "PreflightFailed", "watch_rehearsal": "TakenOver"}
"""How a first event ends on purpose: the stand-in's account is empty, and no rehearsal is recorded."""
PLACE = "us-west-2:111122223333"
CLUSTER_ARN = f"arn:aws:sagemaker:{PLACE}:cluster/abcdefghijkl"
INCIDENT, RUN, APPROVAL = "inc-0000000000000000-1", "run-1", "apr-0000000000000000"

MACHINES = ("REMEDIATE", "MAINTAIN", "CREATE", "REHEARSE")

CHILD = """
import importlib, json, sys, time
name, event = sys.argv[1], json.load(sys.stdin)
class Context:
    function_name = name; memory_limit_in_mb = 512; aws_request_id = "cold"
    invoked_function_arn = "arn:aws:lambda:us-west-2:111122223333:function:" + name
    def get_remaining_time_in_millis(self): return 30000
begun = time.process_time()
handle = importlib.import_module("functions." + name + ".handler").handle
imported, error = time.process_time(), ""
try:
    answer = handle(event, Context())
    error = str(answer["batchItemFailures"]) if isinstance(answer, dict) and answer.get("batchItemFailures") else ""
except Exception as failure:
    error = f"{type(failure).__name__}: {failure}"
ended = time.process_time()
print()
print(json.dumps({"import_ms": 1000 * (imported - begun), "first_ms": 1000 * (ended - imported), "error": error}))
"""


@dataclass(frozen=True)
class Start:
    """Processor time of one start, in milliseconds; `error` is what the first event ended with."""

    import_ms: float
    first_ms: float
    error: str = ""

    @property
    def total_ms(self) -> float:
        return self.import_ms + self.first_ms


def main(functions: list[str] | None = None, times: int = TIMES) -> int:
    """Measure and print. Returns 1 when a first event ended as it should not, or a function has none."""
    events = first_events()
    chosen = [name for name in functions or FUNCTIONS if name in events]
    left_out = [name for name in functions or FUNCTIONS if name not in events]
    stand_in = make_stand_in()
    rows: dict[str, tuple[Start, Start]] = {}
    failed: dict[str, str] = {}
    print(f"median of {times} fresh processes, milliseconds of processor time")
    print(f"{'':22} {'compiled':^24} {'as shipped':>10}")
    print(f"{'function':22} {'import':>8} {'first':>7} {'both':>7} {'both':>10}")
    with listening(stand_in) as address, tempfile.TemporaryDirectory(prefix="cold-") as scratch:
        for name in chosen:
            kept = Path(scratch) / "compiled"
            start(name, events[name], address, kept)  # compiles
            warm = median([start(name, events[name], address, kept) for _ in range(times)])
            bare = median([start(name, events[name], address, None) for _ in range(max(1, times // 2))])
            rows[name] = (warm, bare)
            failed |= {} if warm.error.partition(":")[0] == EXPECTED.get(name, "") else {name: warm.error}
            parts = f"{warm.import_ms:8.0f} {warm.first_ms:7.0f} {warm.total_ms:7.0f} {bare.total_ms:10.0f}"
            print(f"{name:22} {parts}  {warm.error.splitlines()[0][:60] if warm.error else ''}", flush=True)
    line: dict[str, Any] = {"benchmark": "cold", "times": times}
    if "intake_signals" in rows:
        line |= {"intake_ms": round(rows["intake_signals"][0].total_ms)}
        line |= {"intake_as_shipped_ms": round(rows["intake_signals"][1].total_ms)}
    line["functions"] = {name: {k: round(v) for k, v in figures(*both).items()} for name, both in rows.items()}
    print(json.dumps(line | {"failed": failed, "no_first_event": left_out}))
    return 1 if failed or left_out else 0


def figures(warm: Start, bare: Start) -> dict[str, float]:
    """What is told of a function."""
    return {"import_ms": warm.import_ms, "first_ms": warm.first_ms, "as_shipped_ms": bare.total_ms}


def median(starts: list[Start]) -> Start:
    """Medians of both parts; an error of any start stays."""
    return Start(
        statistics.median(each.import_ms for each in starts),
        statistics.median(each.first_ms for each in starts),
        next((each.error for each in starts if each.error), ""),
    )


def start(name: str, event: Json, address: str, compiled: Path | None) -> Start:
    """One fresh process. `compiled` is a folder that keeps bytecode; None keeps and finds none."""
    with tempfile.TemporaryDirectory(prefix="bare-") as nothing:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, name],
            cwd=ROOT,
            env=variables(name, address)
            | {"PYTHONPYCACHEPREFIX": str(compiled or nothing)}
            | ({} if compiled else {"PYTHONDONTWRITEBYTECODE": "1"}),
            input=json.dumps(event),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"{name} did not start:\n{done.stderr[-2000:]}")
    return Start(**json.loads(done.stdout.splitlines()[-1]))


def variables(name: str, address: str) -> dict[str, str]:
    """The environment of a deployed function, with the stand-in for AWS and Slack."""
    queue = f"{address}/111122223333/roundhouse-{ENVIRONMENT}-"
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "AWS_REGION": "us-west-2",
        "AWS_ACCESS_KEY_ID": "cold",
        "AWS_SECRET_ACCESS_KEY": "cold",
        "AWS_ENDPOINT_URL": address,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9",  # nobody asks it for events here
        "AWS_LAMBDA_FUNCTION_NAME": Names(ENVIRONMENT).function(name),
        "ROUNDHOUSE_ENVIRONMENT": ENVIRONMENT,
        "ROUNDHOUSE_CLOCK": f"{now().timestamp()},1",
        "POWERTOOLS_SERVICE_NAME": "roundhouse",
        "READ_HEALTH_LOG_ARN": f"arn:aws:lambda:{PLACE}:function:read",
        **{f"{name}_ARN": f"arn:aws:states:{PLACE}:stateMachine:{name.lower()}" for name in MACHINES},
        "SLACK_SECRET_ARN": f"arn:aws:secretsmanager:{PLACE}:secret:slack",
        "SLACK_API_URL": f"{address}/api/",
        **{f"{each.upper()}_QUEUE_URL": queue + each for each in ("intake", "outbox", "settle", "agent")},
    }


def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def make_stand_in() -> StandIn:
    """A cluster with one broken node, and the records that first events ask for."""
    env = load(ROOT / "environments" / f"{ENVIRONMENT}.toml")
    spec, begun = cluster_spec(env), now() - timedelta(minutes=40)
    groups = [
        {
            "InstanceGroupName": g.name,
            "InstanceType": g.instance_type,
            "CurrentCount": g.count,
            "TargetCount": g.count,
            "SlurmConfig": {"NodeType": g.role},
        }
        for g in spec.groups
    ]
    nodes = [
        {
            "InstanceGroupName": g.name,
            "InstanceId": f"i-{index:017x}" if index else NODE,
            "NodeLogicalId": f"{g.name}-{index}",
            "InstanceType": g.instance_type,
            "LaunchTime": begun.timestamp(),
            "InstanceStatus": {"Status": "Running"},
            "PrivateDnsHostname": f"ip-10-0-0-{index}",
        }
        for g in spec.groups
        for index in range(g.count)
    ]
    incident = Incident(
        INCIDENT, spec.cluster, NODE, CauseClass.HARDWARE, 1, begun, begun, group=spec.groups[-1].name,
        logical_id=f"{spec.groups[-1].name}-0", slurm_name="ip-10-0-0-0", code="NvidiaErrorTerminate", trusted=True,
        attempts=(Attempt(Rung.REBOOT, NODE, begun),), version=1,
    )  # fmt: skip
    approval = Approval(
        APPROVAL, "repair", spec.cluster, INCIDENT, "Reboot?", (Option("approve", "Yes"), Option("deny", "No")),
        "deny", begun, now() + timedelta(hours=1), ("U0OPSALICE",), NODE, "reboot", version=1,
    )  # fmt: skip
    run = Run(cluster=spec.cluster, run_id=RUN, started_at=begun, version=1)
    documents = {"incidents": incident, "approvals": approval, "runs": run}
    described = {
        "ClusterArn": CLUSTER_ARN,
        "ClusterName": spec.cluster,
        "ClusterStatus": "InService",
        "NodeProvisioningMode": "Continuous",
        "NodeRecovery": "None",
        "InstanceGroups": groups,
    }
    return StandIn(
        {name: {"doc": {"S": codec.to_json(each)}} | keys(name) for name, each in documents.items()},
        {
            "policy": codec.to_json(policy(env)),  # type: ignore[dict-item]
            "cluster": codec.to_json(spec),  # type: ignore[dict-item]
            "DescribeCluster": described,
            "ListClusterNodes": {"ClusterNodeSummaries": nodes},
            "ListClusterEvents": {"Events": []},
            "DeleteCluster": {"ClusterArn": CLUSTER_ARN},
            "DescribeExecution": {
                "executionArn": "arn",
                "stateMachineArn": "arn",
                "startDate": 1.0,
                "status": "RUNNING",
            },
            "StartExecution": {"executionArn": "arn", "startDate": 1.0},
            "PutSubscriptionFilter": {},
            "GetSecretValue": {"ARN": "a", "Name": "n", "SecretString": json.dumps(SLACK_SECRET)},
            "chat.postMessage": {"ok": True, "channel": "C1", "ts": "1.1"},
        },
    )


SLACK_SECRET = {"bot_token": "xoxb-cold", "signing_secret": "cold"}


def keys(name: str) -> Json:
    """Key attributes of the records' items."""
    return {
        "incidents": {"incident_id": {"S": INCIDENT}},
        "approvals": {"approval_id": {"S": APPROVAL}},
        "runs": {"cluster": {"S": "demo"}},
    }[name]


def queued(body: object) -> Json:
    """A batch of one message, as Lambda gives it."""
    record = {
        "messageId": "m-1", "receiptHandle": "r-1", "body": json.dumps(body), "attributes": {},
        "messageAttributes": {}, "md5OfBody": "", "eventSource": "aws:sqs", "awsRegion": "us-west-2",
        "eventSourceARN": f"arn:aws:sqs:{PLACE}:queue",
    }  # fmt: skip
    return {"Records": [record]}


def first_events() -> dict[str, Json]:
    """A first event for each function that is an ordinary one of its kind."""
    cluster = load(ROOT / "environments" / f"{ENVIRONMENT}.toml").cluster.name
    at = now()
    health = {
        "version": "0", "id": "e-1", "source": "aws.sagemaker", "account": "111122223333", "region": "us-west-2",
        "time": at.isoformat(), "resources": [CLUSTER_ARN],
        "detail-type": "SageMaker HyperPod Cluster Node Health Event",
        "detail": {
            "ClusterName": cluster, "ClusterArn": CLUSTER_ARN, "InstanceId": NODE, "Tags": {},
            "HealthSummary": {
                "HealthStatus": "Unhealthy", "RepairAction": "None",
                "HealthStatusReason": "HMA has detected fault type NvidiaErrorTerminate",
            },
        },
    }  # fmt: skip
    log = {"messageType": "DATA_MESSAGE", "logGroup": "g", "logStream": "s", "logEvents": []}
    notice = Notice("n-1", "t-1", NoticeKind.RUN_PROGRESS, "Stage 1 of train is VERIFIED", "All Running.")
    decision = {
        "status": "act", "verdict": "act", "rung": "reboot", "instance_id": NODE, "reason": "broken", "wait_s": 60,
        "approval_s": 3600,
    }  # fmt: skip
    repair = {"incident_id": INCIDENT, "decision": decision}
    creation = {"run_id": RUN}
    done = {"status": "done", "reason": "all Running"}
    return {
        "intake_signals": queued(health),
        "read_health_log": {"awslogs": {"data": b64encode(gzip.compress(json.dumps(log).encode())).decode()}},
        "subscribe_health_log": {"detail": {"ClusterName": cluster, "ClusterArn": CLUSTER_ARN}},
        "measure_line": {},
        "reconcile_line": {},
        "mind_window": repair,
        "begin_rehearsal": {"rehearsal_id": "r-1", "turn": 1, "by": "cold"},
        "watch_rehearsal": {"rehearsal_id": "r-1"},
        "end_rehearsal": {"rehearsal_id": "r-1", "turn": 1, "cause": "", "cluster": None},
        "decide_repair": repair,
        "command_agent": {**repair, "verb": "cordon"},
        "request_approval": {"kind": "repair", "subject": INCIDENT, "decision": decision, "token": "t"},
        "read_approval": {"kind": "repair", "subject": INCIDENT, "decision": decision},
        "act_on_node": repair,
        "watch_node": repair,
        "restore_count": repair,
        "prove_node": repair,
        "close_incident": {"incident_id": INCIDENT, "result": {"status": "close", "outcome": "recovered"}},
        "check_preflight": creation,
        "plan_stage": creation,
        "launch_stage": creation,
        "watch_stage": creation,
        "stop_ramp": {**creation, "reason": {"group": "workers", "status": "lost", "reason": "price", "stage": 1}},
        "roll_back": creation,
        "finish_run": {**creation, "result": done},
        "answer_slack": {"headers": {}, "body": "", "isBase64Encoded": False, "requestContext": {"http": {}}},
        "settle_approval": queued({"approval_id": APPROVAL}),
        "post_slack": queued(asdict(notice)),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
