"""Faults that histories have found, each by its name, so that they stay mended."""

from __future__ import annotations

from roundhouse.line.incident import Outcome
from roundhouse.line.ladder import Rung
from tests.steps.samples import health, house, worker


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
