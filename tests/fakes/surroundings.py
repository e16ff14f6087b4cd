"""The account around a cluster, in memory; every fact is a member that a test may change."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from roundhouse.build.scripts import ScriptFile
from roundhouse.build.spec import ClusterSpec
from roundhouse.errors import NotFound
from roundhouse.line.policy import Policy
from roundhouse.ports import BilledUsage, PlanState

T = TypeVar("T")


@dataclass
class FakeSurroundings:
    """`ports.Surroundings`."""

    account: str = "111122223333"
    subnets: dict[str, str] = field(default_factory=dict)
    file_systems: dict[str, str] = field(default_factory=dict)
    plans: dict[str, PlanState] = field(default_factory=dict)
    quotas: dict[str, float] = field(default_factory=dict)
    objects: set[str] = field(default_factory=set)
    contents: dict[str, bytes] = field(
        default_factory=dict
    )  # of objects, by address; those that are not here are alike
    bill: list[BilledUsage] = field(default_factory=list)

    def account_id(self) -> str:
        return self.account

    def subnet_az_id(self, subnet_id: str) -> str:
        return _known(self.subnets, subnet_id)

    def file_system_az_id(self, file_system_id: str) -> str:
        return _known(self.file_systems, file_system_id)

    def plan(self, arn: str) -> PlanState:
        return _known(self.plans, arn)

    def quota(self, name: str) -> float | None:
        return self.quotas.get(name)

    def object_exists(self, s3_uri: str) -> bool:
        if s3_uri.endswith("/"):
            return any(known.startswith(s3_uri) for known in self.objects)
        return s3_uri in self.objects

    def lifecycle_files(self, s3_uri: str) -> Sequence[ScriptFile]:
        prefix = s3_uri.rstrip("/") + "/"
        found = {address: self.contents.get(address, b"exit 0") for address in self.objects | self.contents.keys()}
        return [
            ScriptFile(address.removeprefix(prefix), len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
            for address, content in sorted(found.items())
            if address.startswith(prefix)
        ]

    def billed(self, since: datetime, until: datetime) -> Sequence[BilledUsage]:
        return [usage for usage in self.bill if since <= usage.hour < until]


@dataclass
class FakeSettings:
    """`ports.Settings`."""

    the_policy: Policy
    spec: ClusterSpec

    def policy(self) -> Policy:
        return self.the_policy

    def cluster_spec(self) -> ClusterSpec:
        return self.spec


def _known(facts: dict[str, T], name: str) -> T:
    if name not in facts:
        raise NotFound(f"there is no {name} here")
    return facts[name]
