"""What a cluster costs an hour, expected and actual, and how long people may be asked before it costs too much. Pure.

All amounts are USD; on-demand prices come from a dated snapshot and may be unverified.
"""

from __future__ import annotations

from collections.abc import Mapping

from roundhouse.build.records import Capacity
from roundhouse.build.spec import ClusterSpec, DiscountKind, GroupSpec

LEAST_ASK_S = 60  # a question needs a moment to be read, whatever it costs
ROLL_BACK_S = 600  # nodes are billed until they terminate, which takes minutes


def expected_rate(group: GroupSpec) -> float:
    """USD per node and hour that the environment expects: the discount's price where there is one."""
    if group.discount.kind is DiscountKind.NONE:
        return group.on_demand_usd_per_hour
    return group.discount.reserved_usd_per_hour


def expected_usd_per_hour(spec: ClusterSpec, counts: Mapping[str, int] | None = None) -> float:
    """USD per hour of `counts` nodes per group (all of the contract when None), every discount given."""
    return sum(
        expected_rate(group) * (group.count if counts is None else counts.get(group.name, 0)) for group in spec.groups
    )


def actual_usd_per_hour(spec: ClusterSpec, running: Mapping[str, int], on_demand: Mapping[str, int]) -> float:
    """USD per hour of `running` nodes per group, of which `on_demand` pay the on-demand price."""
    total = 0.0
    for group in spec.groups:
        nodes = running.get(group.name, 0)
        lost = nodes if group.discount.kind is DiscountKind.NONE else min(nodes, on_demand.get(group.name, 0))
        total += lost * group.on_demand_usd_per_hour + (nodes - lost) * expected_rate(group)
    return total


def by_capacity(spec: ClusterSpec, running: Mapping[str, int], on_demand: Mapping[str, int]) -> dict[str, int]:
    """Running nodes by kind of capacity, for a run's `capacity`: {"reserved": n, "on_demand": n}."""
    lost = sum(
        running.get(g.name, 0)
        if g.discount.kind is DiscountKind.NONE
        else min(running.get(g.name, 0), on_demand.get(g.name, 0))
        for g in spec.groups
    )
    return {Capacity.RESERVED.value: sum(running.values()) - lost, Capacity.ON_DEMAND.value: lost}


def excess_usd_per_hour(group: GroupSpec, nodes: int) -> float:
    """USD per hour above the contract if `nodes` of `group` are billed on demand. Never negative.

    For a verdict of UNKNOWN take all nodes of the stage: what is not known is assumed to be lost.
    """
    return max(0.0, group.on_demand_usd_per_hour - expected_rate(group)) * nodes


def ask_timeout_s(spec: ClusterSpec, excess_per_hour: float, spent: float = 0.0) -> int:
    """How long people are waited for, in seconds: the environment's time, or what its dollar cap still allows.

    `spent` is the excess that has already been paid, and the roll-back itself takes `ROLL_BACK_S`: after silence the
    nodes are gone before the cap is reached. Never less than a minute, so that the question is at least seen.
    """
    if excess_per_hour <= 0:
        return spec.ask_timeout_s
    left = (spec.rollback_dollar_cap - spent) / excess_per_hour * 3600 - ROLL_BACK_S
    return int(max(LEAST_ASK_S, min(spec.ask_timeout_s, left)))
