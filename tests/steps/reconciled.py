"""Letting time pass with the reconciler on its schedule. For tests."""

from __future__ import annotations

from typing import Any

from roundhouse.line.incident import IncidentState
from tests.steps.world import World

EVERY_S, QUIET_S = 900, 7200


def kinds(said: dict[str, Any], end: str = "mended") -> list[str]:
    """Kinds of the differences that came to that end."""
    return [each["kind"] for each in said[end]]


def to_the_end(world: World, hours: float = 72) -> dict[str, Any]:
    """Let time pass, with a reconciler every quarter of an hour, until nothing moves and nothing is to be mended any
    more for two hours, in which what people must mend is shown; what its last run said. Fails when that does not come
    about."""
    quiet = 0
    for _ in range(int(hours * 3600 / EVERY_S)):
        due = world.now.timestamp() + EVERY_S
        world.run(for_s=EVERY_S)
        world.clock.advance(max(0.0, due - world.now.timestamp()))
        world.run(for_s=0)
        said = world.reconcile()
        idle = all(e.status != "RUNNING" for e in world.executions.values())
        closed = all(i.state is IncidentState.CLOSED for i in world.incidents.records.values())
        quiet = quiet + 1 if idle and closed and not said["mended"] and not world.intake.bodies else 0
        if quiet > QUIET_S / EVERY_S:
            return said
    raise AssertionError(f"after {hours} h: {said}, {[(e.name, e.status) for e in world.executions.values()]}")
