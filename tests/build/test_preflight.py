"""Every reason not to begin, all at once, and what could not be read is one of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from roundhouse.build.preflight import (
    CLUSTER_QUOTA,
    TOTAL_QUOTA,
    PreflightFacts,
    check,
    plans_needed,
    quotas_needed,
    scripts_needed,
)
from roundhouse.build.problem import listing
from roundhouse.build.rehearsal import Unrehearsed
from roundhouse.build.spec import ClusterSpec, Discount, DiscountKind, RehearsalTerms
from tests.build.samples import BY_ACCOUNT, PLAN, T0, cluster, group, plan, spec

OF = spec(file_system_ids=("fs-0123456789abcdef0",))
SUBNET, FS, SCRIPT = "subnet-0123456789abcdef0", "fs-0123456789abcdef0", "s3://sagemaker-unit/lifecycle/on_create.sh"
GPU_QUOTA = "ml.g6.48xlarge for cluster usage"
QUOTAS: dict[str, float | None] = {
    GPU_QUOTA: 64,
    "ml.m5.2xlarge for cluster usage": 4,
    CLUSTER_QUOTA: 65,
    TOTAL_QUOTA: 100,
}
GOOD = PreflightFacts(
    account_id="111122223333",
    subnet_az_ids={SUBNET: "usw2-az2"},
    file_system_az_ids={FS: "usw2-az2"},
    plans={PLAN: plan(0)},
    quotas=QUOTAS,
    scripts={SCRIPT: True},
)


def test_what_must_be_read() -> None:
    assert quotas_needed(OF) == {
        GPU_QUOTA: 64,
        "ml.m5.2xlarge for cluster usage": 1,
        CLUSTER_QUOTA: 65,
        TOTAL_QUOTA: 65,
    }
    assert scripts_needed(OF) == [SCRIPT]
    assert plans_needed(OF) == [PLAN]
    assert plans_needed(spec(group(discount=BY_ACCOUNT))) == []


def planned(**changes: Any) -> dict[str, Any]:
    return {"plans": {PLAN: plan(**({"in_use": 0} | changes))}}


@pytest.mark.parametrize(
    ("changes", "path", "word"),
    [
        ({"account_id": "444455556666"}, "account", "another account"),
        ({"account_id": None}, "account", "another account"),
        ({"subnet_az_ids": {SUBNET: "usw2-az1"}}, SUBNET, "usw2-az1"),
        ({"subnet_az_ids": {SUBNET: None}}, SUBNET, "no such subnet"),
        ({"subnet_az_ids": {}}, SUBNET, "no such subnet"),
        ({"file_system_az_ids": {FS: "usw2-az3"}}, FS, "usw2-az3"),
        ({"file_system_az_ids": {FS: None}}, FS, "no such file system"),
        ({"plans": {PLAN: None}}, PLAN, "no such training plan"),
        (planned(status="Expired"), PLAN, "no capacity"),
        (planned(status="Pending"), PLAN, "no capacity"),
        (planned(status="Scheduled", starts_at=T0 + timedelta(days=2)), PLAN, "starts at"),
        (planned(status="Scheduled", starts_at=None), PLAN, "unknown time"),
        (planned(ends_at=T0 + timedelta(hours=2)), PLAN, "taken back"),
        (planned(az_ids=("usw2-az1",)), PLAN, "run on demand"),
        (planned(az_ids=()), PLAN, "no AZ"),
        (planned(instance_type="ml.p5.48xlarge"), PLAN, "the groups want"),
        (planned(total=32), PLAN, "has 32 instances"),
        (planned(available=38), PLAN, "only 38"),
        (planned(targets=("training-job",)), PLAN, "not for hyperpod-cluster"),
        ({"quotas": QUOTAS | {GPU_QUOTA: 63}}, f"quota {GPU_QUOTA}", "needs 64"),
        ({"quotas": QUOTAS | {CLUSTER_QUOTA: 20}}, f"quota {CLUSTER_QUOTA}", "needs 65"),
        ({"quotas": {k: v for k, v in QUOTAS.items() if k != TOTAL_QUOTA}}, f"quota {TOTAL_QUOTA}", "no such quota"),
        ({"scripts": {SCRIPT: False}}, SCRIPT, "not there"),
        ({"scripts": {}}, SCRIPT, "not there"),
        ({"cluster": cluster(OF, {"workers": 39})}, "cluster.name", "did not create it"),
        ({"cluster": cluster(OF, {"workers": 39}, status="Failed"), "ours": True}, "cluster", "Failed"),
        ({"cluster": cluster(OF, {"workers": 70}), "ours": True}, "cluster", "above the contract"),
    ],
)
def test_one_problem(changes: dict[str, Any], path: str, word: str) -> None:
    problems = check(OF, replace(GOOD, **changes), T0)
    assert [p.path for p in problems] == [path], listing("", problems)
    assert word in problems[0].reason
    assert problems[0].remedy


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="all in order"),
        pytest.param(planned(status="Scheduled", starts_at=T0 + timedelta(minutes=30)), id="starts soon"),
        pytest.param(planned(available=39), id="enough for the first stage"),
        pytest.param(
            {"cluster": cluster(OF, {"workers": 39}), "ours": True} | planned(in_use=39, available=25),
            id="ours, goes on",
        ),
    ],
)
def test_no_problem(changes: dict[str, Any]) -> None:
    assert check(OF, replace(GOOD, **changes), T0) == []


def test_a_cluster_of_ours_needs_only_the_rest_of_the_plan() -> None:
    live: dict[str, Any] = {"cluster": cluster(OF, {"workers": 39}), "ours": True}
    problems = check(OF, replace(GOOD, **live, **planned(in_use=45, available=19)), T0)
    assert [p.reason for p in problems] == ["only 19 instances of the plan are free, 25 are wanted"]


def test_a_reservation_of_the_account_team_is_compared_with_the_az() -> None:
    elsewhere = Discount(DiscountKind.ACCOUNT_RESERVATION, "usw2-az1", None, 8.0)
    of: ClusterSpec = spec(group(discount=elsewhere))
    assert [p.path for p in check(of, GOOD, T0)] == ["groups.workers.discount"]


def test_all_problems_at_once_and_the_unread_once() -> None:
    facts = PreflightFacts(
        account_id="444455556666",
        scripts={SCRIPT: False},
        unread={SUBNET: "AccessDenied: ec2:DescribeSubnets", PLAN: "Throttled"},
    )
    problems = check(OF, facts, T0)
    paths = [p.path for p in problems]
    assert len(paths) == len(set(paths))
    assert {"account", SUBNET, FS, PLAN, SCRIPT, *(f"quota {name}" for name in QUOTAS)} == set(paths)
    assert "could not be read: AccessDenied" in listing("no", problems)


# Rehearsals ------------------------------------------------------------------------------------------------------
CAREFUL = spec(file_system_ids=OF.file_system_ids, rehearsal=RehearsalTerms(required=True))
WHY = Unrehearsed("the window closes tonight", "sam")


@pytest.mark.parametrize(
    ("of", "changes", "paths"),
    [
        pytest.param(OF, {}, [], id="not required"),
        pytest.param(CAREFUL, {"unproved": {SCRIPT: None}}, [], id="passed"),
        pytest.param(CAREFUL, {"unproved": {SCRIPT: "never rehearsed"}}, [f"rehearsal of {SCRIPT}"], id="not passed"),
        pytest.param(CAREFUL, {}, [f"rehearsal of {SCRIPT}"], id="nobody looked"),
        pytest.param(CAREFUL, {"unproved": {SCRIPT: "x"}, "unrehearsed": WHY}, [], id="with a reason"),
        pytest.param(CAREFUL, {"unrehearsed": Unrehearsed("hurry", "sam")}, ["unrehearsed"], id="says too little"),
        pytest.param(CAREFUL, {"unrehearsed": Unrehearsed(" " * 20, "sam")}, ["unrehearsed"], id="says nothing"),
        pytest.param(CAREFUL, {"unrehearsed": Unrehearsed("the window closes", "")}, ["unrehearsed"], id="nobody"),
        pytest.param(OF, {"unrehearsed": Unrehearsed("hurry", "sam")}, ["unrehearsed"], id="nor where not required"),
        pytest.param(CAREFUL, {"scripts": {}}, [SCRIPT], id="the script is missing, which is said once"),
        pytest.param(
            CAREFUL, {"unread": {f"rehearsal of {SCRIPT}": "AccessDenied"}}, [f"rehearsal of {SCRIPT}"], id="unread"
        ),
    ],
)
def test_scripts_must_have_been_rehearsed(of: ClusterSpec, changes: dict[str, Any], paths: list[str]) -> None:
    problems = check(of, replace(GOOD, **changes), T0)
    assert [p.path for p in problems] == paths, listing("", problems)
    assert all(p.remedy for p in problems)
