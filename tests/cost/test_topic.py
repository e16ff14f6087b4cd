"""The setup check of case 404: a topic that cost alerts may not publish to stays silent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roundhouse.cost.topic import publish_problem
from tests.cases.reading import case

TOPIC = case(404, "a.json")["Records"][0]["Sns"]["TopicArn"]
ALLOW = {
    "Effect": "Allow",
    "Principal": {"Service": "costalerts.amazonaws.com"},
    "Action": "SNS:Publish",
    "Resource": TOPIC,
}
OWNER = {
    "Effect": "Allow",
    "Principal": {"AWS": "*"},
    "Action": ["SNS:Publish", "SNS:Subscribe"],
    "Resource": TOPIC,
    "Condition": {"StringEquals": {"AWS:SourceOwner": "111122223333"}},
}


def problem(*statements: Any) -> str | None:
    return publish_problem(json.dumps({"Version": "2012-10-17", "Statement": list(statements)}), TOPIC)


@pytest.mark.parametrize(
    "statement",
    [
        ALLOW,
        ALLOW | {"Action": "sns:*"},
        ALLOW | {"Action": ["sns:Subscribe", "sns:Publish"]},
        ALLOW | {"Resource": ["arn:aws:sns:us-east-1:111122223333:*"]},
        ALLOW | {"Principal": {"Service": ["budgets.amazonaws.com", "costalerts.amazonaws.com"]}},
        ALLOW | {"Condition": {"StringEquals": {"aws:SourceAccount": "111122223333"}}},
        ALLOW | {"Principal": "*"},
    ],
)
def test_topics_that_hear_of_anomalies(statement: dict[str, Any]) -> None:
    assert problem(OWNER, statement) is None
    assert publish_problem({"Statement": statement}, TOPIC) is None


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        ([], "no statement"),
        ([OWNER], "no statement"),  # a topic's default policy
        ([ALLOW | {"Principal": {"Service": "budgets.amazonaws.com"}}], "no statement"),
        ([ALLOW | {"Principal": {"AWS": "costalerts.amazonaws.com"}}], "no statement"),
        ([ALLOW | {"Action": "sns:Subscribe"}], "no statement"),
        ([ALLOW | {"Resource": TOPIC + "-other"}], "no statement"),
        ([ALLOW, ALLOW | {"Effect": "Deny"}], "denies"),
        ([ALLOW | {"Effect": "Deny", "Principal": {"AWS": "*"}}, ALLOW], "denies"),
        ([None, "text"], "no statement"),
    ],
)
def test_topics_that_stay_silent(statements: list[Any], why: str) -> None:
    told = problem(*statements)
    assert told is not None
    assert why in told
    assert TOPIC in told


def test_a_denial_under_a_condition_is_not_evaluated() -> None:
    insecure = ALLOW | {"Effect": "Deny", "Principal": "*", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    assert problem(insecure, ALLOW) is None


@pytest.mark.parametrize("policy", [None, "", "{", "[]", {}, {"Statement": 7}])
def test_without_a_policy_nothing_arrives(policy: Any) -> None:
    assert "costalerts.amazonaws.com" in (publish_problem(policy, TOPIC) or "")
