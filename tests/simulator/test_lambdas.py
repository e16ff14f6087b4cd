"""Lambdas of the probe: AWS's runtime client, the layer, the environment, errors, time-outs, warm starts, the cap."""

import concurrent.futures
import json
import time
from typing import Any

import pytest

from simulator.client import EmbeddedAwsError
from tests.simulator.conftest import Probe


def invoke(probe: Probe, event: Any, name: str = "Task") -> tuple[str | None, Any]:
    answer = probe.aws.client("lambda").invoke(FunctionName=probe.output(name), Payload=json.dumps(event).encode())
    return answer.get("FunctionError"), json.loads(answer["Payload"].read())


def test_sees_its_layer_its_clock_and_no_other_aws(probe: Probe) -> None:
    error, result = invoke(probe, {"a": [1, "ü"]})
    assert error is None
    assert result["echo"] == {"a": [1, "ü"]}
    assert result["layer"] == "from the layer"
    assert result["clock"] == probe.aws.clock.env()
    assert result["endpoint"] == probe.aws.endpoint
    assert result["function"] == probe.output("Task")
    assert 0 < result["remaining"] <= 20_000


def test_errors_carry_the_class_name_and_the_stack(probe: Probe) -> None:
    error, result = invoke(probe, {"action": "fail"})
    assert error == "Unhandled"
    assert result["errorType"] == "ProbeFailure"
    assert result["errorMessage"] == "as asked"
    assert "probe.py" in "".join(result["stackTrace"])


def test_a_warm_call_is_fast_and_uses_the_same_process(probe: Probe) -> None:
    _, first = invoke(probe, {})
    took = []
    for _ in range(5):
        began = time.monotonic()
        _, again = invoke(probe, {})
        took.append(time.monotonic() - began)
        assert again["pid"] == first["pid"]
    assert min(took) < 0.1


def test_more_calls_than_workers_wait_their_turn(probe: Probe) -> None:
    with concurrent.futures.ThreadPoolExecutor(6) as calls:
        results = list(calls.map(lambda n: invoke(probe, {"action": "sleep", "seconds": 0.2, "n": n}), range(6)))
    assert sorted(result["echo"]["n"] for _, result in results) == list(range(6))
    assert len({result["pid"] for _, result in results}) == 2


def test_a_call_over_the_time_limit_fails_and_the_next_one_works(probe: Probe) -> None:
    functions = probe.aws.client("lambda")
    functions.update_function_configuration(FunctionName=probe.output("Task", "changed"), Timeout=1)
    answer = functions.invoke(
        FunctionName=probe.output("Task", "changed"), Payload=b'{"action": "sleep", "seconds": 30}'
    )
    assert answer["FunctionError"] == "Unhandled"
    assert "timed out after 1.00 seconds" in json.loads(answer["Payload"].read())["errorMessage"]
    functions.update_function_configuration(FunctionName=probe.output("Task", "changed"), Timeout=20)
    answer = functions.invoke(FunctionName=probe.output("Task", "changed"), Payload=b"{}")
    assert "FunctionError" not in answer


def test_prints_reach_the_log_group(probe: Probe) -> None:
    invoke(probe, {})
    found = probe.aws.client("logs").filter_log_events(
        logGroupName=f"/aws/lambda/{probe.output('Task')}", filterPattern='"from the layer"'
    )
    assert any(json.loads(each["message"]) == {"probe": "line", "layer": "from the layer"} for each in found["events"])


def test_a_role_that_may_not_write_leaves_no_log(probe: Probe) -> None:
    name = probe.output("Task", "changed")
    probe.aws.client("lambda").invoke(FunctionName=name, Payload=b"{}")
    groups = probe.aws.client("logs").describe_log_groups(logGroupNamePrefix=f"/aws/lambda/{name}")["logGroups"]
    assert groups == []


def test_asynchronous_calls_are_accepted(probe: Probe) -> None:
    answer = probe.aws.client("lambda").invoke(FunctionName=probe.output("Task"), InvocationType="Event", Payload=b"{}")
    assert answer["StatusCode"] == 202


def test_the_workers_are_known(probe: Probe) -> None:
    _, result = invoke(probe, {})
    assert result["pid"] in probe.aws.control("workers")["pids"]


def test_a_function_that_cannot_be_imported_is_told_when_all_are_warmed(probe: Probe) -> None:
    functions = probe.aws.client("lambda")
    assert probe.aws.warm() >= 10
    functions.update_function_configuration(FunctionName=probe.output("Task", "changed"), Handler="no_module.x")
    with pytest.raises(EmbeddedAwsError, match=probe.output("Task", "changed")):
        probe.aws.warm()
    functions.update_function_configuration(FunctionName=probe.output("Task", "changed"), Handler="probe.task")
    assert probe.aws.warm() >= 10
