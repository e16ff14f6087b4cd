"""Executions of the probe's state machine: each state kind, its errors, the virtual clock, and its role."""

import json
import time
from datetime import datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.simulator.conftest import SCALE, Probe
from tests.simulator.roles import as_role
from tests.simulator.waiting import eventually, records, run


def output(described: dict[str, Any]) -> Any:
    assert described["status"] == "SUCCEEDED", described
    return json.loads(described["output"])


def test_waits_on_the_virtual_clock(probe: Probe) -> None:
    began = time.monotonic()
    result = output(run(probe.aws, probe.output("Machine"), {"do": "wait", "seconds": 120}))
    assert time.monotonic() - began < 120 / SCALE + 3
    assert 120 <= result["waited"] < 400
    started = datetime.fromisoformat(result["started"])
    assert abs((probe.aws.now() - started).total_seconds()) < 60 * SCALE
    assert abs((probe.aws.now() - datetime.fromisoformat(result["now"])).total_seconds()) < 60 * SCALE


def test_keeps_quotes_and_line_ends_in_variables(probe: Probe) -> None:
    result = output(run(probe.aws, probe.output("Machine"), {"do": "wait", "seconds": 1}))
    assert result["quoted"] == 'a "quoted"\nline'


def test_calls_an_added_service_with_dates_as_text(probe: Probe) -> None:
    result = output(run(probe.aws, probe.output("Machine"), {"do": "describe", "cluster": "probe"}))
    assert result == {"status": "InService", "created": "2026-11-30T12:00:00.123Z"}


def test_names_service_errors_as_step_functions_does(probe: Probe) -> None:
    assert output(run(probe.aws, probe.output("Machine"), {"do": "describe", "cluster": "none"})) == {"absent": True}


def test_catches_the_exception_class_of_a_function_after_its_retry(probe: Probe) -> None:
    began = time.monotonic()
    result = output(run(probe.aws, probe.output("Machine"), {"do": "fail"}))
    assert result == {"caught": "ProbeFailure"}
    assert 30 / SCALE <= time.monotonic() - began < 10


def test_maps_over_items_in_order(probe: Probe) -> None:
    items = list(range(12))
    assert output(run(probe.aws, probe.output("Machine"), {"do": "map", "items": items})) == [2 * n for n in items]


@pytest.mark.parametrize(
    ("given", "error"),
    [({"do": "undefined"}, "States.QueryEvaluationError"), ({"do": "unknown"}, "States.NoChoiceMatched")],
)
def test_fails_as_the_language_says(probe: Probe, given: dict[str, Any], error: str) -> None:
    described = run(probe.aws, probe.output("Machine"), given)
    assert (described["status"], described["error"]) == ("FAILED", error)


def start_with_token(probe: Probe, timeout: int) -> tuple[str, str]:
    states, table = probe.aws.client("sfn"), probe.output("TableName", "state")
    before = {each["token"] for each in records(probe.aws, table, "probe", "token")}
    arn = states.start_execution(
        stateMachineArn=probe.output("Machine"), input=json.dumps({"do": "token", "timeout": timeout})
    )["executionArn"]

    def token() -> str | None:
        found = {each["token"] for each in records(probe.aws, table, "probe", "token")} - before
        return found.pop() if found else None

    return arn, eventually(token, what="the task token")


