"""The reconciler on the whole line: what was stopped, lost or forgotten goes on, and nothing is done twice."""

from __future__ import annotations

from roundhouse.line.incident import IncidentState, Outcome
from roundhouse.line.ladder import Rung
from tests.steps.samples import health, house, worker
from tests.steps.world import World

REPLACE = (Rung.REPLACE, Rung.HUMAN)


def fail(world: World, number: int = 3) -> str:
    """HyperPod reports worker `number`; its instance id."""
    instance = worker(world, number)
    assert world.take(health(world, instance)) == []
    return instance


def kinds(said: dict[str, object], end: str = "mended") -> list[str]:
    found = said[end]
    assert isinstance(found, list)
    return [each["kind"] for each in found]


def test_a_stopped_workflow_goes_on() -> None:
    world = house(ladder=REPLACE)
    instance = fail(world)
    world.run(for_s=200)
    world.stop(world.incident(instance).incident_id)
    world.run(for_s=3600)
    assert world.incident(instance).state is not IncidentState.CLOSED
    assert kinds(world.reconcile()) == ["no_workflow"]
    world.run()
    assert world.incident(instance).outcome is Outcome.REPAIRED
    assert [call.operation for call in world.cluster.calls] == ["replace"]
    assert kinds(world.reconcile()) == []
