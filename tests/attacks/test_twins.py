"""A workflow begun by hand beside the one that runs, or after it was stopped: one repair all the same."""

from __future__ import annotations

from collections import Counter

import pytest

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.line.incident import Outcome
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Mode
from tests.steps.samples import health, house, worker
from tests.steps.world import World

CALLS = ("reboot", "replace", "delete_nodes")
LADDERS = {
    "reboot": (Rung.REBOOT, Rung.REPLACE, Rung.HUMAN),
    "replace": (Rung.REPLACE, Rung.HUMAN),
    "delete_restore": (Rung.DELETE_RESTORE, Rung.HUMAN),
}


def calls(world: World) -> Counter[str]:
    return Counter({name: len(world.cluster.made(name)) for name in CALLS if world.cluster.made(name)})


def yes(notice: Notice) -> tuple[str, float] | None:
    return ("approve", 90) if notice.kind is NoticeKind.APPROVAL_ASKED else None


@pytest.mark.parametrize("stopped", [False, True], ids=["beside it", "after it was stopped"])
@pytest.mark.parametrize("mode", [Mode.ACT, Mode.ASK])
@pytest.mark.parametrize("rung", sorted(LADDERS))
def test_a_second_workflow_of_the_same_incident_repairs_nothing_twice(rung: str, mode: Mode, stopped: bool) -> None:
    for seconds in (1, *range(100, 1300, 37)):
        world = house(20, mode, LADDERS[rung])
        world.boot_s, world.people = 400, yes
        bad = worker(world, 3)
        world.take(health(world, bad))
        incident = world.incident(bad)

        def second(world: World = world, incident_id: str = incident.incident_id) -> None:
            if stopped:
                world.stop(incident_id)
            world.begin("remediate_node", "by-hand", {"incident_id": incident_id, "grace_s": 1})

        world.later(seconds, second)
        world.run(8 * 3600)
        ended = world.incident(bad)
        assert calls(world) == {"delete_nodes" if rung == "delete_restore" else rung: 1}, seconds
        assert ended.outcome is Outcome.REPAIRED, (seconds, ended.decision)
        assert len(world.told(NoticeKind.APPROVAL_ASKED)) == (mode is Mode.ASK), seconds
        assert world.running() == 20, seconds
