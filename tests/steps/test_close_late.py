"""News that come while an incident is being closed, and news of a node that one list leaves out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from roundhouse.line.incident import IncidentState, Outcome
from roundhouse.line.ladder import Rung
from tests.steps.samples import health, house, worker
from tests.steps.world import World


def told_during(world: World, function: str, news: Any) -> None:
    """`news` are delivered right after the first answer of `function`."""
    real, heard = world.call, []

    def call(resource: str, arguments: dict[str, Any]) -> Any:
        answer = real(resource, arguments)
        status = answer.get("Payload", {}).get("status") if isinstance(answer, dict) else None
        if arguments.get("FunctionName") == function and status in {"pass", "close"} and not heard:
            heard.append(world.now)
            assert world.take(news()) == []
        return answer

    world.call = call  # type: ignore[method-assign]


def test_bad_news_between_proof_and_end_fail_the_repair() -> None:
    world = house(ladder=(Rung.REBOOT, Rung.REPLACE, Rung.HUMAN))
    instance = worker(world, 3)
    told_during(world, "prove_node", lambda: health(world, instance, time=world.now.isoformat(), id="late"))
    assert world.take(health(world, instance)) == []
    world.run()
    [incident] = world.incidents.records.values()
    assert incident.outcome is Outcome.REPAIRED
    assert [(a.rung, a.instance_id) for a in incident.attempts if a.rung is Rung.REPLACE] == [(Rung.REPLACE, instance)]
    assert world.cluster.by_id(instance) is None, "a node of which bad news came must not be taken for mended"


def test_bad_news_between_recovery_and_end_keep_it_open() -> None:
    world = house(ladder=(Rung.REPLACE, Rung.HUMAN))
    instance = worker(world, 3)
    told_during(world, "decide_repair", lambda: health(world, instance, time=world.now.isoformat(), id="late"))
    assert world.take(health(world, instance)) == []
    world.later(120, lambda: world.take(health(world, instance, "Healthy", time=world.now.isoformat(), id="good")))
    world.run()
    [incident] = world.incidents.records.values()
    assert incident.state is IncidentState.CLOSED
    assert incident.outcome is Outcome.REPAIRED
    assert world.cluster.by_id(instance) is None


def test_old_news_that_come_at_the_end_change_nothing() -> None:
    world = house(ladder=(Rung.REBOOT, Rung.REPLACE, Rung.HUMAN))
    instance = worker(world, 3)
    first = world.now
    old = (first + timedelta(seconds=20)).isoformat()
    told_during(world, "prove_node", lambda: health(world, instance, time=old, id="late"))
    assert world.take(health(world, instance)) == []
    world.run()
    [incident] = world.incidents.records.values()
    assert incident.outcome is Outcome.REPAIRED
    assert [a.rung for a in incident.attempts] == [Rung.REBOOT]


def test_bad_news_of_a_node_that_one_list_leaves_out_are_looked_at_again_though_an_incident_of_it_has_ended() -> None:
    world = house(ladder=(Rung.REPLACE, Rung.HUMAN))
    instance = worker(world, 3)
    good = health(world, instance, "Healthy", time=world.now.isoformat(), id="good")
    assert world.take(good) == []  # a closed record, and no sign that the instance is gone
    bad = health(world, instance, time=(world.now + timedelta(seconds=60)).isoformat(), id="bad")
    kept = list(world.cluster.nodes)
    world.clock.at += timedelta(seconds=60)
    world.cluster.nodes = [node for node in kept if node.instance_id != instance]
    assert world.take(bad, received=1) == ["0"], "it must come again"
    world.cluster.nodes = kept
    assert world.take(bad) == []
    assert any(i.state is not IncidentState.CLOSED for i in world.incidents.records.values())
