"""Lifecycle scripts rehearsed on the embedded AWS, by the synthesized templates: fail, stop, pass, change, create."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from roundhouse.aws.stores import DynamoRehearsals
from roundhouse.build.rehearsal import Result
from roundhouse.contracts.names import CONTROL
from simulator.demo.house import House
from tests.simulator.roles import as_role
from tests.simulator_demo.scenarios import changes, house, running, scenario

pytestmark = pytest.mark.slow

FAILS_ONCE = [{"kind": "lifecycle_failure", "group": "controller", "attempts": 1, "message": "curl: (6) no such host"}]
BUCKET, PREFIX = "sagemaker-roundhouse-demo-111122223333", "lifecycle/"


def throw_away(it: House) -> list[str]:
    """Names of throw-away clusters that stand."""
    clusters = it.aws.control("nodes")["clusters"]
    return [each["name"] for each in clusters if "-rehearsal-" in each["name"]]


def refusal(it: House, run_id: str) -> str:
    done = it.command("create", "-e", "careful", "--run-id", run_id)
    assert done.returncode == 1, done.stdout + done.stderr
    return " ".join(done.stdout.split())


def test_a_creation_waits_for_a_rehearsal_that_passes(tmp_path: Path) -> None:
    with house("careful", scenario("shortage", fault=FAILS_ONCE), tmp_path, scale=400) as it:
        careful, s3 = it["careful"], it.aws.client("s3")
        rehearsals = DynamoRehearsals(it.aws.client("dynamodb"), careful.names.table(CONTROL))
        assert "never been rehearsed" in refusal(it, "too-early")

        done = it.command("rehearse", "-e", "careful", "--id", "fails", "--wait")
        assert done.returncode == 1, done.stdout + done.stderr
        assert "LifecycleConfig/controller/i-" in done.stdout
        record = rehearsals.newest()
        assert record is not None
        assert (record.result, throw_away(it)) == (Result.FAILED, [])
        logs = it.aws.client("logs").get_log_events(logGroupName=record.log_group, logStreamName=record.log_stream)
        assert "curl: (6) no such host" in str(logs["events"]), "the notice names the place of the output"
        it.wait("the failure in Slack", lambda: it.messages("rehearsal FAILED"), 20)
        assert "FAILED" in refusal(it, "failed")

        it.roundhouse("rehearse", "-e", "careful", "--id", "stopped")
        it.wait("its throw-away cluster", lambda: throw_away(it), 30)
        machine = careful.machine("rehearse").replace(":stateMachine:", ":execution:")
        it.aws.client("sfn").stop_execution(executionArn=f"{machine}:stopped")
        second = it.command("rehearse", "-e", "careful", "--id", "second")
        assert (second.returncode, "stopped is under way" in second.stderr) == (3, True), second.stderr
        it.wait("the schedule to clear it", lambda: not throw_away(it), 90, rehearsals.newest)
        it.wait("its record", lambda: (r := rehearsals.newest()) and not r.under_way, 60)
        it.idle(timedelta(minutes=1))

        it.roundhouse("rehearse", "-e", "careful", "--id", "passes", "--wait")
        record = rehearsals.newest()
        assert record is not None
        assert (record.rehearsal_id, record.result, throw_away(it)) == ("passes", Result.PASSED, [])

        s3.put_object(Bucket=BUCKET, Key=f"{PREFIX}new.sh", Body=b"exit 0\n")
        assert "new: new.sh" in refusal(it, "changed")
        s3.delete_object(Bucket=BUCKET, Key=f"{PREFIX}new.sh")
        execution = it.create("careful", "at-last")
        ended = it.wait("the creation", lambda: it.ended(execution), 90, lambda: careful.runs.get(careful.cluster))
        assert ended["status"] == "SUCCEEDED"
        assert len(running(careful)) == 4

        _own_cluster_is_out_of_reach(it)
        made: list[dict[str, Any]] = changes(it)
        names = [call["params"]["ClusterName"] for call in made if call["operation"] == "CreateCluster"]
        assert len(names) == 4
        assert names[-1] == careful.cluster
        deleted = [call["params"]["ClusterName"] for call in made if call["operation"] == "DeleteCluster"]
        assert len(set(deleted)) == 3
        assert all(arn.startswith("arn:") for arn in deleted), "by ARN, which no other cluster will ever have"
        assert [s["Lifecycle"] for s in it.aws.client("fsx").describe_file_systems()["FileSystems"]] == ["AVAILABLE"]


def _own_cluster_is_out_of_reach(it: House) -> None:
    """IAM itself keeps the role that deletes throw-away clusters from every other one."""
    careful, iam = it["careful"], it.aws.client("iam")
    [role] = [r["RoleName"] for r in iam.list_roles()["Roles"] if "careful-Workflows-endrehearsal" in r["RoleName"]]
    held = iam.get_role_policy(RoleName=role, PolicyName="access")["PolicyDocument"]["Statement"]
    sagemaker = as_role(it.aws, "sagemaker", "as-end-rehearsal", held)
    assert sagemaker.describe_cluster(ClusterName=careful.cluster)["ClusterStatus"] == "InService"
    with pytest.raises(ClientError, match="not authorized to perform: sagemaker:DeleteCluster"):
        sagemaker.delete_cluster(ClusterName=careful.cluster)
