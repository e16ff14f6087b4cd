"""Who stands where an instance stood: by logical id, or in a legacy cluster by name, launch time and absence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from roundhouse.line.heir import heir_of, launched_since, only_one
from roundhouse.line.state import Cluster, Node, NodeStatus

CALLED = datetime(2026, 10, 2, 16, tzinfo=UTC)
OLD, NEW, OTHER = "i-0aaaaaaaaaaaaaaaa", "i-0bbbbbbbbbbbbbbbb", "i-0cccccccccccccccc"
NAME = "ip-10-0-0-7"


def node(instance_id: str | None, minutes: float, name: str | None = NAME, **changes: Any) -> Node:
    host = f"{name}.us-west-2.compute.internal" if name else None
    made: dict[str, Any] = {"group": "workers", "status": NodeStatus.RUNNING, "logical_id": None, **changes}
    return Node(instance_id, hostname=host, launched_at=CALLED + timedelta(minutes=minutes), **made)


def found(*nodes: Node, logical_id: str | None = None, slurm_name: str | None = NAME) -> str | None:
    cluster = Cluster("train", "arn", "InService", "None", {}, nodes, CALLED, continuous=logical_id is not None)
    heir, why = heir_of(cluster, OLD, logical_id=logical_id, slurm_name=slurm_name, group="workers", since=CALLED)
    assert why
    return heir.instance_id if heir else None


def test_new_instance_of_that_name_is_the_heir() -> None:
    assert found(node(NEW, 5), node(OTHER, 6, "ip-10-0-0-8")) == NEW


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ((node(OLD, -600), node(NEW, 5)), "the old one is still listed"),
        ((node(NEW, -5),), "launched before the call"),
        ((node(NEW, 5, "ip-10-0-0-8"),), "another name"),
        ((node(None, 5),), "no instance yet"),
        ((), "nothing there"),
    ],
)
def test_name_alone_never_suffices(nodes: tuple[Node, ...], why: str) -> None:
    assert found(*nodes) is None, why


def test_without_a_name_the_only_new_one_of_the_group_is_the_heir() -> None:
    elsewhere = node(OTHER, 5, group="login")
    assert found(node(NEW, 5), elsewhere, slurm_name=None) == NEW
    assert found(node(NEW, 5), node(OTHER, 6), slurm_name=None) is None, "two came: nobody can tell"
    assert found(node(NEW, -5), slurm_name=None) is None


def test_logical_id_decides_where_there_is_one() -> None:
    assert found(node(NEW, -5, logical_id="l-1"), logical_id="l-1") == NEW
    assert found(node(OLD, 5, logical_id="l-1"), logical_id="l-1") is None
    assert found(node(NEW, 5, logical_id="l-2"), logical_id="l-1") is None


def test_launched_since_has_two_ends() -> None:
    cluster = Cluster("train", "arn", "InService", "None", {}, (node(NEW, 0), node(OTHER, 9)), CALLED)
    until = CALLED + timedelta(minutes=8)
    assert [n.instance_id for n in launched_since(cluster, "workers", CALLED, until)] == [NEW]
    assert only_one([], OLD)[0] is None
