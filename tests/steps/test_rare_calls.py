"""Calls that a function makes in rare moments only: they are granted, so they have to be shown."""

from __future__ import annotations

from dataclasses import replace

from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.breaker import BreakerStatus
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Attempt, Incident, begin_step, incident_key
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import BreakerLimits
from roundhouse.line.state import NodeStatus
from roundhouse.steps.repair.watch import PROOF
from tests.steps.samples import house, worker
from tests.steps.world import World

TIGHT = BreakerLimits(short_max=1, group_short_max=1, short_percent=100, day_percent=100)


def stored(world: World, number: int) -> Incident:
    instance = worker(world, number)
    node = world.cluster.cluster("train").by_instance(instance)
    assert node is not None
    return world.incidents.put(
        Incident(
            incident_key("train", instance, CauseClass.HARDWARE, 1),
            "train",
            instance,
            CauseClass.HARDWARE,
            1,
            world.now,
            world.now,
            group="workers",
            logical_id=node.logical_id,
            slurm_name=node.hostname,
            trusted=True,
        )
    )


def test_a_drain_too_many_opens_the_breaker_and_the_one_who_asked_for_it_says_so() -> None:
    """Two decisions were made while the breaker was closed; only one of them may drain."""
    world = house(breaker=TIGHT)
    answers = [
        world._invoke(
            "command_agent",
            {"incident_id": one.incident_id, "verb": "cordon", "decision": {"instance_id": one.instance_id}},
        )
        for one in (stored(world, 0), stored(world, 1))
    ]
    assert [answer["status"] for answer in answers] == ["cordoned", "hold"]
    assert len(world.agent.commands) == 1
    assert [notice.kind for notice in world.outbox.notices] == [NoticeKind.BREAKER_OPENED]


def test_a_canary_that_fails_its_proof_opens_the_breaker_again_and_people_are_told() -> None:
    world = house()
    incident = stored(world, 0)
    attempt = Attempt(Rung.REBOOT, incident.instance_id, world.now)
    world.incidents.put(begin_step(replace(incident, attempts=(attempt,)), PROOF, world.now))
    closed = world.breaker.load("train")
    half_open = replace(closed, status=BreakerStatus.HALF_OPEN, canary=incident.instance_id)
    world.breaker.save("train", replace(half_open, since=world.now, reason="many at once"))
    world.clock.advance(60)
    world.cluster.set_status(incident.instance_id, NodeStatus.FAILURE)
    answer = world._invoke("prove_node", {"incident_id": incident.incident_id})
    assert answer["status"] == "decide"
    assert world.breaker.load("train").status is BreakerStatus.OPEN
    assert [n.kind for n in world.outbox.notices] == [NoticeKind.BREAKER_OPENED]
