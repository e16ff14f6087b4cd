"""Intake: late, twice, in any order, half done, malformed: at most one incident and one workflow for each failure."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.contracts import names
from roundhouse.errors import ConditionFailed, NotFound, Throttled, Unavailable
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState, Outcome
from roundhouse.line.policy import Mode
from tests.steps.asl import Died
from tests.steps.samples import health, house, worker
from tests.steps.world import World

XID = "HMA has detected fault type XID Error (code=79) on this node and is unhealthy."
EFA = "HMA has detected fault type EfaLinkDown on this node and is unhealthy."


def at(world: World, envelope: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The same event, sent so many seconds later, under an id of its own."""
    moved = copy.deepcopy(envelope)
    moved["time"] = (world.now + timedelta(seconds=seconds)).isoformat()
    moved["id"] = f"{envelope['id']}+{seconds}"
    return moved


def because(envelope: dict[str, Any], reason: str) -> dict[str, Any]:
    changed = copy.deepcopy(envelope)
    changed["detail"]["HealthSummary"]["HealthStatusReason"] = reason
    changed["id"] = f"{envelope['id']}/{reason[30:45]}"
    return changed


def snapshot(world: World, sequence: int, taken_s: float, *nodes: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"snap-{sequence}",
        "source": names.SLURM_SOURCE,
        "detail-type": "Slurm Snapshot",
        "time": world.now.isoformat(),
        "detail": {
            "version": 1,
            "cluster": "train",
            "sequence": sequence,
            "taken_at": (world.now + timedelta(seconds=taken_s)).isoformat(),
            "nodes": list(nodes),
        },
    }


def incidents(world: World) -> list[Incident]:
    return sorted(world.incidents.records.values(), key=lambda i: i.incident_id)


def test_same_message_ten_times_is_one_incident_and_one_workflow() -> None:
    world = house(mode=Mode.OBSERVE)
    event = health(world, worker(world, 1))
    for _ in range(10):
        assert world.take(event, event) == []
    assert len(incidents(world)) == len(world.executions) == 1
    assert incidents(world)[0].event_count == 1
    assert len(world.breaker.load("train").entries) == 1


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_bad_good_bad_in_any_order_ends_as_the_newest_says(order: tuple[int, ...]) -> None:
    world = house()
    instance = worker(world, 1)
    bad = health(world, instance)
    events = [at(world, bad, -90), at(world, health(world, instance, "Healthy"), -60), at(world, bad, -30)]
    for index in order:
        assert world.take(events[index]) == []
    running = [i for i in incidents(world) if i.state is not IncidentState.CLOSED]
    assert len(running) == 1
    assert running[0].health == "unhealthy"
    assert set(world.executions) >= {running[0].incident_id}


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_bad_then_good_in_any_order_leaves_nothing_to_repair(order: tuple[int, ...]) -> None:
    world = house()
    instance = worker(world, 1)
    events = [at(world, health(world, instance), -90), at(world, health(world, instance, "Healthy"), -60)]
    for index in order:
        assert world.take(events[index]) == []
    world.run()
    assert world.agent.commands == []
    assert world.cluster.calls == []
    assert all(i.state is IncidentState.CLOSED for i in incidents(world))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_mix_of_duplicates_and_orders_never_repairs_a_node_twice(data: st.DataObject) -> None:
    world = house(size=8)
    instance = worker(world, 1)
    bad, good = health(world, instance), health(world, instance, "Healthy")
    pool = [
        at(world, each, -seconds)
        for each in (bad, because(bad, XID), because(bad, EFA), good)
        for seconds in (10, 50, 100)
    ]
    picked = data.draw(st.lists(st.sampled_from(pool), min_size=1, max_size=12))
    for event in picked:
        assert world.take(event) == []
    world.run()
    repaired = [c.arguments for c in world.cluster.calls]
    assert len(repaired) == len(set(repaired))
    assert all(i.state is IncidentState.CLOSED for i in incidents(world))
    assert all(e.status == "SUCCEEDED" for e in world.executions.values())
    by_key: dict[str, int] = {}
    for one in incidents(world):
        by_key[one.incident_id] = by_key.get(one.incident_id, 0) + 1
    assert set(by_key.values()) <= {1}


