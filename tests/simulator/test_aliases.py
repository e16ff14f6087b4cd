"""Versions and aliases: what an alias points to runs, permissions and retries are the alias's own, old workers end."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from simulator.aws.iam import qualified
from tests.simulator.conftest import Probe
from tests.simulator.roles import as_role
from tests.simulator.waiting import eventually, records

ARN = "arn:aws:lambda:us-west-2:111122223333:function:task"


@pytest.fixture(scope="module")
def versions(probe: Probe) -> Iterator[tuple[str, str]]:
    """Two published versions of one function that differ in a setting; the alias `live` points to the first."""
    functions, name = probe.aws.client("lambda"), probe.output("Task", "changed")
    settings = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    first = functions.publish_version(FunctionName=name)["Version"]
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": {**settings, "STACK": "b"}})
    second = functions.publish_version(FunctionName=name)["Version"]
    functions.create_alias(FunctionName=name, Name="live", FunctionVersion=first)
    yield first, second
    functions.delete_alias(FunctionName=name, Name="live")
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": settings})


def invoke(probe: Probe, qualifier: str | None) -> tuple[str, int]:
    """The version that ran and its process."""
    functions, name = probe.aws.client("lambda"), probe.output("Task", "changed")
    given: dict[str, Any] = {"Qualifier": qualifier} if qualifier else {}
    answer = functions.invoke(FunctionName=name, Payload=b"{}", **given)
    return answer["ExecutedVersion"], json.loads(answer["Payload"].read())["pid"]


def test_alias_runs_the_version_it_points_to_until_it_is_moved(probe: Probe, versions: tuple[str, str]) -> None:
    functions, name = probe.aws.client("lambda"), probe.output("Task", "changed")
    version, old = invoke(probe, "live")
    assert version == versions[0]
    assert invoke(probe, "live")[1] == old
    functions.update_alias(FunctionName=name, Name="live", FunctionVersion=versions[1])
    version, new = invoke(probe, "live")
    assert (version, new != old) == (versions[1], True)
    pids = probe.aws.control("workers")["pids"]
    assert new in pids
    assert old not in pids
    functions.update_alias(FunctionName=name, Name="live", FunctionVersion=versions[0])
    assert invoke(probe, "live")[0] == versions[0]


def test_permission_on_an_alias_opens_the_alias_alone(probe: Probe, versions: tuple[str, str]) -> None:
    name = probe.output("Task", "changed")
    arn = probe.aws.client("lambda").get_function_configuration(FunctionName=name)["FunctionArn"]
    allowed = [{"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": f"{arn}:live"}]
    caller = as_role(probe.aws, "lambda", "calls-live", allowed)
    assert caller.invoke(FunctionName=f"{arn}:live", Payload=b"{}")["StatusCode"] == 200
    assert caller.invoke(FunctionName=name, Qualifier="live", Payload=b"{}")["StatusCode"] == 200
    for given in ({"FunctionName": name}, {"FunctionName": name, "Qualifier": versions[1]}):
        with pytest.raises(ClientError, match="not authorized"):
            caller.invoke(**given, Payload=b"{}")


def test_events_reach_an_alias_that_lets_them_in_and_no_other(probe: Probe, versions: tuple[str, str]) -> None:
    functions, events = probe.aws.client("lambda"), probe.aws.client("events")
    name = probe.output("Task", "changed")
    arn = functions.get_function_configuration(FunctionName=name)["FunctionArn"]
    rule = events.put_rule(Name="to-alias", EventPattern=json.dumps({"source": ["test.alias"]}))["RuleArn"]
    functions.add_permission(
        FunctionName=name,
        Qualifier="live",
        StatementId="rule",
        Action="lambda:InvokeFunction",
        Principal="events.amazonaws.com",
        SourceArn=rule,
    )
    for target in (arn, f"{arn}:{versions[1]}", f"{arn}:live"):
        given = json.dumps({"action": "token", "token": target})
        events.put_targets(Rule="to-alias", Targets=[{"Id": "one", "Arn": target, "Input": given}])
        events.put_events(Entries=[{"Source": "test.alias", "DetailType": "t", "Detail": "{}"}])

    table = probe.output("TableName", "state")

    def called() -> set[str]:
        written = (each for stack in ("changed", "b") for each in records(probe.aws, table, stack, "token"))
        return {each["token"] for each in written if str(each["token"]).startswith(arn)}

    assert eventually(called, what="the call of the alias") == {f"{arn}:live"}


def test_qualifier_is_part_of_what_iam_is_asked() -> None:
    assert qualified(ARN, {"Qualifier": ["live"]}) == qualified(ARN, {"Qualifier": "live"}) == f"{ARN}:live"
    assert qualified(ARN, {}) == ARN
    assert qualified(f"{ARN}:7", {"Qualifier": ["live"]}) == f"{ARN}:7"
    assert qualified("*", {"Qualifier": ["live"]}) == "*"
