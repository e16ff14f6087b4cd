"""CloudTrail's word of calls: whose they are, which nodes they name, and which are no act at all."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from roundhouse.contracts import names
from roundhouse.errors import MalformedEvent
from roundhouse.line.event import Health, Source
from roundhouse.triage import cloudtrail, signals

NOW = datetime(2026, 10, 2, 17, 0, tzinfo=UTC)
KIM = "arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_Admin_0123456789abcdef/kim@example.com"
OURS = "arn:aws:sts::111122223333:assumed-role/Roundhouse-prod-Workflows-ActRole1A2B/roundhouse-prod-act-on-node"
PREFIX = "roundhouse-prod-"


def envelope(name: str = "BatchReplaceClusterNodes", arn: str = KIM, **changes: Any) -> dict[str, Any]:
    detail: dict[str, Any] = {
        "eventVersion": "1.11",
        "userIdentity": {"type": "AssumedRole", "arn": arn},
        "eventTime": "2026-10-02T16:53:20Z",
        "eventSource": "sagemaker.amazonaws.com",
        "eventName": name,
        "requestParameters": {
            "clusterName": "train",
            "nodeIds": ["i-0aa", "i-0bb", "i-0aa"],
            "nodeLogicalIds": ["n-1"],
        },
        "responseElements": None,
        "eventID": "0f0f0f0f-0000-4000-8000-000000000001",
        "readOnly": False,
    }
    return {"detail-type": names.API_CALL, "source": "aws.sagemaker", "detail": detail | changes}


def test_one_event_for_each_node_with_who_and_what() -> None:
    found = cloudtrail.read(envelope(), NOW)
    assert [(e.instance_id, e.logical_id) for e in found] == [("i-0aa", None), ("i-0bb", None), (None, "n-1")]
    assert len({e.event_id for e in found}) == 3
    first = found[0]
    assert (first.source, first.health, first.proposed_action) == (Source.CLOUDTRAIL, Health.INFO, "replace")
    assert first.actor.startswith("kim@example.com (")
    assert first.source_time == datetime(2026, 10, 2, 16, 53, 20, tzinfo=UTC)
    assert first.repair_begun is False  # a call of somebody is no promise of HyperPod's


def test_calls_on_the_whole_cluster_are_one_event() -> None:
    for name, kind in (("DeleteCluster", "delete"), ("UpdateClusterSoftware", "update"), ("UpdateCluster", None)):
        [event] = cloudtrail.read(envelope(name, requestParameters={"clusterName": "train"}), NOW)
        assert (event.instance_id, event.proposed_action, event.code) == (None, kind, name)


def test_nodes_that_were_refused_are_left_out() -> None:
    answer = {"successful": ["i-0aa"], "failed": [{"nodeId": "i-0bb", "errorCode": "InstanceIdInUse", "message": "x"}]}
    found = cloudtrail.read(envelope(responseElements=answer), NOW)
    assert "i-0bb" not in {e.instance_id for e in found}


def test_instances_of_a_health_check_are_found_where_they_stand() -> None:
    asked = {
        "clusterName": "train",
        "deepHealthCheckConfigurations": [{"instanceGroupName": "workers", "instanceIds": ["i-0cc"]}],
    }
    [event] = cloudtrail.read(envelope("StartClusterHealthCheck", requestParameters=asked), NOW)
    assert (event.instance_id, event.proposed_action) == ("i-0cc", "check")


@pytest.mark.parametrize(
    "changes",
    [
        {"errorCode": "ThrottlingException"},
        {"eventSource": "ec2.amazonaws.com"},
        {"name": "DescribeCluster"},
        {"userIdentity": {"type": "AWSService", "invokedBy": "sagemaker.amazonaws.com"}},
        {"arn": "arn:aws:sts::111122223333:assumed-role/AWSServiceRoleForAmazonSageMakerHyperPod/abc"},
        {"arn": OURS},
    ],
)
def test_what_is_no_act_of_somebody_else(changes: dict[str, Any]) -> None:
    assert cloudtrail.read(envelope(**changes), NOW, PREFIX) == ()


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:sts::111122223333:assumed-role/Admin/roundhouse-prod-act-on-node",  # a session may be called anything
        "arn:aws:sts::111122223333:assumed-role/Roundhouse-prod-Workflows-ActRole1A2B/kim",
        OURS.replace("prod", "test"),  # another deployment is another remediator
    ],
)
def test_a_borrowed_name_is_somebody_else(arn: str) -> None:
    assert len(cloudtrail.read(envelope(arn=arn), NOW, PREFIX)) == 3


def test_names_are_made_harmless_and_short() -> None:
    assert cloudtrail.who({"type": "Root", "arn": "arn:aws:iam::111122223333:root"}) == "the root user"
    assert cloudtrail.who({"type": "IAMUser", "arn": "arn:aws:iam::111122223333:user/kim"}) == "kim"
    strange = cloudtrail.who({"arn": "arn:aws:sts::111122223333:assumed-role/R/<!channel>*" + "x" * 500})
    assert len(strange) <= 80
    assert "<" not in strange


@pytest.mark.parametrize("missing", ["eventID", "eventTime", "userIdentity", "requestParameters"])
def test_a_record_that_lacks_what_was_promised_is_refused(missing: str) -> None:
    told = envelope()
    told["detail"][missing] = None
    with pytest.raises(MalformedEvent, match=missing):
        cloudtrail.read(told, NOW)


def test_only_aws_may_tell_of_calls() -> None:
    forged = envelope() | {"source": "com.example.forger"}
    assert signals.read(forged, NOW).events == ()
    assert len(signals.read(envelope(), NOW).events) == 3


def test_the_calls_that_are_read_are_those_that_the_rule_lets_through() -> None:
    assert set(cloudtrail.CALLS) == set(names.WATCHED_CALLS)