def test_late_event_is_looked_at_only() -> None:
    world = house()
    assert world.take(at(world, health(world, worker(world, 1)), -5 * 3600)) == []
    assert incidents(world) == []
    assert world.executions == {}


def test_event_of_an_instance_that_is_gone_is_nothing() -> None:
    world = house()
    assert world.take(health(world, "i-0fffffffffffffff0")) == []
    assert world.executions == {}


def test_replay_of_a_healthy_nodes_past_opens_nothing() -> None:
    world = house()
    original = health(world, worker(world, 1))
    replayed = {"id": "r-1", "source": names.REPLAY_SOURCE, "detail-type": "Replay", "detail": {"original": original}}
    assert world.take(replayed) == []
    assert world.take({**original, "source": "somebody.else", "id": "forged"}) == []
    assert world.executions == {}


def test_twins_of_one_failed_launch_are_one_incident() -> None:
    world = house()
    stamp = int(world.now.timestamp() * 1000)

    def launch(number: int, later_ms: int, description: str) -> dict[str, Any]:
        return {
            "id": f"x-{number}",
            "source": names.HYPERPOD_SOURCE,
            "detail-type": names.CLUSTER_EVENT,
            "time": world.now.isoformat(),
            "detail": {
                "EventDetails": {
                    "EventId": f"e-{number}",
                    "ClusterName": "train",
                    "InstanceGroupName": "workers",
                    "ResourceType": "Instance",
                    "EventTime": stamp + later_ms,
                    "EventLevel": "Error",
                    "Description": description,
                    "EventDetails": {"EventMetadata": {"Instance": {"FailureMessage": "EFA health checks failed"}}},
                }
            },
        }

    one, two = launch(1, 0, "Failed to provision EC2 Instance"), launch(2, 1000, "Instance creation failed")
    assert world.take(one, two) == []
    assert len(incidents(world)) == len(world.executions) == 1


def test_malformed_message_fails_alone() -> None:
    world = house()
    good = health(world, worker(world, 1))
    bad = health(world, worker(world, 2))
    del bad["detail"]["HealthSummary"]
    assert world.take(good, bad, health(world, worker(world, 3))) == ["1"]
    assert len(incidents(world)) == 2


def test_snapshot_older_than_the_kept_one_changes_nothing() -> None:
    world = house()
    name = next(n.hostname or "" for n in world.cluster.nodes if n.instance_id == worker(world, 1)).split(".")[0]
    fine = {"name": name, "state": "IDLE", "reason": "", "jobs": [], "instance_id": worker(world, 1)}
    down = {**fine, "state": "DOWN*", "reason": "Not responding"}
    assert world.take(snapshot(world, 5, -10, fine)) == []
    assert world.take(snapshot(world, 4, -70, down)) == []
    assert incidents(world) == []
    kept = world.control.snapshot("train")
    assert kept is not None
    assert kept.sequence == 5


def test_hyperpod_away_as_the_news_come_opens_the_incident_all_the_same() -> None:
    world = house(mode=Mode.OBSERVE)
    for failure in (Throttled("slow down"), Unavailable("503")):
        world.cluster.fail_next_read(failure)
        world.take(health(world, worker(world, 1)))
    assert len(world.executions) == 1


def test_lookup_that_finds_nothing_goes_on_without() -> None:
    world = house()
    world.cluster.event = _not_found  # type: ignore[method-assign,assignment]
    envelope = {
        "id": "x-1",
        "source": names.HYPERPOD_SOURCE,
        "detail-type": names.CLUSTER_EVENT,
        "time": world.now.isoformat(),
        "detail": {
            "EventDetails": {
                "EventId": "e-1",
                "ClusterName": "train",
                "InstanceGroupName": "workers",
                "ResourceType": "Instance",
                "EventTime": int(world.now.timestamp() * 1000),
                "EventLevel": "Error",
                "Description": "Failed to provision EC2 Instance",
                "EventDetails": {"EventMetadata": None},
            }
        },
    }
    assert world.take(envelope) == []
    assert [i.cause for i in incidents(world)] == [CauseClass.UNKNOWN]


