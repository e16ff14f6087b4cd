"""Rules about the policy: ladders, breaker, budgets, protected things."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from roundhouse.build.problem import Problem, shown
from roundhouse.environment.catalog import Catalog
from roundhouse.environment.model import Environment
from roundhouse.line.event import CauseClass
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import LEAST_GRACE_S, Mode

PERFORMED = {Rung.REBOOT, Rung.REPLACE, Rung.DELETE_RESTORE, Rung.HUMAN}
REPAIRS = [rung for rung in Rung if rung.changes_hyperpod]
LEAST_LEAD_S, MOST_LEAD_S = 300, 7 * 86400
# Repairing a node does not help against these: no capacity to replace it with, a fault of the whole, or not understood.
ONLY_OBSERVED = {CauseClass.CAPACITY, CauseClass.CLUSTER, CauseClass.UNKNOWN}


def ladders_rise_to_people(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for cause, rule in env.policy.rules.items():
        path, ladder = f"policy.rules.{cause}.ladder", [rung.value for rung in rule.ladder]
        if any(after.height <= before.height for before, after in pairwise(rule.ladder)):
            yield Problem(path, shown(ladder), "rungs must go from gentle to hard, each once", "Put them in order")
        if rule.ladder[-1] is not Rung.HUMAN:
            yield Problem(path, shown(ladder), "when all rungs failed people must be told", 'End it with "human"')


def rungs_are_performed(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for cause, rule in env.policy.rules.items():
        for index, rung in enumerate(rule.ladder):
            if rung not in PERFORMED:
                known = ", ".join(rung.value for rung in Rung if rung in PERFORMED)
                path = f"policy.rules.{cause}.ladder[{index}]"
                yield Problem(path, shown(rung.value), "this version does not perform that rung", f"Use {known}")


def some_causes_are_only_observed(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for cause, rule in env.policy.rules.items():
        if cause in ONLY_OBSERVED and rule.mode is not Mode.OBSERVE:
            reason = f"repairing a node does not help against {cause.value}: it is shown to people"
            yield Problem(f"policy.rules.{cause}.mode", shown(rule.mode.value), reason, 'Write mode = "observe"')


def acting_needs_a_breaker(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    if env.policy.breaker is not None:
        return
    for cause, rule in env.policy.rules.items():
        if cause is CauseClass.MAINTENANCE:
            continue  # it drains; that destroys nothing
        if rule.mode is Mode.ACT and any(rung.destructive for rung in rule.ladder):
            reason = "this rule may destroy instances without asking, and [policy.breaker] is not given"
            remedy = "Add [policy.breaker] with limits that you have thought about, or ask instead"
            yield Problem(f"policy.rules.{cause}.mode", shown(rule.mode.value), reason, remedy)


def maintenance_has_a_lead_and_no_ladder(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    """A drain before maintenance climbs no ladder and waits for nobody's repair; no other rule has a lead."""
    for cause, rule in env.policy.rules.items():
        given, path = rule.model_fields_set, f"policy.rules.{cause}"
        if cause is not CauseClass.MAINTENANCE:
            if "lead" in given:
                reason = "only maintenance has a window to come before"
                yield Problem(f"{path}.lead", f"{rule.lead} s", reason, "Leave it out")
            continue
        for key in sorted(given & {"ladder", "grace"}):
            reason = "a node is drained before its maintenance and returned after it: there is nothing to climb"
            yield Problem(f"{path}.{key}", "", reason, "Leave it out")
        if not LEAST_LEAD_S <= rule.lead <= MOST_LEAD_S:
            reason = "that is how long jobs get to end, and the node takes no new ones"
            yield Problem(f"{path}.lead", f"{rule.lead} s", reason, 'Choose from "5m" to "7d"')


def breaker_limits_agree(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    breaker = env.policy.breaker
    if breaker is None:
        return
    pairs = (
        ("group_short_max", breaker.group_short_max, "short_max", breaker.short_max),
        ("short_max", breaker.short_max, "day_max", breaker.day_max),
        ("short_percent", breaker.short_percent, "day_percent", breaker.day_percent),
        ("short_window", breaker.short_window, "24 hours", 86400),
        ("systemic_window", breaker.systemic_window, "24 hours", 86400),
    )
    for name, value, limit_name, limit in pairs:
        if value > limit:
            reason = f"this is more than {limit_name} ({limit}), and so would never matter"
            yield Problem(f"policy.breaker.{name}", str(value), reason, f"Make it at most {limit_name}")


def grace_leaves_room(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    if env.cluster.node_recovery != "Automatic":
        return
    for cause, rule in env.policy.rules.items():
        if cause is not CauseClass.MAINTENANCE and rule.mode is not Mode.OBSERVE and rule.grace < LEAST_GRACE_S:
            reason = "HyperPod repairs nodes by itself (node_recovery Automatic) and needs time to begin"
            yield Problem(f"policy.rules.{cause}.grace", f"{rule.grace} s", reason, 'Give it at least "5m"')


def budgets_are_for_repairs(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for rung in env.policy.budgets:
        if rung not in REPAIRS:
            known = ", ".join(rung.value for rung in REPAIRS)
            yield Problem(f"policy.budgets.{rung}", "", "this rung has no budget", f"Budgets are for {known}")


def protected_groups_exist(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    names = [group.name for group in env.groups]
    for index, name in enumerate(env.policy.protected_groups):
        if name not in names:
            remedy = f"Groups are {', '.join(names)}"
            yield Problem(f"policy.protected_groups[{index}]", shown(name), "there is no such group", remedy)


def floors_are_of_groups(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    names = [group.name for group in env.groups]
    for name, floor in env.policy.capacity_floor.items():
        if name not in names:
            remedy = f"Groups are {', '.join(names)}"
            yield Problem(f"policy.capacity_floor.{name}", str(floor), "there is no such group", remedy)


def floors_fit(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    counts = {group.name: group.count for group in env.groups}
    for name, floor in env.policy.capacity_floor.items():
        path = f"policy.capacity_floor.{name}"
        if name in counts and floor > counts[name]:
            reason = f"the floor is above the contract's {counts[name]}: nothing could ever be repaired"
            yield Problem(path, str(floor), reason, f"Write at most {counts[name]}")
