"""The guard before a deletion: case 417, and every other way to delete the wrong thing or nothing at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.build.teardown import Found, Surroundings, TeardownPlan, TeardownVerdict, check_teardown
from tests.cases.reading import case

ARN = "arn:aws:sagemaker:us-west-2:111122223333:cluster/abcd1234efgh"
NODE_ARN = "arn:aws:ec2:us-west-2:111122223333:network-interface/eni-0aaa"
PLAN = TeardownPlan("111122223333", "us-west-2", {"train-a": ARN}, {"env": "dev"})
THERE = Surroundings("111122223333", {"the client": "us-west-2"}, {"train-a": Found(ARN, {"env": "dev", "more": "x"})})
V = TeardownVerdict


# Case 417 --------------------------------------------------------------------------------------------------------
def recorded(name: str) -> tuple[TeardownPlan, Surroundings]:
    told = case(417, "plan.json")
    plan = TeardownPlan(told["account"], told["region"], {told["stack"]: told["stack_id"]})
    there = Surroundings(told["account"], {"the client": told["region"]}, {told["stack"]: Found(told["stack_id"])})
    if name == "a":
        regions = dict(line.split("=") for line in case(417, "a.env").splitlines())
        return plan, replace(there, regions=regions)
    described = case(417, f"{name}.json")["describe"]
    found = None
    if isinstance(described, dict):
        found = Found(described["StackId"], {tag["Key"]: tag["Value"] for tag in described["Tags"]})
    return plan, replace(there, found={told["stack"]: found})


@pytest.mark.parametrize("name", case(417, "expected.json"))
def test_recorded_deletions(name: str) -> None:
    checked = check_teardown(*recorded(name))
    assert checked.verdict == case(417, "expected.json")[name]
    assert checked.reasons


def test_reasons_name_place_and_id() -> None:
    [why] = check_teardown(*recorded("a")).reasons
    assert "AWS_REGION says us-east-1" in why  # and AWS_DEFAULT_REGION, which agrees, is no excuse
    [why] = check_teardown(*recorded("b")).reasons
    assert "us-west-2" in why
    assert "elsewhere" in why
    [why] = check_teardown(*recorded("c")).reasons
    assert "id-2" in why
    assert "id-1" in why


# Its kind --------------------------------------------------------------------------------------------------------
def test_what_is_certain_proceeds() -> None:
    checked = check_teardown(PLAN, THERE)
    assert (checked.verdict, checked.reasons) == (V.PROCEED, ())


@pytest.mark.parametrize(
    ("plan", "there", "words"),
    [
        ({}, {"account": "444455556666"}, "credentials are for account 444455556666"),
        ({}, {"account": None}, "STS did not say"),
        ({}, {"regions": {}}, "give it explicitly"),
        ({}, {"regions": {"the client": "us-west-2", "the profile": "eu-west-1"}}, "the profile says eu-west-1"),
        ({}, {"regions": {"the client": ""}}, "says nothing"),
        ({}, {"regions": {"AWS_REGION": "us-west-2 "}}, "AWS_REGION says"),
        ({}, {"regions": {"AWS_REGION": "us-west-2", "AWS_DEFAULT_REGION": "us-west-1"}}, "AWS_DEFAULT_REGION"),
        ({"region": ""}, {}, "plans state their region"),
        ({"region": "us-west-2a"}, {}, "plans state their region"),
        ({"account": ""}, {}, "not 12 digits"),
        ({"account": "dev"}, {"account": "dev"}, "not 12 digits"),
        ({"targets": {}}, {}, "names nothing"),
        ({"targets": {"train-a": "train-a"}}, {}, "full ARN"),
        ({"targets": {"train-a": "arn:aws:sagemaker:us-west-2:111122223333:cluster/*"}}, {}, "full ARN"),
        ({"targets": {"train-a": ARN.replace("us-west-2", "us-east-1")}}, {}, "not in us-west-2"),
        ({"targets": {"train-a": ARN.replace("1111", "9999")}}, {}, "of account"),
        ({}, {"found": {}}, "could not be read"),
        ({}, {"found": {"train-a": Found(ARN + "2", {"env": "dev"})}}, "efgh2 stands there"),  # created anew since
        ({}, {"found": {"train-a": Found(ARN.replace("west", "east"), {"env": "dev"})}}, "stands there"),
        ({}, {"found": {"train-a": Found(ARN, {"env": "prod"})}}, "tag env is 'prod'"),
        ({}, {"found": {"train-a": Found(ARN)}}, "tag env is None"),
    ],
)
def test_one_doubt_refuses(plan: dict[str, Any], there: dict[str, Any], words: str) -> None:
    checked = check_teardown(replace(PLAN, **plan), replace(THERE, **there))
    assert checked.verdict is V.REFUSE
    assert any(words in why for why in checked.reasons)


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:fsx:us-west-2:111122223333:file-system/fs-0aaa",
        "arn:aws:elasticfilesystem:us-west-2:111122223333:file-system/fs-0aaa",
        "arn:aws:dynamodb:us-west-2:111122223333:table/roundhouse-dev-ledger",
        "arn:aws:ec2:us-west-2:111122223333:volume/vol-0aaa",
        "arn:aws:ec2:us-west-2:111122223333:snapshot/snap-0aaa",
        "arn:aws:s3:::checkpoints",
    ],
)
def test_storage_is_never_in_the_path(arn: str) -> None:
    plan = replace(PLAN, targets={"x": arn}, tags={})
    assert check_teardown(plan, replace(THERE, found={"x": Found(arn)})).verdict is V.REFUSE


def test_a_global_thing_has_no_region_and_an_account() -> None:
    role = "arn:aws:iam::111122223333:role/roundhouse-dev"
    plan = replace(PLAN, targets={"role": role}, tags={})
    assert check_teardown(plan, replace(THERE, found={"role": Found(role)})).verdict is V.PROCEED
    theirs = replace(plan, targets={"role": role.replace("1111", "9999")})
    assert check_teardown(theirs, replace(THERE, found={"role": None})).verdict is V.REFUSE


def test_all_reasons_at_once_and_a_doubt_outweighs_an_absence() -> None:
    both = replace(PLAN, targets={"train-a": ARN, "eni": NODE_ARN}, tags={})
    found = {"train-a": Found(ARN), "eni": None}
    half = check_teardown(both, replace(THERE, found=found))
    assert (half.verdict, len(half.reasons)) == (V.NOT_FOUND, 1)
    assert half.reasons[0].startswith("eni:")
    gone = check_teardown(both, replace(THERE, found=dict.fromkeys(found)))
    assert (gone.verdict, len(gone.reasons)) == (V.NOT_FOUND, 2)
    doubts = check_teardown(both, Surroundings(None, {}, {"eni": None}))
    assert (doubts.verdict, len(doubts.reasons)) == (V.REFUSE, 3)


PLACES = ["us-west-2", "us-east-1", ""]


@given(
    st.sampled_from(["111122223333", "444455556666", None]),
    st.dictionaries(st.sampled_from(["flag", "AWS_REGION", "AWS_DEFAULT_REGION", "profile"]), st.sampled_from(PLACES)),
    st.sampled_from([ARN, ARN + "2", None]),
    st.dictionaries(st.sampled_from(["env", "team"]), st.sampled_from(["dev", "prod"])),
)
def test_nothing_proceeds_unless_all_agree(
    account: str | None, regions: dict[str, str], arn: str | None, tags: dict[str, str]
) -> None:
    found = None if arn is None else Found(arn, tags)
    checked = check_teardown(PLAN, Surroundings(account, regions, {"train-a": found}))
    place_is_sure = account == PLAN.account and set(regions.values()) == {PLAN.region}
    wanted = V.REFUSE
    if place_is_sure and arn is None:
        wanted = V.NOT_FOUND
    elif place_is_sure and arn == ARN and tags.get("env") == "dev":
        wanted = V.PROCEED
    assert checked.verdict is wanted
    assert bool(checked.reasons) is (wanted is not V.PROCEED)
