"""Reading a cluster: counts, nodes over several pages, roles, events and their metadata."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.stub import ANY

from roundhouse.aws import hyperpod_reader
from roundhouse.aws.hyperpod_reader import HyperpodReader
from roundhouse.build.settings import SETTINGS
from roundhouse.errors import AccessDenied, InvalidRequest, NotFound, Throttled
from roundhouse.line.state import NodeStatus
from tests.aws.conftest import sample
from tests.fakes.clocks import FakeClock

NOW = datetime(2026, 10, 2, 17, tzinfo=UTC)
ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/a1b2c3d4e5f6"
NAME = "train-slurm-a"


class _Body:
    def __init__(self, content: bytes) -> None:
        self.content = content

    def stream(self, **_: Any) -> list[bytes]:
        return [self.content]


def node(number: int, status: str = "Running", **members: Any) -> dict[str, Any]:
    return {
        "InstanceGroupName": "workers",
        "InstanceId": f"i-{number:017x}",
        "NodeLogicalId": f"logical-{number}",
        "InstanceType": "ml.p5.48xlarge",
        "LaunchTime": NOW - timedelta(hours=1),
        "InstanceStatus": {"Status": status, "Message": ""},
        **members,
    }


def summary(number: int, description: str, level: str | None = "Info", **members: Any) -> dict[str, Any]:
    return {
        "EventId": f"00000000-0000-4000-8000-{number:012x}",
        "ClusterArn": ARN,
        "ClusterName": NAME,
        "InstanceGroupName": "workers",
        "ResourceType": "Instance",
        "EventTime": NOW + timedelta(seconds=number),
        "Description": description,
        **({"EventLevel": level} if level else {}),
        **members,
    }


def detail(raw: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"EventDetails": {**raw, "EventDetails": {"EventMetadata": metadata}}}


def reader(client: Any, **roles: str) -> HyperpodReader:
    return HyperpodReader(client, FakeClock(NOW), roles=lambda: roles)


LIST = {"ClusterName": NAME, "MaxResults": 100, "IncludeNodeLogicalIds": True}
EVENTS = {
    "ClusterName": NAME,
    "EventTimeAfter": NOW,
    "SortBy": "EventTime",
    "SortOrder": "Ascending",
    "MaxResults": 100,
}


def test_a_cluster_in_the_midst_of_its_ramp(sagemaker: Any) -> None:
    client, stub = sagemaker
    stub.add_response("describe_cluster", sample("describe-cluster.ramping"), {"ClusterName": NAME})
    stub.add_response("list_cluster_nodes", {"ClusterNodeSummaries": [node(1)], "NextToken": "more"}, LIST)
    last = [
        node(1, "ShuttingDown"),  # listed again on the next page: the later listing counts
        node(2, "Pending", InstanceId=""),
        node(3, "AttachInProgress", PrivateDnsHostname="ip-10-1-2-3.us-west-2.compute.internal"),
    ]
    stub.add_response("list_cluster_nodes", {"ClusterNodeSummaries": last}, {**LIST, "NextToken": "more"})

    cluster = reader(client).cluster(NAME)

    assert (cluster.arn, cluster.status, cluster.node_recovery) == (ARN, "InService", "Automatic")
    assert cluster.read_at == NOW
    assert cluster.slurm is None
    workers = cluster.groups["workers"]
    assert (workers.current, workers.target, workers.role, workers.instance_type) == (
        10,
        16,
        "Compute",
        "ml.p5.48xlarge",
    )
    assert workers.training_plan_arn == "arn:aws:sagemaker:us-west-2:111122223333:training-plan/contract-p5-plan"
    assert cluster.groups["controller"].role == "Controller"
    assert [(n.instance_id, n.logical_id, n.status) for n in cluster.nodes] == [
        (f"i-{1:017x}", "logical-1", NodeStatus.SHUTTING_DOWN),
        (None, "logical-2", NodeStatus.PENDING),
        (f"i-{3:017x}", "logical-3", NodeStatus.UNKNOWN),
    ]
    assert cluster.nodes[2].hostname == "ip-10-1-2-3.us-west-2.compute.internal"
    assert cluster.nodes[0].launched_at == NOW - timedelta(hours=1)
    assert cluster.running("workers") == 0


def test_a_legacy_cluster_has_no_logical_ids_and_its_roles_come_from_the_environment(sagemaker: Any) -> None:
    client, stub = sagemaker
    raw = sample("describe-cluster.ramping")
    del raw["NodeProvisioningMode"], raw["NodeRecovery"]
    for group in raw["InstanceGroups"]:
        del group["SlurmConfig"]
    stub.add_response("describe_cluster", raw)
    nodes = [{k: v for k, v in node(n).items() if k != "NodeLogicalId"} for n in (1, 2)]
    for pending in nodes:
        pending["InstanceId"] = ""
    stub.add_response("list_cluster_nodes", {"ClusterNodeSummaries": nodes}, {"ClusterName": NAME, "MaxResults": 100})
    cluster = reader(client, controller="Controller").cluster(NAME)
    assert cluster.groups["controller"].role == "Controller"
    assert cluster.groups["workers"].role == "Compute"
    assert cluster.node_recovery == "None"
    assert len(cluster.nodes) == 2  # two nodes without any id are two nodes


@pytest.mark.parametrize(
    ("code", "kind"),
    [("ResourceNotFound", NotFound), ("ThrottlingException", Throttled), ("AccessDeniedException", AccessDenied)],
)
def test_a_cluster_that_cannot_be_read_is_not_an_empty_one(sagemaker: Any, code: str, kind: type[Exception]) -> None:
    client, stub = sagemaker
    stub.add_client_error("describe_cluster", code)
    with pytest.raises(kind):
        reader(client).cluster(NAME)


def test_nodes_that_cannot_be_listed_are_not_none(sagemaker: Any) -> None:
    client, stub = sagemaker
    stub.add_response("describe_cluster", sample("describe-cluster.ramping"))
    stub.add_client_error("list_cluster_nodes", "ThrottlingException")
    with pytest.raises(Throttled):
        reader(client).cluster(NAME)


RESERVED = (
    f"Found CapacityReservation ID cr-0123456789abcdef0 for Cluster {NAME} and IG workers, using reserved capacity"
)
MISSED = f"No CapacityReservation found for Cluster {NAME} and IG workers, using on-demand pool"
RESERVATION = "arn:aws:ec2:us-west-2:111122223333:capacity-reservation/cr-0123456789abcdef0"


def test_events_come_oldest_first_with_the_metadata_that_matters(sagemaker: Any) -> None:
    client, stub = sagemaker
    scaling = summary(1, "Instance group scaling started")
    reserved = summary(2, RESERVED)
    missed = summary(3, MISSED, "Warn")
    failed = summary(4, "Instance creation failed", "Error")
    stub.add_response("list_cluster_events", {"Events": [missed, scaling], "NextToken": "n"}, EVENTS)
    stub.add_response("list_cluster_events", {"Events": [reserved, failed]}, {**EVENTS, "NextToken": "n"})
    # Looked up newest first; the plain Info event is not looked up.
    stub.add_response(
        "describe_cluster_event",
        detail(failed, Instance={"FailureMessage": "no capacity", "NodeLogicalId": "logical-4"}),
        {"ClusterName": NAME, "EventId": failed["EventId"]},
    )
    stub.add_response(
        "describe_cluster_event",
        detail(missed, Instance={"NodeLogicalId": "logical-3"}),
        {"ClusterName": NAME, "EventId": missed["EventId"]},
    )
    stub.add_response(
        "describe_cluster_event",
        detail(
            reserved,
            Instance={"CapacityReservation": {"Arn": RESERVATION, "Type": "ODCR"}, "NodeLogicalId": "logical-2"},
        ),
        {"ClusterName": NAME, "EventId": reserved["EventId"]},
    )

    subject = reader(client)
    events = subject.events(NAME, NOW)

    assert [event.description for event in events] == [
        "Instance group scaling started",
        RESERVED,
        MISSED,
        "Instance creation failed",
    ]
    assert (events[1].reservation_arn, events[1].logical_id) == (RESERVATION, "logical-2")
    assert (events[2].reservation_arn, events[2].level) == (None, "Warn")
    assert (events[3].failure, events[3].logical_id) == ("no capacity", "logical-4")
    assert all(event.at.tzinfo is UTC for event in events)

    # Events never change: a second look lists, and looks nothing up again.
    stub.add_response("list_cluster_events", {"Events": [reserved, failed]}, EVENTS)
    assert subject.events(NAME, NOW) == [events[1], events[3]]


def test_events_of_one_group_after_a_moment(sagemaker: Any) -> None:
    client, stub = sagemaker
    at_the_moment = summary(0, "Instance operation started")
    stub.add_response("list_cluster_events", {"Events": [at_the_moment]}, {**EVENTS, "InstanceGroupName": "workers"})
    assert reader(client).events(NAME, NOW, "workers") == []


def test_lookups_are_bounded_and_go_on_with_the_next_call(sagemaker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hyperpod_reader, "LOOKUPS", 2)
    client, stub = sagemaker
    failures = [summary(number, f"failure {number}", "Error") for number in range(1, 4)]
    subject = reader(client)
    for looked_up in ([3, 2], [1]):
        stub.add_response("list_cluster_events", {"Events": failures}, EVENTS)
        for number in looked_up:
            raw = failures[number - 1]
            stub.add_response(
                "describe_cluster_event",
                detail(raw, Instance={"FailureMessage": f"why {number}"}),
                {"ClusterName": NAME, "EventId": raw["EventId"]},
            )
        events = subject.events(NAME, NOW)
    assert [event.failure for event in events] == ["why 1", "why 2", "why 3"]


def test_an_event_that_fell_out_of_the_history_keeps_its_summary(sagemaker: Any) -> None:
    client, stub = sagemaker
    stub.add_response("list_cluster_events", {"Events": [summary(1, RESERVED, None)]}, EVENTS)
    stub.add_client_error("describe_cluster_event", "ResourceNotFound")
    (event,) = reader(client).events(NAME, NOW)
    assert event.reservation_arn == "cr-0123456789abcdef0"  # all that the description tells
    assert event.level == ""


def test_a_documented_capacity_failure(sagemaker: Any) -> None:
    client, stub = sagemaker
    raw = sample("describe-cluster-event.capacity.response")
    raw["EventDetails"]["EventTime"] = datetime.fromtimestamp(raw["EventDetails"]["EventTime"], UTC)
    stub.add_response("describe_cluster_event", raw, {"ClusterName": NAME, "EventId": ANY})
    event = reader(client).event(NAME, raw["EventDetails"]["EventId"])
    assert "sufficient capacity" in event.failure
    assert event.logical_id == "df268d19-f035-4f28-9b80-b956b92ae21e"
    assert event.at == datetime.fromtimestamp(1790960000, UTC)
    assert event.level == "Error"


@pytest.mark.parametrize(
    ("metadata", "failure"),
    [
        ({"Cluster": {"FailureMessage": "cluster"}}, "cluster"),
        ({"InstanceGroup": {"FailureMessage": "group"}}, "group"),
        ({"InstanceGroupScaling": {"FailureMessage": "scaling"}}, "scaling"),
        ({"DatabaseConfiguration": {"FailureMessage": "database"}}, "database"),
        ({"Cluster": None, "Instance": None, "InstanceGroup": {"FailureMessage": None}}, ""),
        ({"Instance": {"FailureMessage": ""}, "Cluster": {"FailureMessage": "later"}}, "later"),
    ],
)
def test_every_subtree_is_searched(metadata: dict[str, Any], failure: str) -> None:
    from roundhouse.aws.cluster_events import parse

    raw = detail(summary(1, "failed", "Error"), **metadata)["EventDetails"]
    assert parse(raw).failure == failure


def test_a_legacy_cluster_has_no_events_and_says_so(sagemaker: Any) -> None:
    client, stub = sagemaker
    stub.add_client_error("list_cluster_events", "ValidationException", "not supported")
    with pytest.raises(InvalidRequest):
        reader(client).events(NAME, NOW)


def test_metadata_of_nulls_only_leaves_the_summary(sagemaker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore refuses to parse a union without a member: that must not look like a lost answer for ever."""
    client, stub = sagemaker
    stub.add_response("list_cluster_events", {"Events": [summary(1, MISSED, "Warn")]}, EVENTS)
    body = b'{"EventDetails": {"EventDetails": {"EventMetadata": {"Cluster": null, "Instance": null}}}}'

    def nulls(request: Any, **_: Any) -> AWSResponse:
        return AWSResponse(request.url, 200, {}, _Body(body))  # type: ignore[arg-type]

    subject = reader(client)
    stub.add_response("list_cluster_events", {"Events": [summary(1, MISSED, "Warn")]}, EVENTS)
    # The stub answers before the wire; only this operation is to come from there.
    unstubbed = boto3.client("sagemaker", region_name="us-west-2")
    unstubbed.meta.events.register("before-send.sagemaker.DescribeClusterEvent", nulls)
    monkeypatch.setattr(client, "describe_cluster_event", unstubbed.describe_cluster_event)
    for _ in range(2):
        (event,) = subject.events(NAME, NOW)
        assert (event.level, event.description) == ("Warn", MISSED)
    with pytest.raises(NotFound):
        subject.event(NAME, "00000000-0000-4000-8000-000000000002")


