"""What an environment means once deployed, as data for `roundhouse env show`. No terminal code here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from roundhouse.build.cost import expected_rate, expected_usd_per_hour
from roundhouse.build.spec import ClusterSpec, DiscountKind, GroupSpec
from roundhouse.build.staging import stage_target
from roundhouse.environment.catalog import Catalog, load_catalog
from roundhouse.environment.model import Environment
from roundhouse.environment.render import cluster_spec, policy
from roundhouse.line.event import CauseClass
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Policy

PARTS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


@dataclass(frozen=True, slots=True)
class Table:
    """One table: a title, headings, and rows of text of the same length."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def duration(seconds: int) -> str:
    """Seconds as an environment file writes them.

    >>> duration(5400)
    '1h30m'
    """
    text = ""
    for unit, size in PARTS:
        count, seconds = divmod(seconds, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def sections(env: Environment, catalog: Catalog | None = None) -> tuple[Table, ...]:
    """Everything worth seeing before a deployment: place, groups with stages and prices, policy, limits, people."""
    catalog = catalog or load_catalog()
    spec, rules = cluster_spec(env, catalog), policy(env)
    return (
        Table(f"Environment {env.name}", ("", ""), tuple(_place(env, spec))),
        Table(
            "Groups",
            ("Group", "Role", "Type", "Count", "Stages", "Discount", "USD/h a node", "USD/h on demand"),
            tuple(_group(group) for group in spec.groups),
        ),
        Table("Policy", ("Cause", "Mode", "Ladder", "Grace"), tuple(_rules(rules))),
        Table("Budgets", ("Rung", "Per day", "Cooldown"), tuple(_budgets(rules))),
        Table("Limits", ("", ""), tuple(_limits(rules))),
    )


def hints(env: Environment, catalog: Catalog | None = None) -> tuple[str, ...]:
    """What is not wrong but worth knowing, in sentences."""
    return tuple(_hints(env, catalog or load_catalog()))


def _place(env: Environment, spec: ClusterSpec) -> Iterator[tuple[str, str]]:
    yield "Cluster", f"{spec.cluster} ({spec.provisioning_mode}, node recovery {spec.node_recovery})"
    yield "Account, region, AZ", f"{spec.account}, {spec.region}, {spec.az_id}"
    yield "Subnets", ", ".join(spec.subnet_ids)
    yield "Storage", ", ".join(f"{s.id} at {s.mount_path}" for s in env.storage) or "none"
    yield "Lifecycle", f"{env.cluster.lifecycle.s3_uri} {env.cluster.lifecycle.on_create}"
    yield "Rehearsal of it", _rehearsal(spec)
    yield "When complete", f"{expected_usd_per_hour(spec):,.2f} USD an hour expected"
    yield "A lost discount", f"is rolled back before it costs {spec.rollback_dollar_cap:,.2f} USD if nobody answers"
    approvers = ", ".join(env.slack.approvers) or "nobody"
    yield "Slack", f"channel {env.slack.channel}, may approve: {approvers}"


def _rehearsal(spec: ClusterSpec) -> str:
    terms = spec.rehearsal
    how = f"on one {terms.instance_type}, for {duration(terms.timeout_s)} at most"
    if not terms.required:
        return f"not required; {how}"
    return f"required before a creation, at most {duration(terms.max_age_s)} ago; {how}"


def _group(group: GroupSpec) -> tuple[str, ...]:
    targets = " → ".join(str(stage_target(group, stage)) for stage in range(len(group.stages)))
    discount = group.discount.kind.value.replace("_", " ")
    if group.discount.kind is not DiscountKind.NONE:
        discount += f" in {group.discount.az_id}"
    rates = (f"{expected_rate(group):,.2f}", f"{group.on_demand_usd_per_hour:,.2f}")
    return (group.name, group.role, group.instance_type, str(group.count), targets, discount, *rates)


def _rules(rules: Policy) -> Iterator[tuple[str, ...]]:
    for cause in CauseClass:
        rule = rules.rule(cause)
        if cause is CauseClass.MAINTENANCE:
            yield cause.value, rule.mode.value, "drain → return", f"{duration(rule.lead_s)} before the window"
            continue
        yield cause.value, rule.mode.value, " → ".join(rung.value for rung in rule.ladder), duration(rule.grace_s)


def _budgets(rules: Policy) -> Iterator[tuple[str, ...]]:
    for rung in (rung for rung in Rung if rung.changes_hyperpod):
        budget = rules.budget(rung)
        yield rung.value, str(budget.per_day), duration(budget.cooldown_s)


def _limits(rules: Policy) -> Iterator[tuple[str, str]]:
    breaker = rules.breaker
    window = duration(breaker.short_window_s)
    share, day = f"{breaker.short_percent:g} %", f"{breaker.day_percent:g} %"
    yield "Breaker opens above", f"{breaker.short_max} nodes or {share} of the cluster in {window}"
    yield "", f"{breaker.group_short_max} nodes or {share} of a group in {window}"
    yield "", f"{breaker.day_max} nodes or {day} of the cluster, {day} of a group in 24h"
    seen = duration(breaker.systemic_window_s)
    yield "Suspects a common cause", f"at {breaker.systemic_nodes} nodes with one cause in {seen}"
    yield "Protected groups", ", ".join(rules.protected_groups) or "none"
    yield "Protected nodes", ", ".join(rules.protected_nodes) or "none"
    yield "Must stay Running", ", ".join(f"{n} {g}" for g, n in sorted(rules.capacity_floor.items())) or "no floor"


def _hints(env: Environment, catalog: Catalog) -> Iterator[str]:
    for instance_type in sorted({g.instance_type for g in env.groups if g.on_demand_usd_per_hour is None}):
        price = catalog.price(env.region, instance_type)
        if price is not None and not price.verified:
            yield (
                f"The on-demand price of {instance_type} ({price.on_demand_usd_per_hour} USD/h, snapshot of "
                f"{catalog.prices_taken}) is unverified: {price.source}."
            )
    if all(group.discount.kind == "none" for group in env.groups):
        yield "No group has a discount: stages are not verified, only counted."
    if len(env.slack.approvers) == 1:
        yield "Only one person may approve: nobody can when that person is away."
    if env.slack.app_id is None:
        yield "slack.app_id is not given: which app drew a button is told by the signature alone."
    if env.network.free_addresses is None:
        yield "network.free_addresses is not given: whether the subnets are large enough is not checked."
    if not env.policy.rules:
        yield "No rule is given: every cause is observed, nothing is repaired."
