"""Facts about the account: zones, plans, quotas, scripts, the bill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from roundhouse.aws.surroundings import AwsSurroundings
from roundhouse.errors import AccessDenied, BadInput, NotFound, Throttled
from roundhouse.ports import BilledUsage

PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/contract-p5-plan"
NOW = datetime(2026, 10, 2, 12, tzinfo=UTC)


class Stubbed:
    """Clients with stubs, by service."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._made: dict[str, tuple[Any, Stubber]] = {}

    def __call__(self, service: str) -> Any:
        return self._get(service)[0]

    def stub(self, service: str) -> Stubber:
        return self._get(service)[1]

    def _get(self, service: str) -> tuple[Any, Stubber]:
        if service not in self._made:
            client: Any = boto3.client(service, region_name="us-west-2")  # type: ignore[call-overload]
            self._made[service] = client, self._stack.enter_context(Stubber(client))
        return self._made[service]

    def assert_done(self) -> None:
        for _, stub in self._made.values():
            stub.assert_no_pending_responses()


@pytest.fixture
def stubbed() -> Iterator[Stubbed]:
    with ExitStack() as stack:
        services = Stubbed(stack)
        yield services
        services.assert_done()


def around(client: Callable[..., Any]) -> AwsSurroundings:
    return AwsSurroundings(client, region="us-west-2")


def test_account(aws: Callable[..., Any]) -> None:
    assert around(aws).account_id() == "123456789012"  # moto's


def test_zone_of_a_subnet(aws: Callable[..., Any]) -> None:
    vpc = aws("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    made = aws("ec2").create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24", AvailabilityZone="us-west-2b")["Subnet"]
    assert around(aws).subnet_az_id(made["SubnetId"]) == made["AvailabilityZoneId"]
    with pytest.raises(NotFound):
        around(aws).subnet_az_id("subnet-0123456789abcdef0")


def test_zone_of_a_file_system(stubbed: Stubbed) -> None:
    asked = {"FileSystemIds": ["fs-0123456789abcdef0"]}
    file_system = {"FileSystemId": "fs-0123456789abcdef0", "SubnetIds": ["subnet-00000001", "subnet-00000002"]}
    found = {"FileSystems": [file_system]}
    stubbed.stub("fsx").add_response("describe_file_systems", found, asked)
    subnets = {"Subnets": [{"SubnetId": "subnet-00000001", "AvailabilityZoneId": "usw2-az2"}]}
    stubbed.stub("ec2").add_response("describe_subnets", subnets, {"SubnetIds": ["subnet-00000001"]})
    assert around(stubbed).file_system_az_id("fs-0123456789abcdef0") == "usw2-az2"


def test_an_absent_file_system(stubbed: Stubbed) -> None:
    stubbed.stub("fsx").add_client_error("describe_file_systems", "FileSystemNotFound")
    with pytest.raises(NotFound):
        around(stubbed).file_system_az_id("fs-0123456789abcdef0")


def plan_answer(**members: Any) -> dict[str, Any]:
    block = {
        "ReservedCapacityArn": "arn:aws:sagemaker:us-west-2:111122223333:reserved-capacity/one",
        "InstanceType": "ml.p5.48xlarge",
        "TotalInstanceCount": 16,
        "Status": "Active",
        "AvailabilityZoneId": "usw2-az2",
    }
    return {
        "TrainingPlanArn": PLAN,
        "TrainingPlanName": "contract-p5-plan",
        "Status": "Active",
        "StartTime": NOW - timedelta(days=1),
        "EndTime": NOW + timedelta(days=30),
        "TotalInstanceCount": 16,
        "AvailableInstanceCount": 6,
        "InUseInstanceCount": 10,
        "TargetResources": ["hyperpod-cluster"],
        "ReservedCapacitySummaries": [block, dict(block)],
        **members,
    }


def test_a_plan(stubbed: Stubbed) -> None:
    asked = {"TrainingPlanName": "contract-p5-plan"}
    stubbed.stub("sagemaker").add_response("describe_training_plan", plan_answer(), asked)
    plan = around(stubbed).plan(PLAN)
    assert (plan.arn, plan.status, plan.instance_type, plan.az_ids) == (PLAN, "Active", "ml.p5.48xlarge", ("usw2-az2",))
    assert (plan.total, plan.available, plan.in_use, plan.targets) == (16, 6, 10, ("hyperpod-cluster",))
    assert (plan.starts_at, plan.ends_at) == (NOW - timedelta(days=1), NOW + timedelta(days=30))


def test_a_plan_without_times_or_blocks(stubbed: Stubbed) -> None:
    answer = plan_answer(ReservedCapacitySummaries=[])
    del answer["StartTime"], answer["EndTime"]
    stubbed.stub("sagemaker").add_response("describe_training_plan", answer)
    plan = around(stubbed).plan(PLAN)
    assert (plan.starts_at, plan.ends_at, plan.az_ids, plan.instance_type) == (None, None, (), "")


def test_a_plan_of_that_name_in_another_account_is_not_the_plan(stubbed: Stubbed) -> None:
    stubbed.stub("sagemaker").add_response("describe_training_plan", plan_answer())
    with pytest.raises(NotFound, match="111122223333"):
        around(stubbed).plan(PLAN.replace("111122223333", "444455556666"))


