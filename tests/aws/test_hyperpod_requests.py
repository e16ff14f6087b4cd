"""CreateCluster's request, held against the service model and against a documented one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.aws.hyperpod_requests import create_cluster
from roundhouse.build.spec import ClusterSpec, Discount, DiscountKind
from roundhouse.errors import BadInput
from tests.aws.conftest import sample
from tests.aws.samples import PLAN, WORKERS, group, spec

MODEL = botocore.session.get_session().get_service_model("sagemaker")
SHAPE: Any = MODEL.operation_model("CreateCluster").input_shape
MOUNT = ("fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com", "abcdefgh", "/fsx")


def assert_valid(request: dict[str, Any]) -> None:
    report = ParamValidator().validate(request, SHAPE)
    assert not report.has_errors(), report.generate_report()


def test_the_documented_first_call() -> None:
    request = create_cluster(spec(file_system_mounts=(MOUNT,)), {"controller": 1, "workers": 10})
    assert_valid(request)
    documented = sample("create-cluster.staged-first-call.request")
    for built, told in zip(request["InstanceGroups"], documented["InstanceGroups"], strict=True):
        assert built.pop("ThreadsPerCore") == 1
        assert built.pop("InstanceStorageConfigs") == documented["InstanceGroups"][1]["InstanceStorageConfigs"]
        told.pop("InstanceStorageConfigs", None)
    assert request == documented


def test_the_discount_is_in_the_first_call() -> None:
    workers = create_cluster(spec(), {"workers": 10})["InstanceGroups"][1]
    assert workers["TrainingPlanArn"] == PLAN
    assert workers["OverrideVpcConfig"]["Subnets"] == ["subnet-0123456789abcdef0"]


@pytest.mark.parametrize(
    ("kind", "pinned", "plan"),
    [
        (DiscountKind.NONE, False, False),
        (DiscountKind.TRAINING_PLAN, True, True),
        (DiscountKind.ACCOUNT_RESERVATION, True, False),
    ],
)
def test_every_discounted_group_is_pinned_to_its_zone(kind: DiscountKind, pinned: bool, plan: bool) -> None:
    workers = replace(WORKERS, discount=Discount(kind, "usw2-az2", PLAN if plan else None))
    request = create_cluster(spec(groups=(group("controller", "Controller"), workers)), {})
    assert ("OverrideVpcConfig" in request["InstanceGroups"][1]) is pinned
    assert ("TrainingPlanArn" in request["InstanceGroups"][1]) is plan


def test_a_minimum_is_set_for_workers_alone() -> None:
    groups = create_cluster(spec(), {"controller": 1})["InstanceGroups"]
    assert "MinInstanceCount" not in groups[0]
    assert (groups[1]["InstanceCount"], groups[1]["MinInstanceCount"]) == (0, 0)


def test_a_legacy_cluster_has_neither_mode_nor_minimum() -> None:
    request = create_cluster(spec(provisioning_mode="legacy"), {"controller": 1, "workers": 16})
    assert_valid(request)
    assert "NodeProvisioningMode" not in request
    assert all("MinInstanceCount" not in each for each in request["InstanceGroups"])


def test_a_partition_is_for_workers() -> None:
    login = group("login", "Login", partition="gpu")
    request = create_cluster(spec(groups=(group("controller", "Controller"), login, WORKERS)), {})
    assert [each["SlurmConfig"] for each in request["InstanceGroups"]] == [
        {"NodeType": "Controller"},
        {"NodeType": "Login"},
        {"NodeType": "Compute", "PartitionNames": ["gpu"]},
    ]


@pytest.mark.parametrize(
    ("counts", "named"), [({"wrokers": 1}, "wrokers"), ({"workers": -1}, "workers")], ids=["unknown", "negative"]
)
def test_counts_that_do_not_fit_are_refused(counts: dict[str, int], named: str) -> None:
    with pytest.raises(BadInput, match=named):
        create_cluster(spec(), counts)


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,20}", fullmatch=True)


@st.composite
def specs(draw: st.DrawFn) -> ClusterSpec:
    names = draw(st.lists(NAMES, min_size=2, max_size=6, unique=True))
    discounts = st.sampled_from(
        [
            Discount(DiscountKind.NONE),
            Discount(DiscountKind.TRAINING_PLAN, "usw2-az2", PLAN),
            Discount(DiscountKind.ACCOUNT_RESERVATION, "usw2-az2"),
        ]
    )
    workers = tuple(
        replace(
            WORKERS,
            name=name,
            discount=draw(discounts),
            ebs_gib=draw(st.none() | st.integers(1, 16384)),
            threads_per_core=draw(st.integers(1, 2)),
            partition=draw(st.none() | NAMES),
        )
        for name in names[1:]
    )
    return spec(
        cluster=draw(NAMES),
        groups=(group(names[0], "Controller"), *workers),
        provisioning_mode=draw(st.sampled_from(["continuous", "legacy"])),
        node_recovery=draw(st.sampled_from(["Automatic", "None"])),
        file_system_mounts=draw(st.sampled_from([(), (MOUNT,)])),
        tags=tuple(draw(st.dictionaries(NAMES, NAMES, max_size=5)).items()),
    )


@settings(max_examples=60, deadline=None)
@given(specs(), st.data())
def test_any_specification_makes_a_request_that_the_model_takes(cluster: ClusterSpec, data: st.DataObject) -> None:
    counts = {each.name: data.draw(st.integers(0, 6758)) for each in cluster.groups}
    request = create_cluster(cluster, counts)
    assert_valid(request)
    assert {g["InstanceGroupName"]: g["InstanceCount"] for g in request["InstanceGroups"]} == counts
    assert set(request) <= set(SHAPE.members)
