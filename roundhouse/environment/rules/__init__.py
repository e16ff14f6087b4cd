"""Cross-field rules: one small function each, all of them run, every finding reported.

A rule is `(environment, catalog) -> Iterator[Problem]`. A new one goes into the file of its subject and is named here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from roundhouse.build.problem import Problem
from roundhouse.environment.catalog import Catalog
from roundhouse.environment.model import Environment
from roundhouse.environment.model.base import Unreadable
from roundhouse.environment.rules import accounts, discounts, groups, legacy, people, place, policy, size

Rule = Callable[[Environment, Catalog], Iterator[Problem]]

RULES: tuple[Rule, ...] = (
    place.region_is_known,
    place.az_is_in_region,
    place.names_are_given_once,
    place.storage_is_in_az,
    place.storage_name_fits,
    place.subnets_are_large_enough,
    accounts.roles_are_of_account,
    accounts.plans_are_of_account,
    accounts.lifecycle_bucket_is_readable,
    groups.names_are_unique,
    groups.one_controller,
    groups.some_compute,
    groups.partitions_are_for_compute,
    groups.stages_rise_to_contract,
    groups.only_compute_is_staged,
    legacy.legacy_has_time,
    legacy.legacy_stages_add_nodes,
    discounts.discounts_are_in_az,
    discounts.only_compute_is_discounted,
    discounts.rehearsal_takes_no_reserved_capacity,
    discounts.price_is_known,
    discounts.discount_is_cheaper,
    policy.ladders_rise_to_people,
    policy.rungs_are_performed,
    policy.some_causes_are_only_observed,
    policy.acting_needs_a_breaker,
    policy.maintenance_has_a_lead_and_no_ladder,
    policy.breaker_limits_agree,
    policy.grace_leaves_room,
    policy.budgets_are_for_repairs,
    policy.protected_groups_exist,
    policy.floors_are_of_groups,
    policy.floors_fit,
    people.somebody_may_approve,
    people.approvers_are_given_once,
    people.reconciling_is_regular,
)
WHOLE_RULES: tuple[Rule, ...] = (size.parameters_fit,)
"""Rules that need every value, and so wait until all of them validate."""


def broken_rules(environment: Environment, catalog: Catalog, *, whole: bool = True) -> list[Problem]:
    """What every rule finds. With `whole` False the environment may hold values that did not validate."""
    problems: list[Problem] = []
    for rule in (*RULES, *WHOLE_RULES) if whole else RULES:
        try:
            # One by one: what a rule finds before it meets an unreadable value is kept.
            for problem in rule(environment, catalog):
                problems.append(problem)
        except Unreadable:
            continue
    return problems