def test_quotas_are_read_once_over_all_pages(stubbed: Stubbed) -> None:
    stub = stubbed.stub("service-quotas")
    asked = {"ServiceCode": "sagemaker", "MaxResults": 100}
    first = {"Quotas": [{"QuotaName": "ml.p5.48xlarge for cluster usage", "Value": 20.0}], "NextToken": "n"}
    stub.add_response("list_service_quotas", first, asked)
    last = {"Quotas": [{"QuotaName": "Total number of instances", "Value": 64.0}]}
    stub.add_response("list_service_quotas", last, {**asked, "NextToken": "n"})
    facts = around(stubbed)
    assert facts.quota("Total number of instances") == 64
    assert facts.quota("ml.p5.48xlarge for cluster usage") == 20
    assert facts.quota("ml.p4d.24xlarge for cluster usage") is None


def test_objects(aws: Callable[..., Any]) -> None:
    aws("s3").create_bucket(Bucket="scripts", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    aws("s3").put_object(Bucket="scripts", Key="base/on_create.sh", Body=b"#!/bin/sh\n")
    facts = around(aws)
    assert facts.object_exists("s3://scripts/base/on_create.sh")
    assert facts.object_exists("s3://scripts/base/")
    assert not facts.object_exists("s3://scripts/base/other.sh")
    assert not facts.object_exists("s3://scripts/other/")
    assert not facts.object_exists("s3://nobodys-bucket/base/on_create.sh")


@pytest.mark.parametrize("address", ["scripts/on_create.sh", "s3://", "https://scripts/x", ""])
def test_what_is_no_s3_address_is_refused(aws: Callable[..., Any], address: str) -> None:
    with pytest.raises(BadInput, match="s3://bucket/key"):
        around(aws).object_exists(address)


def test_an_object_that_may_not_be_seen_is_not_absent(stubbed: Stubbed) -> None:
    stubbed.stub("s3").add_client_error("head_object", "403", http_status_code=403)
    with pytest.raises(AccessDenied):
        around(stubbed).object_exists("s3://scripts/x")


def period(hour: int, *groups: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "TimePeriod": {"Start": f"2026-10-02T{hour:02}:00:00Z", "End": f"2026-10-02T{hour + 1:02}:00:00Z"},
        "Groups": [
            {"Keys": [kind], "Metrics": {"UsageQuantity": {"Amount": hours}, "UnblendedCost": {"Amount": usd}}}
            for kind, hours, usd in groups
        ],
    }


def test_the_bill_by_the_hour(stubbed: Stubbed) -> None:
    asked = {
        "TimePeriod": {"Start": "2026-10-02T12:00:00Z", "End": "2026-10-02T15:00:00Z"},
        "Granularity": "HOURLY",
        "Metrics": ["UsageQuantity", "UnblendedCost"],
        "GroupBy": [{"Type": "DIMENSION", "Key": "USAGE_TYPE"}],
        "Filter": {
            "And": [
                {"Dimensions": {"Key": "SERVICE", "Values": ["Amazon SageMaker"]}},
                {"Dimensions": {"Key": "REGION", "Values": ["us-west-2"]}},
            ]
        },
    }
    later = period(13, ("USW2-Cluster:ml.p5.48xlarge", "2.5", "150"), ("USW2-Cluster:VolumeUsage.gp2", "9", "1"))
    earlier = period(
        12,
        ("USW2-Cluster-Reserved:ml.p5.48xlarge", "10", "300.25"),
        ("USW2-Cluster:ml.p5.48xlarge", "0", "0"),
        ("USW2-Train:ml.p5.48xlarge", "4", "240"),
        ("USW2-TrainingPlan:ml.p5.48xlarge", "1", "0"),
    )
    stub = stubbed.stub("ce")
    stub.add_response("get_cost_and_usage", {"ResultsByTime": [later], "NextPageToken": "n"}, asked)
    stub.add_response("get_cost_and_usage", {"ResultsByTime": [earlier]}, {**asked, "NextPageToken": "n"})

    bill = around(stubbed).billed(NOW + timedelta(minutes=7), NOW + timedelta(hours=2, minutes=1))

    assert bill == [
        BilledUsage(NOW, "USW2-Cluster-Reserved:ml.p5.48xlarge", 10.0, 300.25),
        BilledUsage(NOW, "USW2-TrainingPlan:ml.p5.48xlarge", 1.0, 0.0),
        BilledUsage(NOW + timedelta(hours=1), "USW2-Cluster:ml.p5.48xlarge", 2.5, 150.0),
    ]


def test_a_bill_of_no_time_is_not_asked_for(stubbed: Stubbed) -> None:
    assert around(stubbed).billed(NOW, NOW) == ()


def test_a_bill_that_has_not_come_is_empty(stubbed: Stubbed) -> None:
    stubbed.stub("ce").add_client_error("get_cost_and_usage", "DataUnavailableException")
    assert around(stubbed).billed(NOW, NOW + timedelta(hours=1)) == ()


def test_a_bill_that_may_not_be_asked_for_now_is_not_empty(stubbed: Stubbed) -> None:
    stubbed.stub("ce").add_client_error("get_cost_and_usage", "LimitExceededException")
    with pytest.raises(Throttled):
        around(stubbed).billed(NOW, NOW + timedelta(hours=1))