def _not_found(*_: object) -> Any:
    raise NotFound("no such event")


# Half done -------------------------------------------------------------------------------------------------------
def delivered(world: World, *envelopes: dict[str, Any]) -> None:
    """Deliver each until it is taken; a process that dies leaves it in the queue."""
    for envelope in envelopes:
        for _ in range(3):
            try:
                failed = world.take(envelope)
            except Died:
                continue
            if not failed:
                break
        else:
            raise AssertionError("a message that is never taken")


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_intake_that_dies_at_any_call_is_healed_by_the_next_delivery(after: bool) -> None:
    def play(point: int | None) -> World:
        world = house(mode=Mode.OBSERVE)
        world.gate.die_at, world.gate.after = point, after
        delivered(world, health(world, worker(world, 1)))
        return world

    for point in range(1, len(play(None).gate.calls) + 1):
        world = play(point)
        assert len(incidents(world)) == len(world.executions) == 1, world.gate.died
        [entry] = world.breaker.load("train").entries
        assert entry.kind == "signal"


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_recovery_of_two_incidents_that_dies_in_between_is_healed(after: bool) -> None:
    def play(point: int | None) -> World:
        world = house()
        instance = worker(world, 1)
        bad = health(world, instance)
        delivered(world, bad, because(bad, EFA))
        world.clock.advance(30)
        world.gate.calls.clear()
        world.gate.die_at, world.gate.after = point, after
        delivered(world, health(world, instance, "Healthy"))
        return world

    for point in range(1, len(play(None).gate.calls) + 1):
        world = play(point)
        assert [i.health for i in incidents(world)] == ["healthy"] * 2, world.gate.died
        assert not [e for e in world.breaker.load("train").entries if e.kind == "signal"], world.gate.died
        world.run()
        assert [i.outcome for i in incidents(world)] == [Outcome.RECOVERED] * 2, world.gate.died
        assert world.cluster.calls == []


def test_recovery_that_loses_a_race_for_one_incident_takes_it_at_the_next_look() -> None:
    world = house()
    instance = worker(world, 1)
    bad = health(world, instance)
    delivered(world, bad, because(bad, EFA))
    world.clock.advance(30)
    real = world.incidents.put
    raced: list[Incident] = []

    def put(incident: Incident) -> Incident:
        if incident.health == "healthy" and incident.cause is CauseClass.NETWORK and not raced:
            raced.append(incident)
            real(replace(world.incidents.records[incident.incident_id], decision="somebody was faster"))
            raise ConditionFailed("somebody was faster")
        return real(incident)

    world.incidents.put = put  # type: ignore[method-assign]
    delivered(world, health(world, instance, "Healthy"))
    assert raced
    assert [i.health for i in incidents(world)] == ["healthy"] * 2


def test_incident_stored_without_a_workflow_is_started_by_good_news_too() -> None:
    """Its first taker died between storing and starting; then the node recovered, and both messages come again."""
    world = house()
    instance = worker(world, 1)
    bad = health(world, instance)
    delivered(world, bad)
    world.executions.clear()
    world.clock.advance(30)
    delivered(world, health(world, instance, "Healthy"), bad)
    assert len(world.executions) == 1
    world.run()
    assert incidents(world)[0].outcome is Outcome.RECOVERED


def test_a_snapshot_of_another_cluster_is_neither_believed_nor_kept() -> None:
    world = house(4)
    foreign = snapshot(world, 99, 0, {"name": "ip-1", "state": "DOWN*"})
    foreign["detail"]["cluster"] = "train-elsewhere"
    assert world.take(foreign) == []
    assert world.control.snapshot("train") is None
    assert incidents(world) == []