def ended(probe: Probe, arn: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        described = probe.aws.client("sfn").describe_execution(executionArn=arn)
        return described if described["status"] != "RUNNING" else None

    return eventually(look, what="the end of the execution")


def test_takes_the_first_answer_to_a_task_token_only(probe: Probe) -> None:
    states = probe.aws.client("sfn")
    arn, token = start_with_token(probe, 3600)
    states.send_task_heartbeat(taskToken=token)
    states.send_task_success(taskToken=token, output='{"approved":true}')
    with pytest.raises(ClientError, match="TaskTimedOut"):
        states.send_task_success(taskToken=token, output='{"approved":false}')
    assert output(ended(probe, arn)) == {"approved": True}
    with pytest.raises(ClientError, match="TaskTimedOut"):
        states.send_task_failure(taskToken=token, error="ApprovalDenied")


def test_an_answer_needs_a_permission_on_the_machine_that_asked(probe: Probe) -> None:
    arn, token = start_with_token(probe, 3600)
    for stack in ("changed", "probe"):
        statement = {
            "Effect": "Allow",
            "Action": "states:SendTaskSuccess",
            "Resource": probe.output("Machine", stack),
        }
        client = as_role(probe.aws, "stepfunctions", f"answers-{stack}", [statement])
        if stack == "changed":
            with pytest.raises(ClientError, match="AccessDenied"):
                client.send_task_success(taskToken=token, output="{}")
        else:
            client.send_task_success(taskToken=token, output="{}")
    assert output(ended(probe, arn)) == {}


def test_refuses_a_token_that_was_never_given_out(probe: Probe) -> None:
    with pytest.raises(ClientError, match="InvalidToken"):
        probe.aws.client("sfn").send_task_success(taskToken="made-up", output="{}")


def test_catches_the_failure_sent_for_a_token(probe: Probe) -> None:
    arn, token = start_with_token(probe, 3600)
    probe.aws.client("sfn").send_task_failure(taskToken=token, error="ApprovalDenied", cause="no")
    assert output(ended(probe, arn)) == {"denied": "no"}


def test_a_token_expires_on_the_virtual_clock(probe: Probe) -> None:
    began = time.monotonic()
    arn, token = start_with_token(probe, 90)
    assert output(ended(probe, arn)) == {"expired": True}
    assert 90 / SCALE <= time.monotonic() - began < 8
    with pytest.raises(ClientError, match="TaskTimedOut"):
        probe.aws.client("sfn").send_task_success(taskToken=token, output="{}")


def test_a_stopped_execution_is_aborted_and_its_token_is_dead(probe: Probe) -> None:
    states = probe.aws.client("sfn")
    arn, token = start_with_token(probe, 36_000)
    states.stop_execution(executionArn=arn, error="Operator", cause="stop it")
    described = states.describe_execution(executionArn=arn)
    assert (described["status"], described["error"], described["cause"]) == ("ABORTED", "Operator", "stop it")

    def last() -> bool:
        return bool(states.get_execution_history(executionArn=arn)["events"][-1]["type"] == "ExecutionAborted")

    eventually(last, what="the history's end")

    def token_is_dead() -> bool:
        try:
            states.send_task_success(taskToken=token, output="{}")
        except ClientError as error:
            return "TaskTimedOut" in str(error)
        return False

    assert token_is_dead()


def test_history_tells_the_steps(probe: Probe) -> None:
    described = run(probe.aws, probe.output("Machine"), {"do": "describe", "cluster": "probe"})
    events = probe.aws.client("sfn").get_execution_history(executionArn=described["executionArn"])["events"]
    kinds = [each["type"] for each in events]
    assert kinds[0] == "ExecutionStarted"
    assert kinds[-1] == "ExecutionSucceeded"
    assert "TaskScheduled" in kinds
    assert [each["id"] for each in events] == list(range(1, len(events) + 1))


def test_the_same_name_starts_once(probe: Probe) -> None:
    states = probe.aws.client("sfn")
    request = {"stateMachineArn": probe.output("Machine"), "name": "once", "input": '{"do":"echo"}'}
    states.start_execution(**request)
    with pytest.raises(ClientError, match="ExecutionAlreadyExists"):
        states.start_execution(**{**request, "input": '{"do":"fail"}'})


def test_a_repeated_start_of_a_running_execution_answers_like_the_first(probe: Probe) -> None:
    states = probe.aws.client("sfn")
    request = {"stateMachineArn": probe.output("Machine"), "name": "repeated", "input": '{"do":"wait","seconds":600}'}
    first = states.start_execution(**request)
    assert states.start_execution(**request)["executionArn"] == first["executionArn"]
    with pytest.raises(ClientError, match="ExecutionAlreadyExists"):
        states.start_execution(**{**request, "input": '{"do":"echo"}'})
    states.stop_execution(executionArn=first["executionArn"])


def test_a_permission_taken_from_the_machine_role_fails_the_execution(probe: Probe) -> None:
    described = run(probe.aws, probe.output("Machine", "changed"), {"do": "describe", "cluster": "probe"})
    assert described["status"] == "FAILED"
    assert "is not authorized to perform: sagemaker:DescribeCluster" in described["cause"]


def test_a_permission_taken_from_the_function_role_denies_its_call(probe: Probe) -> None:
    good = run(probe.aws, probe.output("Machine"), {"do": "describe-in-function"})
    assert output(good) == "InService"
    described = run(probe.aws, probe.output("Machine", "changed"), {"do": "describe-in-function"})
    assert described["status"] == "FAILED"
    assert "AccessDenied" in described["cause"]
