"""Sections `cluster` and `waits`. Imports pydantic."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from roundhouse.environment.model.base import Section
from roundhouse.environment.model.types import (
    ClusterName,
    Duration,
    InstanceType,
    RoleArn,
    S3Uri,
    ScriptName,
    TagKey,
    TagValue,
)


class Lifecycle(Section):
    """Lifecycle scripts: a prefix in S3 and the script that runs first on each new node."""

    s3_uri: S3Uri
    on_create: ScriptName


class Cluster(Section):
    """The cluster as a whole. Every group runs the same lifecycle scripts."""

    name: ClusterName
    provisioning_mode: Literal["continuous", "legacy"] = "continuous"
    node_recovery: Literal["Automatic", "None"] = "Automatic"
    execution_role_arn: RoleArn
    lifecycle: Lifecycle
    tags: Annotated[dict[TagKey, TagValue], Field(max_length=50, default_factory=dict)]


class Waits(Section):
    """Polling and give-up times of a creation."""

    poll: Duration = 60
    controller_timeout: Duration = 3600
    stage_timeout: Duration = 7200
    shortage_timeout: Duration = 10800
    discount_timeout: Duration = 7200
    counter_lag: Duration = 300
    bill_lag: Duration = 93600
    bill_margin: Duration = 7200
    bill_poll: Duration = 1800
    lifecycle_failures_max: Annotated[int, Field(ge=1, le=100)] = 5


class Rehearsal(Section):
    """Lifecycle scripts proved on a throw-away cluster of one node before a creation. The node should cost little."""

    required: bool = True
    instance_type: InstanceType = "ml.m5.xlarge"
    max_age: Duration = 30 * 86400
    timeout: Duration = 3600
