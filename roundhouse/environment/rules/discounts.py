"""Rules about discounts and prices."""

from __future__ import annotations

from collections.abc import Iterator

from roundhouse.build.problem import Problem, shown
from roundhouse.environment.catalog import Catalog
from roundhouse.environment.model import Environment, Group, NoDiscount


def discounts_are_in_az(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for index, group in enumerate(env.groups):
        discount = group.discount
        if not isinstance(discount, NoDiscount) and discount.az_id != env.az_id:
            reason = f"the capacity is in another AZ than the nodes ({env.az_id}): they would run on demand, silently"
            remedy = "Use subnets and storage in the AZ of the capacity"
            yield Problem(f"groups[{index}].discount.az_id", shown(discount.az_id), reason, remedy)


def only_compute_is_discounted(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for index, group in enumerate(env.groups):
        if group.discount.kind != "none" and group.role != "Compute":
            reason = f"plans and reservations are for Compute groups, this is a {group.role} group"
            yield Problem(f"groups[{index}].discount", shown(group.discount.kind), reason, "Remove the discount")


def rehearsal_takes_no_reserved_capacity(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    """An account reservation is matched by account and AZ alone, so any launch of that type takes from it."""
    for group in env.groups:
        if group.discount.kind == "account_reservation" and group.instance_type == env.rehearsal.instance_type:
            reason = f"the account team reserved that type for {group.name}: a rehearsal would take from it first"
            remedy = 'Use another type; a CPU type like "ml.m5.xlarge" costs least'
            yield Problem("rehearsal.instance_type", shown(env.rehearsal.instance_type), reason, remedy)


def price_is_known(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for index, group in enumerate(env.groups):
        if group.on_demand_usd_per_hour is None and catalog.price(env.region, group.instance_type) is None:
            reason = f"catalog/prices.toml has no on-demand price of {group.instance_type} in {env.region}"
            remedy = "Give on_demand_usd_per_hour, or add the price with its source to the catalog"
            yield Problem(f"groups[{index}].on_demand_usd_per_hour", "", reason, remedy)


def discount_is_cheaper(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for index, group in enumerate(env.groups):
        discount, on_demand = group.discount, on_demand_price(env, group, catalog)
        if isinstance(discount, NoDiscount) or on_demand is None:
            continue
        if discount.reserved_usd_per_hour >= on_demand:
            reason = f"a reserved hour costs no less than one on demand ({on_demand})"
            path = f"groups[{index}].discount.reserved_usd_per_hour"
            yield Problem(path, shown(discount.reserved_usd_per_hour), reason, "Correct one of the two prices")


def on_demand_price(env: Environment, group: Group, catalog: Catalog) -> float | None:
    """USD per node and hour: the file's own price, else the snapshot's."""
    if group.on_demand_usd_per_hour is not None:
        return group.on_demand_usd_per_hour
    price = catalog.price(env.region, group.instance_type)
    return price.on_demand_usd_per_hour if price else None
