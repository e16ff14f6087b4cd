"""One permission is taken from each role in turn: the step fails at once, and people are left with what they expect."""

from __future__ import annotations

import base64
import gzip
import json
import re
import time
from collections.abc import Iterator
from datetime import timedelta
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from roundhouse import codec
from roundhouse.contracts import names
from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.line.approval import Approval, Option
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState, incident_key
from roundhouse.ports import Run
from simulator.client import IAM_RECORDS
from simulator.demo.house import House
from stacks.constructs.code import ROOT
from stacks.permissions import FUNCTIONS, MACHINES
from tests.simulator_demo.denied import Json, Roles, visit
from tests.simulator_demo.scenarios import house, scenario

pytestmark = pytest.mark.slow

ENVIRONMENT = "small"
MACHINE = {name: json.loads((ROOT / "statemachines" / f"{name}.asl.json").read_text())["States"] for name in MACHINES}
INSTANCE, RUN = "i-0123456789abcdef0", "denied"
SEEN_S = 45.0


def _calls() -> dict[str, tuple[str, str]]:
    """Function → the first state of any machine that calls it."""
    found: dict[str, tuple[str, str]] = {}
    for machine, states in MACHINE.items():
        for state, body in states.items():
            name = re.fullmatch(r"\$\{(\w+)\}", str(body.get("Arguments", {}).get("FunctionName", "")))
            if name:
                found.setdefault(name[1], (machine, state))
    return found


CALLS = _calls()
# What feeds a function that no machine calls: a queue and its dead letters, an event, or people.
FED = {"intake_signals": names.INTAKE_QUEUE, "settle_approval": names.SETTLE_QUEUE, "post_slack": names.OUTBOX_QUEUE}
ASKED = {"answer_slack"}
CALLED = [name for name in FUNCTIONS if name not in CALLS and name not in FED and name not in ASKED]


def needed(row: str) -> tuple[str, str]:
    """(action, part of the resource) that the function needs whatever it is given, and before anything else."""
    match row:
        case "answer_slack":
            return "secretsmanager:GetSecretValue", ""
        case "read_health_log":
            return "sqs:SendMessage", "intake"
        case "subscribe_health_log":
            return "logs:PutSubscriptionFilter", ""
        case "measure_line" | "intake_signals":
            return "dynamodb:Query", ""
        case "begin_rehearsal":
            return "ssm:GetParameter", ""
        case _:
            return "dynamodb:GetItem", ""


@pytest.fixture(scope="module")
def it(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One house for all; what IAM denies in it is denied on purpose, and not recorded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(IAM_RECORDS, raising=False)
        with house(ENVIRONMENT, scenario("shortage", fault=[]), tmp_path_factory.mktemp("denied"), scale=600) as opened:
            yield opened


@pytest.fixture(scope="module")
def roles(it: House) -> Roles:
    return Roles(it.aws, ENVIRONMENT)


def broken(it: House, number: int) -> Incident:
    """A stored open incident."""
    deployed, at = it[ENVIRONMENT], it.aws.now()
    identity = incident_key(deployed.cluster, INSTANCE, CauseClass.HARDWARE, number)
    return deployed.incidents.put(
        Incident(identity, deployed.cluster, INSTANCE, CauseClass.HARDWARE, number, at, at, group="workers")
    )


@pytest.mark.parametrize("row", CALLS)
def test_a_step_without_a_permission_is_not_tried_again(row: str, it: House, roles: Roles) -> None:
    machine, state = CALLS[row]
    incident, variables = prepared(it)
    with roles.without(row, *needed(row)):
        seen = visit(it.aws, it[ENVIRONMENT].machine(machine), state, variables["decision"], variables)
    after = next(c["Next"] for c in MACHINE[machine][state]["Catch"] if "States.ALL" in c["ErrorEquals"])
    assert (seen.states[:2], seen.errors) == ((state, after), ("AccessDenied",)), seen
    assert seen.status == "FAILED", seen
    if after == "CloseAfterError":
        closed = it[ENVIRONMENT].incidents.get(incident)
        assert closed is not None
        assert (closed.state, closed.outcome) == (IncidentState.CLOSED, "escalated"), closed


@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine_that_may_not_call_ends_and_says_so(machine: str, it: House, roles: Roles) -> None:
    state = next(s for s, body in MACHINE[machine].items() if "FunctionName" in body.get("Arguments", {}))
    _, variables = prepared(it)
    with roles.without(machine, "lambda:InvokeFunction"):
        seen = visit(it.aws, it[ENVIRONMENT].machine(machine), state, variables["decision"], variables)
    assert (seen.states[0], seen.status) == (state, "FAILED"), seen
    assert all("Access" in error or error.startswith("Lambda.") for error in seen.errors), seen


def prepared(it: House) -> tuple[str, Json]:
    """An open incident and a run, and what every machine's variables may be."""
    deployed, at, number = it[ENVIRONMENT], it.aws.now(), time.time_ns() % 1_000_000_000
    identity = incident_key(deployed.cluster, INSTANCE, CauseClass.HARDWARE, number)
    deployed.incidents.put(
        Incident(identity, deployed.cluster, INSTANCE, CauseClass.HARDWARE, number, at, at, group="workers")
    )
    if deployed.runs.get(deployed.cluster) is None:
        deployed.runs.put(Run(deployed.cluster, RUN, at))
    decision = {
        "status": "act", "rung": "replace", "instance_id": INSTANCE, "reason": "x", "approval_s": 3600, "wait_s": 60,
    }  # fmt: skip
    return identity, {
        "incident_id": identity, "decision": decision, "question": decision, "run_id": RUN, "polls": 0,
        "rehearsal_id": RUN, "turn": 1, "by": "tests", "cause": "", "old": {"rehearsal_id": RUN, "cluster": None},
    }  # fmt: skip


def message(it: House, row: str) -> str:
    """A message that the function takes without a fault when nothing is denied."""
    deployed, at = it[ENVIRONMENT], it.aws.now()
    match row:
        case "settle_approval":
            yes = (Option("approve", "Yes"),)
            asked = Approval(
                f"apr-{time.time_ns()}", "repair", deployed.cluster, "inc-1", "?", yes, "deny", at,
                at + timedelta(days=1), (),
            )  # fmt: skip
            return json.dumps({"approval_id": deployed.approvals.put(asked).approval_id})
        case "post_slack":
            return codec.to_json(Notice(f"n-{time.time_ns()}", "t-1", NoticeKind.RUN_PROGRESS, "Denied", "Or not."))
        case "intake_signals":
            health = {"HealthStatus": "Unhealthy", "RepairAction": "None", "HealthStatusReason": "NvidiaErrorTerminate"}
            detail = {"ClusterName": deployed.cluster, "InstanceId": INSTANCE, "HealthSummary": health}
            return json.dumps(
                {
                    "id": str(time.time_ns()), "source": names.HYPERPOD_SOURCE, "detail-type": names.NODE_HEALTH,
                    "time": at.isoformat(), "account": it.aws.account, "region": it.aws.region, "resources": [],
                    "detail": detail,
                }
            )  # fmt: skip
    raise KeyError(f"{row}: no message for it here")


@pytest.mark.parametrize("row", FED)
def test_a_message_that_cannot_be_worked_on_is_kept(row: str, it: House, roles: Roles) -> None:
    sqs, deployed = it.aws.client("sqs"), it[ENVIRONMENT]
    url = sqs.get_queue_url(QueueName=deployed.names.queue(FED[row]))["QueueUrl"]
    asked = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])["Attributes"]["RedrivePolicy"]
    kept = json.loads(asked)
    dead = sqs.get_queue_url(QueueName=kept["deadLetterTargetArn"].rpartition(":")[2])["QueueUrl"]
    quick = {"VisibilityTimeout": "1", "RedrivePolicy": json.dumps({**kept, "maxReceiveCount": 2})}
    sqs.set_queue_attributes(QueueUrl=url, Attributes=quick)  # the tries are real seconds apart

    def send() -> None:
        ordered = {"MessageGroupId": "g", "MessageDeduplicationId": str(time.time_ns())}
        sqs.send_message(QueueUrl=url, MessageBody=message(it, row), **(ordered if url.endswith(".fifo") else {}))

    before = waiting(it, dead)
    send()
    it.wait(f"{row} to take its message", lambda: left(it, url) == 0, SEEN_S)
    assert waiting(it, dead) == before, "the message was at fault, not the permission"
    with roles.without(row, *needed(row)):
        send()
        it.wait(f"a dead letter of {row}", lambda: waiting(it, dead) > before, SEEN_S)


