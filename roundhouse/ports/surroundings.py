"""Ports to the world around a cluster: time, the account, its bill. Protocols; the contract is in the docstring."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from roundhouse.build.records import BilledUsage, PlanState
from roundhouse.build.scripts import ScriptFile


class Clock(Protocol):
    def now(self) -> datetime:
        """The time now, aware, UTC."""


class Surroundings(Protocol):
    """Facts about the account that a preflight and the discount check read. Raises NotFound for absent things."""

    def account_id(self) -> str: ...

    def subnet_az_id(self, subnet_id: str) -> str:
        """AZ id (`usw2-az2`) of a subnet."""

    def file_system_az_id(self, file_system_id: str) -> str:
        """AZ id of an FSx for Lustre file system, by its first subnet."""

    def plan(self, arn: str) -> PlanState: ...

    def quota(self, name: str) -> float | None:
        """Value of the SageMaker quota called `name`; None when the account has no such quota listed."""

    def object_exists(self, s3_uri: str) -> bool: ...

    def lifecycle_files(self, s3_uri: str) -> Sequence[ScriptFile]:
        """Every object under the prefix `s3_uri/` as it is now, folders left out, with a checksum of its content.

        Empty when there is none. Raises BadInput for what is no S3 address or too many objects; NotFound when there is
        no such bucket, or an object went away meanwhile."""

    def billed(self, since: datetime, until: datetime) -> Sequence[BilledUsage]:
        """Hourly billed usage of HyperPod instances in this region, as far as the bill has come (it lags)."""
