"""Sections `network` and `storage`: where the cluster stands. Imports pydantic."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from roundhouse.environment.model.base import Section
from roundhouse.environment.model.types import (
    AzId,
    DnsName,
    FileSystemId,
    MountName,
    MountPath,
    Positive,
    SecurityGroupId,
    Several,
    SubnetId,
    VpcId,
)


class Network(Section):
    """Existing network. `free_addresses`, if given, is what the subnets have left: the cluster must fit in."""

    vpc_id: VpcId
    subnet_ids: Annotated[Several[SubnetId], Field(min_length=1, max_length=16)]
    security_group_ids: Annotated[Several[SecurityGroupId], Field(min_length=1, max_length=5)]
    free_addresses: Positive | None = None


class FileSystem(Section):
    """An existing FSx for Lustre file system that every node mounts. It is never created, changed or deleted."""

    id: FileSystemId
    dns_name: DnsName
    mount_name: MountName
    mount_path: MountPath
    az_id: AzId
