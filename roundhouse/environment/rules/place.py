"""Rules about region, AZ, subnets and storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roundhouse.build.problem import Problem, shown
from roundhouse.environment.catalog import Catalog
from roundhouse.environment.model import Environment


def region_is_known(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    if env.region not in catalog.az_id_prefixes:
        reason = "this region is not in catalog/regions.toml"
        yield Problem("region", shown(env.region), reason, "Correct it, or add a new region to the catalog")


def az_is_in_region(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    prefix = catalog.az_id_prefixes.get(env.region)
    if prefix and not env.az_id.startswith(f"{prefix}-az"):
        reason = f"AZ ids of {env.region} begin with {prefix}-az"
        yield Problem("az_id", shown(env.az_id), reason, "Take the id from the subnet's AvailabilityZoneId")


def names_are_given_once(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    yield from _twice("network.subnet_ids", env.network.subnet_ids)
    yield from _twice("network.security_group_ids", env.network.security_group_ids)
    yield from _twice("storage", [system.id for system in env.storage])
    yield from _twice("storage", [system.mount_path for system in env.storage])


def storage_is_in_az(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for index, system in enumerate(env.storage):
        if system.az_id != env.az_id:
            reason = f"the nodes are in {env.az_id}: every read would cross AZs, slowly and billed per GB"
            remedy = f"Use a file system in {env.az_id}, or correct az_id"
            yield Problem(f"storage[{index}].az_id", shown(system.az_id), reason, remedy)


def storage_name_fits(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for index, system in enumerate(env.storage):
        beginning = f"{system.id}.fsx.{env.region}."
        if not system.dns_name.startswith(beginning):
            reason = f"the DNS name of {system.id} in {env.region} begins with {beginning}"
            remedy = "Copy DNSName from DescribeFileSystems"
            yield Problem(f"storage[{index}].dns_name", shown(system.dns_name), reason, remedy)


def subnets_are_large_enough(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    free = env.network.free_addresses
    if free is None:
        return
    needed = sum(group.count * catalog.addresses_of(group.instance_type) for group in env.groups)
    if free < needed:
        reason = f"the finished cluster takes {needed} addresses"
        remedy = "Use larger or more subnets; a full subnet looks like a capacity shortage"
        yield Problem("network.free_addresses", str(free), reason, remedy)


def _twice(path: str, names: Sequence[str]) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Problem(f"{path}[{index}]", shown(name), "this is named twice", "Name it once")
