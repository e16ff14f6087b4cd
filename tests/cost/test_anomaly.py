"""Cost anomalies: cases 401, 402 and 404, and what else may come the same ways."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.cost.anomaly import Anomaly, Cause, read
from roundhouse.errors import MalformedEvent
from tests.cases.reading import case

EVENT: dict[str, Any] = case(401, "event.json")


def one(payload: object) -> Anomaly:
    [anomaly] = read(payload)
    return anomaly


def changed(**detail: Any) -> dict[str, Any]:
    """The recorded event with other members; None takes one away."""
    merged = {key: value for key, value in (EVENT["detail"] | detail).items() if value is not None}
    return EVENT | {"detail": merged}


# Case 401 --------------------------------------------------------------------------------------------------------
def test_every_root_cause_is_a_row_and_the_rest_is_said() -> None:
    anomaly = one(EVENT)
    assert {
        "rows": len(anomaly.causes),
        "sum_contributions": anomaly.explained,
        "total_impact": anomaly.total_impact,
        "remainder": anomaly.remainder,
        "linked_accounts": list(anomaly.linked_accounts),
    } == case(401, "expected.json")
    assert [(c.account, c.region, c.contribution) for c in anomaly.causes] == [
        ("111122223333", "us-west-2", 601),
        ("111122223333", "us-west-2", 250),
        ("444455556666", "eu-west-1", 100),
    ]
    assert (anomaly.percent, anomaly.is_new_spend, anomaly.dimension) == (333.67, False, "Amazon SageMaker")
    assert (anomaly.max_impact, anomaly.actual, anomaly.expected) == (151, 1301, 300)
    assert anomaly.started is not None
    assert anomaly.started.isoformat() == "2026-05-24T00:00:00+00:00"


def test_the_owner_is_who_spent_and_never_who_pays() -> None:
    spender = EVENT["detail"]["rootCauses"][2]
    anomaly = one(changed(rootCauses=[spender]))
    assert (anomaly.payer, anomaly.owner) == ("111122223333", "444455556666")
    nobody = one(changed(rootCauses=[{"service": "Amazon SageMaker"}]))
    assert (nobody.payer, nobody.owner, nobody.linked_accounts) == ("111122223333", None, ())


def test_the_costliest_account_comes_first_whatever_the_order() -> None:
    small, large = {"linkedAccount": "111122223333"}, {"linkedAccount": "444455556666"}
    rows = [
        small | {"impact": {"contribution": 40}},
        large | {"impact": {"contribution": 30}},
        {"impact": {"contribution": 500}},
        large | {"impact": {"contribution": 20}},
    ]
    anomaly = one(changed(rootCauses=rows))
    assert anomaly.linked_accounts == ("444455556666", "111122223333")
    assert [(account, len(causes)) for account, causes in anomaly.by_account.items()] == [
        (None, 1),
        ("444455556666", 2),
        ("111122223333", 1),
    ]


CENTS = st.integers(0, 10**9)


@given(st.lists(CENTS, max_size=12), CENTS)
def test_rows_and_remainder_are_the_total_to_the_cent(parts: list[int], rest: int) -> None:
    rows = [{"service": "s", "impact": {"contribution": cents / 100}} for cents in parts]
    total = (sum(parts) + rest) / 100
    anomaly = one(changed(rootCauses=rows, impact={"maxImpact": 1, "totalImpact": total}))
    assert len(anomaly.causes) == len(parts)
    assert anomaly.remainder == pytest.approx(rest / 100, abs=0.011)
    assert sum(len(causes) for causes in anomaly.by_account.values()) == len(parts)


def test_rows_that_say_more_than_the_total_are_not_hidden() -> None:
    assert one(changed(impact={"maxImpact": 151, "totalImpact": 900})).remainder == -51


# Case 402 --------------------------------------------------------------------------------------------------------
def test_a_response_with_everything_optional_missing() -> None:
    anomalies = {a.anomaly_id: a for a in read(case(402, "response.json"))}
    assert {
        "parsed": len(anomalies),
        "percent": {name: a.percent for name, a in anomalies.items()},
        "causes": {name: len(a.causes) for name, a in anomalies.items()},
    } == case(402, "expected.json")
    assert {name: a.total_impact for name, a in anomalies.items()} == {"a-1": 12.5, "a-2": 80, "a-3": 5}
    assert {name: a.is_new_spend for name, a in anomalies.items()} == {"a-1": False, "a-2": True, "a-3": False}
    assert anomalies["a-2"].dimension is None
    assert anomalies["a-3"].causes == (Cause(None, None, "Amazon SageMaker", None),)
    assert {a.owner for a in anomalies.values()} == {None}
    assert {a.monitor_arn for a in anomalies.values()} == {"arn:aws:ce::111122223333:anomalymonitor/m1"}


@pytest.mark.parametrize(
    ("impact", "percent"),
    [
        ({"totalActualSpend": 80, "totalExpectedSpend": 0, "totalImpactPercentage": 0}, None),
        ({"totalActualSpend": 80, "totalExpectedSpend": 0, "totalImpactPercentage": float("inf")}, None),
        ({"totalActualSpend": 80, "totalExpectedSpend": 0.0, "totalImpactPercentage": 1e12}, None),
        ({"totalActualSpend": 80, "totalExpectedSpend": 40, "totalImpactPercentage": float("nan")}, 100.0),
        ({"totalActualSpend": 80, "totalExpectedSpend": 40}, 100.0),
        ({"totalActualSpend": 10, "totalExpectedSpend": 40}, -75.0),
        ({"totalActualSpend": 1e308, "totalExpectedSpend": 1e-308}, None),
        ({"totalExpectedSpend": 40}, None),
        ({"totalImpactPercentage": 0}, 0.0),
        ({"totalImpactPercentage": "12"}, None),
    ],
)
def test_a_percentage_is_of_something_or_there_is_none(impact: dict[str, Any], percent: float | None) -> None:
    assert one(changed(impact={"maxImpact": 80} | impact)).percent == percent


@pytest.mark.parametrize("causes", [None, [], [{}], [{"impact": {}}], [{"service": ""}], ["x", 7, None], "text", {}])
def test_causes_that_say_nothing_are_none(causes: Any) -> None:
    anomaly = one(changed(rootCauses=causes))
    assert (anomaly.causes, anomaly.remainder, anomaly.owner) == ((), 1001, None)


@pytest.mark.parametrize(
    ("impact", "total"),
    [({"maxImpact": 7}, 7), ({"maxImpact": 7, "totalImpact": 0}, 0), ({"totalImpact": 9}, 9), ({"maxImpact": 0}, 0)],
)
def test_the_total_is_the_largest_days_only_where_none_is_given(impact: dict[str, Any], total: float) -> None:
    assert one(changed(impact=impact)).total_impact == total


# Case 404 --------------------------------------------------------------------------------------------------------
def test_the_same_anomaly_through_sns_and_through_sqs() -> None:
    read_ones = {name: read(case(404, f"{file}.json")) for name, file in (("a", "a"), ("b", "b-sqs"), ("c", "c"))}
    assert {name: {"total": found[0].total_impact} if found else None for name, found in read_ones.items()} == case(
        404, "expected.json"
    )
    assert read_ones["a"] == read_ones["b"]
    [anomaly] = read_ones["a"]
    # The older form: `dimensionalValue`, and causes without amounts, so that all of it is unexplained.
    assert anomaly.dimension == "Amazon SageMaker"
    assert (len(anomaly.causes), anomaly.causes[0].contribution, anomaly.remainder) == (1, None, 1001)
    assert anomaly.owner == "111122223333"


SNS = case(404, "a.json")["Records"][0]["Sns"]
BRIDGED = EVENT | {"detail": json.loads(SNS["Message"])}
WRAPPINGS = {
    "the message": json.loads(SNS["Message"]),
    "its text": SNS["Message"],
    "raw delivery": {"Records": [{"eventSource": "aws:sqs", "body": SNS["Message"]}]},
    "through a queue": {"Records": [{"eventSource": "aws:sqs", "body": json.dumps(SNS)}]},
    "encoded once more": {"Records": [{"body": json.dumps(json.dumps(SNS))}]},
    "by EventBridge": BRIDGED,
    "by EventBridge and a queue": {"Records": [{"body": json.dumps(BRIDGED)}]},
    "by EventBridge and a topic": SNS | {"Message": json.dumps(BRIDGED)},
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_however_it_is_wrapped(wrapping: str) -> None:
    assert read(WRAPPINGS[wrapping]) == read(case(404, "a.json"))


@pytest.mark.parametrize(
    "text",
    [
        "This is a test notification",
        "[TEST] cost alerts",
        '"quoted" words',
        "",
        "{}",
        "null",
        "17",
        '["a"]',
        '{"Type": "SubscriptionConfirmation", "Message": "You have chosen to subscribe", "SubscribeURL": "x"}',
        '{"budgetName": "gpu", "threshold": 80}',
        '{"source": "aws.health", "detail-type": "AWS Health Event", "detail": {"impact": {"maxImpact": 1}}}',
        '{"source": "custom", "detail-type": "Anomaly Detected", "detail": {"anomalyId": "x", "impact": {}}}',
    ],
)
def test_what_is_no_anomaly_is_ignored(text: str) -> None:
    assert read({"Records": [{"EventSource": "aws:sns", "Sns": SNS | {"Message": text}}]}) == ()
    assert read({"Records": [{"eventSource": "aws:sqs", "body": text}]}) == ()


@pytest.mark.parametrize("payload", [{"Records": []}, {"Anomalies": []}, {}, None, 7, [], "", True])
def test_nothing_is_no_anomaly(payload: object) -> None:
    assert read(payload) == ()


@pytest.mark.parametrize(
    ("payload", "where"),
    [
        (changed(anomalyId=None), "anomalyId"),
        (changed(impact=None), "impact: expected an object"),
        (changed(impact={}), "neither maxImpact nor totalImpact"),
        (changed(impact={"maxImpact": "7"}), "neither maxImpact nor totalImpact"),
        (changed(impact={"maxImpact": True}), "neither maxImpact nor totalImpact"),
        (changed(impact={"maxImpact": float("inf")}), "neither maxImpact nor totalImpact"),
        (changed(impact={"maxImpact": 10**400}), "neither maxImpact nor totalImpact"),
        (changed(anomalyStartDate="yesterday"), "anomalyStartDate"),
        (SNS["Message"][:200], "does not end"),
        (json.dumps(SNS["Message"])[:200], "does not end"),
    ],
)
def test_a_broken_anomaly_says_where(payload: object, where: str) -> None:
    with pytest.raises(MalformedEvent, match=where):
        read(payload)


def test_one_wrapped_without_end_is_refused() -> None:
    text = SNS["Message"]
    for _ in range(9):
        text = json.dumps({"Message": text})
    with pytest.raises(MalformedEvent, match="too deeply"):
        read(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from([*EVENT["detail"], "dimensionalValue"]), JSON)
def test_any_member_may_be_anything(key: str, value: object) -> None:
    """Whatever stands in a member: an anomaly with finite amounts, or MalformedEvent; never a crash."""
    try:
        found = read(EVENT | {"detail": EVENT["detail"] | {key: value}})
    except MalformedEvent:
        return
    assert all(abs(a.remainder) < float("inf") for a in found)