@pytest.mark.parametrize("row", CALLED)
def test_a_call_that_failed_for_good_is_kept(row: str, it: House, roles: Roles) -> None:
    deployed, function = it[ENVIRONMENT], it.aws.client("lambda")
    dead = it.aws.client("sqs").get_queue_url(QueueName=deployed.names.queue("invocations-dlq"))["QueueUrl"]
    arn = f"arn:aws:sagemaker:{it.aws.region}:{it.aws.account}:cluster/abcdefghijkl"
    group = names.log_group(deployed.cluster, arn)
    logs = it.aws.client("logs")
    if not logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]:
        logs.create_log_group(logGroupName=group)
    record = {"messageType": "DATA_MESSAGE", "owner": it.aws.account, "logGroup": group, "logStream": "s",
              "subscriptionFilters": [], "logEvents": [{"id": "1", "timestamp": 1, "message": "{}"}]}  # fmt: skip
    packed = base64.b64encode(gzip.compress(json.dumps(record).encode())).decode()
    event = {"detail": {"ClusterName": deployed.cluster, "ClusterArn": arn}, "awslogs": {"data": packed}}
    call = {"FunctionName": f"{deployed.names.function(row)}:live", "Payload": json.dumps(event).encode()}
    answer = function.invoke(**call)
    assert "FunctionError" not in answer, answer["Payload"].read()
    before = waiting(it, dead)
    with roles.without(row, *needed(row)):
        function.invoke(**call, InvocationType="Event")
        it.wait(f"a dead letter of {row}", lambda: waiting(it, dead) > before, SEEN_S)


def test_people_see_that_a_click_could_not_be_taken(it: House, roles: Roles) -> None:
    with roles.without("answer_slack", *needed("answer_slack")):
        assert click(it) >= 500
    assert click(it) == 401


def click(it: House) -> int:
    """The HTTP status of an unsigned click."""
    try:
        with urlopen(Request(it.addresses[ENVIRONMENT], data=b"payload=%7B%7D"), timeout=20) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def waiting(it: House, queue: str) -> int:
    """Messages that can be received."""
    return left(it, queue, "ApproximateNumberOfMessages")


def left(it: House, queue: str, *which: str) -> int:
    """Messages in a queue, those in hand included."""
    wanted = which or ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    found = it.aws.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=list(wanted))["Attributes"]
    return sum(int(found[name]) for name in wanted)


def test_every_function_is_tried() -> None:
    assert set(CALLS) | set(FED) | set(CALLED) | ASKED == set(FUNCTIONS)
