"""Faults that histories have found, each by its name, so that they stay mended."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from roundhouse.line.event import Source
from roundhouse.line.incident import Evidence, Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.proof import bad_news
from roundhouse.line.state import NodeStatus
from tests.steps.samples import health, house, worker
from tests.steps.world import T0, World


def test_repair_whose_answer_was_lost_is_dated_from_its_claim() -> None:
    """Dated from when live state was judged, it missed HyperPod's own word that the reboot had begun, and bad news."""
    world = house(ladder=(Rung.REBOOT, Rung.HUMAN))
    world.cluster.lose_next_answer()
    instance = worker(world, 3)
    assert world.take(health(world, instance)) == []
    world.run()
    incident = world.incident(instance)
    [entry] = world.ledger.records.values()
    assert incident.outcome is Outcome.REPAIRED
    assert incident.attempts[0].at == entry.claimed_at
    [repair] = [step for step in incident.steps if step.name == "repair"]
    assert repair.ended_at is not None
    assert (repair.ended_at - entry.claimed_at).total_seconds() < 300  # the reboot's own event was seen


def test_good_news_of_slurm_do_not_outrank_bad_ones_of_hyperpod_in_a_proof() -> None:
    """Slurm saw the node again, a moment after HyperPod had said that it was broken still; and the proof passed."""
    at = T0
    bad = Evidence("1", Source.NODE_HEALTH.value, "x", "unhealthy", at, "")
    seen = Evidence("2", Source.SLURM.value, "x", "healthy", at + timedelta(seconds=30), "")
    well = Evidence("3", Source.NODE_HEALTH.value, "x", "healthy", at + timedelta(seconds=60), "")
    assert bad_news([bad, seen], at) == bad
    assert bad_news([bad, seen, well], at) is None
    assert bad_news([bad], at + timedelta(seconds=1)) is None


def receive(world: World, envelope: dict[str, Any], times: int) -> list[dict[str, str]]:
    """Intake's answer to one message that the queue delivers for the `times`-th time."""
    record = {"messageId": "0", "body": json.dumps(envelope), "attributes": {"ApproximateReceiveCount": str(times)}}
    failures: list[dict[str, str]] = world._invoke("intake_signals", {"Records": [record]})["batchItemFailures"]
    return failures


def test_news_of_a_node_that_one_list_omits_is_looked_at_again() -> None:
    """One list that lagged was enough to take the instance for gone, and the news for settled."""
    world = house(ladder=(Rung.REBOOT, Rung.HUMAN))
    instance = worker(world, 3)
    nodes, event = list(world.cluster.nodes), health(world, instance)
    world.cluster.nodes = [node for node in nodes if node.instance_id != instance]
    assert receive(world, event, 1)
    world.cluster.nodes = nodes
    assert not receive(world, event, 2)
    world.run()
    assert world.incident(instance).outcome is Outcome.REPAIRED


def test_news_of_a_node_that_is_gone_are_settled_at_the_second_look() -> None:
    world = house(ladder=(Rung.REBOOT, Rung.HUMAN))
    instance = worker(world, 3)
    world.cluster.nodes = [node for node in world.cluster.nodes if node.instance_id != instance]
    assert receive(world, health(world, instance), 1)
    assert not receive(world, health(world, instance), 2)
    assert not world.incidents.records


def test_news_of_a_node_that_we_replaced_need_no_second_look() -> None:
    world = house(ladder=(Rung.REPLACE, Rung.HUMAN))
    instance = worker(world, 3)
    event = health(world, instance)
    assert not receive(world, event, 1)
    world.run()
    assert not receive(world, {**event, "id": "another"}, 1)
    assert len(world.incidents.records) == 1


def test_new_instance_that_did_not_come_up_in_time_is_not_given_back_unproved() -> None:
    """It stood in the place of the old one: "superseded", and the drain was taken back."""
    world = house(ladder=(Rung.REPLACE, Rung.HUMAN))
    instance = worker(world, 3)
    assert world.take(health(world, instance)) == []
    world.nodes_boot = False
    world.run(for_s=900)
    new = next(n.instance_id or "" for n in world.cluster.nodes if n.status is NodeStatus.PENDING)
    world.cluster.set_status(new, NodeStatus.FAILURE)
    world.run()
    assert world.incident(instance).outcome is Outcome.ESCALATED
    assert [c.verb.value for c in world.agent.commands if c.verb.value == "resume"] == []
