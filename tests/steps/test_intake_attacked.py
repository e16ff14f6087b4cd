"""Calls of others under attack: clocks that run ahead, and names that nobody can resolve now."""

from __future__ import annotations

from datetime import timedelta

from roundhouse.errors import Unavailable
from roundhouse.line.policy import Mode
from tests.steps.samples import house, worker
from tests.steps.test_others import call_of


def test_a_call_from_the_future_is_counted_now() -> None:
    world = house(mode=Mode.ASK)
    node = worker(world, 3)
    ahead = (world.now + timedelta(hours=30)).isoformat()
    assert world.take(call_of(world, "BatchRebootClusterNodes", node, eventTime=ahead)) == []
    [entry] = world.breaker.load(world.spec.cluster).entries
    assert entry.at == world.now, "it leaves the breaker's memory after a day, as any other"


def test_a_call_on_an_arn_waits_until_hyperpod_says_whose_that_is() -> None:
    world = house(mode=Mode.ASK)
    node = worker(world, 3)
    parameters = {"clusterName": world.cluster.arn, "nodeIds": [node]}
    call = call_of(world, "BatchRebootClusterNodes", node, requestParameters=parameters)
    world.cluster.fail_next_read(Unavailable("away"))
    assert world.take(call) == ["0"]
    assert world.take(call) == []
    assert [e.instance_id for e in world.breaker.load(world.spec.cluster).entries] == [node]
