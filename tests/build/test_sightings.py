"""Sightings survive what HyperPod forgets, and an on-demand one is never talked over."""

from __future__ import annotations

import pytest

from roundhouse.build.records import Capacity, ClusterEvent
from roundhouse.build.sightings import MAX_ON_DEMAND, about, collect, sighting
from roundhouse.line.state import Node, NodeStatus
from tests.build.samples import event, found, minutes, not_found, sighted


@pytest.mark.parametrize(
    ("told", "capacity", "group"),
    [
        (found(1), Capacity.RESERVED, "workers"),
        (not_found(1), Capacity.ON_DEMAND, "workers"),
        (event("EC2 instance provisioned", reservation_arn="arn:x"), Capacity.RESERVED, "workers"),
        (event("Failed to provision", reservation_arn="arn:x", level="Error"), None, ""),
        (event("Created ENI"), None, ""),
        (event("No CapacityReservation found for Cluster c and IG gpu-a, using on-demand pool", group=None,
               reservation_arn="arn:x"), Capacity.ON_DEMAND, "gpu-a"),
    ],
)  # fmt: skip
def test_sighting(told: ClusterEvent, capacity: Capacity | None, group: str) -> None:
    seen = sighting(told)
    assert (seen.capacity if seen else None) is capacity
    assert (seen.group if seen else "") == group


def test_collecting_keeps_the_newest_of_a_node_and_repeats_change_nothing() -> None:
    told = [found(0, minutes(5)), found(1), found(0)]
    once = collect((), told)
    assert [(s.logical_id, s.at) for s in once] == [("l-workers-1", minutes(0)), ("l-workers-0", minutes(5))]
    assert collect(once, reversed(told)) == once
    assert collect(once, ()) == once


def test_an_on_demand_launch_is_remembered_though_the_next_attempt_was_reserved() -> None:
    seen = collect((), [not_found(0), found(0, minutes(5))])
    assert {s.capacity for s in seen} == {Capacity.RESERVED, Capacity.ON_DEMAND}


def test_a_retry_loop_does_not_fill_the_record() -> None:
    assert len(collect((), [not_found(n) for n in range(500)])) == MAX_ON_DEMAND
    assert len(collect((), [found(0, minutes(n)) for n in range(500)])) == 1


def test_proven_instances_need_no_sighting() -> None:
    told = event("x, using reserved capacity", instance_id="i-1", logical_id="l-1")
    assert collect((), [told], proven=["i-1"]) == ()
    assert len(collect((), [told], proven=["i-2"])) == 1


@pytest.mark.parametrize(
    ("launched", "mine"), [(0, True), (14, True), (16, False), (-4, True), (-6, False), (None, True)]
)
def test_a_logical_id_speaks_only_of_the_instance_launched_then(launched: float | None, mine: bool) -> None:
    at = None if launched is None else minutes(launched)
    node = Node("i-1", "l-workers-0", "workers", NodeStatus.RUNNING, launched_at=at)
    assert about(sighted(1)[0], node) is mine


def test_an_instance_id_decides_where_there_is_one() -> None:
    seen = sighting(event("x, using reserved capacity", instance_id="i-old", logical_id="l-1"))
    assert seen is not None
    assert not about(seen, Node("i-new", "l-1", "workers", NodeStatus.RUNNING))
    assert about(seen, Node("i-old", "l-1", "workers", NodeStatus.RUNNING))
