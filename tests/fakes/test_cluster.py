"""The in-memory cluster keeps the rules that the line leans on."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from roundhouse.errors import InUse, NotFound, Throttled, Unavailable
from roundhouse.line.state import NodeStatus
from roundhouse.ports import ClusterReader, ClusterWriter
from tests.aws.samples import spec
from tests.fakes.clocks import FakeClock
from tests.fakes.cluster import FakeCluster

NOW = datetime(2026, 10, 2, 12, tzinfo=UTC)


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster(FakeClock(NOW), "train")
    made.seed("controller", 1, role="Controller")
    made.seed("workers", 4)
    return made


def test_it_is_both_ports(cluster: FakeCluster) -> None:
    reader: ClusterReader = cluster
    writer: ClusterWriter = cluster
    assert reader.cluster("train").running("workers") == 4
    assert writer.reboot("train", [cluster.nodes[1].instance_id or ""]).accepted


def test_a_replacement_keeps_the_logical_id_and_changes_the_instance(cluster: FakeCluster) -> None:
    before = cluster.nodes[1]
    assert before.instance_id
    assert cluster.replace("train", [before.instance_id]).accepted == (before.instance_id,)
    assert cluster.replace("train", [before.instance_id]).failed[before.instance_id][0] == "InstanceIdNotFound"
    after = cluster.cluster("train").by_logical(before.logical_id or "")
    assert after is not None
    assert after.instance_id != before.instance_id
    assert (after.hostname, after.status) == (before.hostname, NodeStatus.PENDING)
    assert cluster.replace("train", [after.instance_id or ""]).failed[after.instance_id or ""][0] == "InstanceIdInUse"
    cluster.settle()
    assert cluster.cluster("train").running("workers") == 4


def test_a_delete_lowers_the_target_and_an_add_restores_it(cluster: FakeCluster) -> None:
    victim = cluster.nodes[1].instance_id or ""
    assert cluster.delete_nodes("train", [victim]).accepted == (victim,)
    cluster.settle()
    now = cluster.cluster("train")
    assert (now.groups["workers"].target, now.groups["workers"].current, now.by_instance(victim)) == (3, 3, None)
    first = cluster.add("train", "workers", 1, "token")
    assert cluster.add("train", "workers", 1, "token") == first
    cluster.settle()
    assert cluster.cluster("train").running("workers") == cluster.cluster("train").groups["workers"].target == 4


def test_a_controller_is_neither_deleted_nor_replaced(cluster: FakeCluster) -> None:
    controller = cluster.nodes[0].instance_id or ""
    assert cluster.delete_nodes("train", [controller]).failed[controller][0] == "NodeIdInUse"
    assert not cluster.replace("train", [controller]).accepted
    assert cluster.reboot("train", [controller]).accepted


def test_a_lost_answer_has_taken_effect_and_a_failure_has_not(cluster: FakeCluster) -> None:
    cluster.lose_next_answer()
    with pytest.raises(Unavailable):
        cluster.add("train", "workers", 2, "token")
    assert cluster.groups["workers"].target == 6
    cluster.fail_next(Throttled("slow down"))
    with pytest.raises(Throttled):
        cluster.add("train", "workers", 2, "other")
    assert cluster.groups["workers"].target == 6
    assert [call.operation for call in cluster.calls] == ["add", "add"]


def test_a_creation_tells_where_its_capacity_came_from() -> None:
    cluster = FakeCluster(FakeClock(NOW))
    cluster.on_demand.add("workers")
    with pytest.raises(NotFound):
        cluster.cluster("train-slurm-a")
    cluster.create(spec(), {"controller": 1, "workers": 2})
    with pytest.raises(InUse):
        cluster.create(spec(), {"controller": 1})
    assert cluster.cluster("train-slurm-a").status == "Creating"
    cluster.settle()
    now = cluster.cluster("train-slurm-a")
    assert (now.status, now.running("workers")) == ("InService", 2)
    before = datetime(2026, 1, 1, tzinfo=UTC)
    told = [event.description for event in cluster.events("train-slurm-a", before, "workers")]
    assert len(told) == 2
    assert all("using on-demand pool" in text for text in told)
    cluster.delete_cluster("train-slurm-a")
    with pytest.raises(NotFound):
        cluster.cluster("train-slurm-a")


def test_absolute_count_grows_or_kills_whom_it_likes() -> None:
    cluster = FakeCluster(FakeClock(NOW))
    stood = cluster.seed("workers", 8)
    cluster.set_count("train", "workers", 10, {})
    assert (cluster.groups["workers"].target, len(cluster.nodes)) == (10, 10)
    cluster.set_count("train", "workers", 4, {})
    cluster.settle()
    left = tuple(node.instance_id for node in cluster.nodes)
    assert (cluster.groups["workers"].target, len(left)) == (4, 4)
    assert left not in {stood[:4], stood[4:]}
