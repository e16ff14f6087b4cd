"""Facts about the account around a cluster: subnets, storage, plans, quotas, scripts, bills. Reading only.

Touches STS, EC2, FSx, SageMaker, Service Quotas, S3 and Cost Explorer; a client is made when its fact is first asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from roundhouse.aws import bills
from roundhouse.aws.errors import translated
from roundhouse.aws.scripts import lifecycle_files
from roundhouse.build.scripts import ScriptFile
from roundhouse.errors import BadInput, NotFound
from roundhouse.ports import BilledUsage, PlanState


class AwsSurroundings:
    """`ports.Surroundings`. `client` gives the client of a service by its name in botocore."""

    def __init__(self, client: Callable[[str], Any], *, region: str) -> None:
        self._client = client
        self._region = region
        self._quotas: dict[str, float] | None = None

    def account_id(self) -> str:
        with translated("GetCallerIdentity"):
            return str(self._client("sts").get_caller_identity()["Account"])

    def subnet_az_id(self, subnet_id: str) -> str:
        with translated("DescribeSubnets"):
            subnets = self._client("ec2").describe_subnets(SubnetIds=[subnet_id])["Subnets"]
        if not subnets:
            raise NotFound(f"there is no subnet {subnet_id} in {self._region}", operation="DescribeSubnets")
        return str(subnets[0]["AvailabilityZoneId"])

    def file_system_az_id(self, file_system_id: str) -> str:
        with translated("DescribeFileSystems"):
            found = self._client("fsx").describe_file_systems(FileSystemIds=[file_system_id])["FileSystems"]
        if not found or not found[0].get("SubnetIds"):
            raise NotFound(
                f"there is no file system {file_system_id} with a subnet in {self._region}",
                operation="DescribeFileSystems",
            )
        return self.subnet_az_id(found[0]["SubnetIds"][0])

    def plan(self, arn: str) -> PlanState:
        name = arn.rpartition("/")[2]
        with translated("DescribeTrainingPlan"):
            raw = self._client("sagemaker").describe_training_plan(TrainingPlanName=name)
        if raw["TrainingPlanArn"] != arn:
            raise NotFound(
                f"there is no training plan {arn}: the plan called {name} here is {raw['TrainingPlanArn']}",
                operation="DescribeTrainingPlan",
            )
        blocks = raw.get("ReservedCapacitySummaries", [])
        zones = {block["AvailabilityZoneId"] for block in blocks if block.get("AvailabilityZoneId")}
        types = {block["InstanceType"] for block in blocks}
        return PlanState(
            arn=arn,
            status=raw["Status"],
            instance_type=types.pop() if len(types) == 1 else ", ".join(sorted(types)),
            az_ids=tuple(sorted(zones)),
            starts_at=_utc(raw.get("StartTime")),
            ends_at=_utc(raw.get("EndTime")),
            total=raw.get("TotalInstanceCount", 0),
            available=raw.get("AvailableInstanceCount", 0),
            in_use=raw.get("InUseInstanceCount", 0),
            targets=tuple(raw.get("TargetResources", ())),
        )

    def quota(self, name: str) -> float | None:
        """See `ports.Surroundings.quota`. All of SageMaker's quotas are read once: there is no search by name."""
        if self._quotas is None:
            found: dict[str, float] = {}
            with translated("ListServiceQuotas"):
                pages = self._client("service-quotas").get_paginator("list_service_quotas")
                for page in pages.paginate(ServiceCode="sagemaker", PaginationConfig={"PageSize": 100}):
                    found |= {quota["QuotaName"]: float(quota["Value"]) for quota in page["Quotas"]}
            self._quotas = found
        return self._quotas.get(name)

    def object_exists(self, s3_uri: str) -> bool:
        """Whether the object is there; for a URI ending in `/`, whether anything is under it. Raises BadInput."""
        bucket, _, key = s3_uri.removeprefix("s3://").partition("/")
        if not s3_uri.startswith("s3://") or not bucket:
            raise BadInput(f"{s3_uri!r} is not an S3 address: write s3://bucket/key")
        s3 = self._client("s3")
        if not key or key.endswith("/"):
            with translated("ListObjectsV2"):
                return bool(s3.list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1).get("KeyCount"))
        try:
            with translated("HeadObject"):
                s3.head_object(Bucket=bucket, Key=key)
        except NotFound:
            return False
        return True

    def lifecycle_files(self, s3_uri: str) -> Sequence[ScriptFile]:
        return lifecycle_files(self._client("s3"), s3_uri)

    def billed(self, since: datetime, until: datetime) -> Sequence[BilledUsage]:
        return bills.billed(self._client("ce"), self._region, since, until)


def _utc(time: datetime | None) -> datetime | None:
    return time.astimezone(UTC) if time else None
