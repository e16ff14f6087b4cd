"""Rehearsals among whatever happens: never two clusters at once, never somebody else's, and none in the end."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.build.rehearsal import Result
from roundhouse.errors import AwsFailure, Conflict, Throttled, Unavailable
from roundhouse.ports import Pause
from tests.fakes.cluster import FakeCluster
from tests.steps.rehearsing import HELPER, Stage, fail, hang, silence, stage, starve, stay, succeed
from tests.steps.world import T0

OUTCOMES = (succeed, fail, hang, silence, starve, stay)
HAPPENINGS = (
    "throttled create",
    "lost create",
    "lost delete",
    "busy delete",
    "away delete",
    "deaf delete",
    "stopped",
    "another",
    "tidied",
    "paused",
    "resumed",
    "deleted by hand",
    "file changed",
    "record lost",
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(OUTCOMES),
    st.lists(st.tuples(st.integers(0, 2400), st.sampled_from(HAPPENINGS)), max_size=7),
    st.sampled_from([0, 150]),
)
def test_whatever_happens_nothing_stays_and_nothing_passes_that_did_not(
    outcome: object, happenings: list[tuple[int, str]], unlisted_s: int
) -> None:
    world = stage(outcome)  # type: ignore[arg-type]
    world.clusters.unlisted = timedelta(seconds=unlisted_s)
    theirs = FakeCluster(world.clock, "train")
    theirs.seed("controller", 1, "Controller")
    world.clusters.known.append(theirs)
    most: list[int] = []
    world.each_moment = lambda: most.append(len(world.clusters.standing()))
    world.rehearse("r-0")
    for number, (seconds, what) in enumerate(happenings, 1):
        world.later(seconds, partial(happen, world, what, number))
    world.run(for_s=8 * 3600)
    for _ in range(30):
        world.clusters.settle()
        world.clock.at = world.now + timedelta(minutes=15)
        tidy(world)
    told = [record.reason for record in world.rehearsals.records.values()]
    assert [each.name for each in world.clusters.standing()] == ["train"], (told, world.executions)
    assert max(most) <= 2, "the real one and one that is thrown away"
    assert theirs.arn not in world.clusters.deleted
    assert "train" not in world.clusters.deleted
    for record in world.rehearsals.records.values():
        assert not record.under_way
        assert record.result is not Result.PASSED or outcome is succeed


def tidy(world: Stage) -> None:
    """As the schedule calls it: what it cannot do now is done the next time."""
    with suppress(AwsFailure):
        world.tidy()


def happen(world: Stage, what: str, number: int) -> None:
    clusters = world.clusters
    match what:
        case "throttled create":
            clusters.refuse.append(("create", Throttled("slow down")))
        case "busy delete":
            clusters.refuse.append(("delete", Conflict("another operation is under way")))
        case "away delete":
            clusters.refuse.append(("delete", Unavailable("503")))
        case "deaf delete":
            clusters.deaf += 1
        case "lost create" | "lost delete":
            clusters.lost.append(what.split()[1])
        case "stopped":
            for name, execution in world.executions.items():
                if execution.status == "RUNNING":
                    world.stop(name)
        case "another":
            world.rehearse(f"r-{number}")
        case "tidied":
            tidy(world)
        case "paused":
            world.control.set_pause(Pause("U0ALICE", "moving racks", T0))
        case "resumed":
            world.control.set_pause(None)
        case "deleted by hand":
            for each in clusters.standing():
                if each.name != "train":
                    each.status = "Deleting"
        case "file changed":
            world.surroundings.contents[HELPER] = f"exit {number}".encode()
        case "record lost":
            if all(execution.status != "RUNNING" for execution in world.executions.values()):
                world.rehearsals.records.clear()