def test_an_unknown_event(sagemaker: Any) -> None:
    client, stub = sagemaker
    stub.add_response("describe_cluster_event", {})
    with pytest.raises(NotFound, match="tells nothing"):
        reader(client).event(NAME, "d906a77c-0000-4000-8000-000000000009")


def test_legacy_cluster_tells_its_mode_its_failure_and_its_groups_settings(sagemaker: Any) -> None:
    client, stub = sagemaker
    settings = {
        "InstanceGroupName": "workers",
        "InstanceType": "ml.g6.48xlarge",
        "ExecutionRole": "arn:aws:iam::111122223333:role/r",
        "LifeCycleConfig": {"SourceS3Uri": "s3://sagemaker-x/base/", "OnCreate": "on_create.sh"},
        "ThreadsPerCore": 1,
        "CapacityRequirements": {"OnDemand": {}},
    }
    described = {
        "ClusterArn": "arn:aws:sagemaker:us-west-2:111122223333:cluster/a1b2c3d4e5f6",
        "ClusterName": "train",
        "ClusterStatus": "InService",
        "FailureMessage": "We currently do not have sufficient capacity",
        "InstanceGroups": [{**settings, "CurrentCount": 3, "TargetCount": 4, "Status": "InService"}],
    }
    stub.add_response("describe_cluster", described)
    stub.add_response("list_cluster_nodes", {"NextToken": "", "ClusterNodeSummaries": []})
    cluster = HyperpodReader(client, FakeClock(NOW)).cluster("train")
    assert not cluster.continuous
    assert cluster.failure == "We currently do not have sufficient capacity"
    assert cluster.groups["workers"].settings == settings
    assert (cluster.groups["workers"].current, cluster.groups["workers"].target) == (3, 4)


def test_every_setting_that_is_read_can_be_sent_again(sagemaker: Any) -> None:
    """By the service model: whatever DescribeCluster tells of a group fits into an UpdateCluster request."""
    client, _ = sagemaker
    model = client.meta.service_model
    told = model.shape_for("ClusterInstanceGroupDetails").members
    asked = model.shape_for("ClusterInstanceGroupSpecification").members
    counts_and_images = {"InstanceCount", "MinInstanceCount", "ImageId", "ImageReleaseVersion"}
    elsewhere = {"InstanceRequirements", "KubernetesConfig"}  # groups that Roundhouse does not make
    assert set(SETTINGS) == set(asked) - counts_and_images - elsewhere
    for member in SETTINGS:
        inner = set(getattr(told[member], "members", ())) - {"CurrentPatchSchedule", "DesiredPatchSchedule"}
        assert inner <= set(getattr(asked[member], "members", ())), member
