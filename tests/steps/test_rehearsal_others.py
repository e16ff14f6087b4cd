"""Clusters of somebody else, two rehearsals at once, and executions that are stopped."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from roundhouse.build.rehearsal import TAG, TAG_ID, Result
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import (
    Conflict,
    Refused,
)
from roundhouse.steps.rehearsal import claims
from roundhouse.steps.rehearsal.end import clear
from tests.fakes.cluster import FakeCluster
from tests.steps.rehearsing import (
    Stage,
    ended,
    script,
    stage,
    stay,
    succeed,
    titles,
)


# Nobody else's cluster -------------------------------------------------------------------------------------------
def somebodys(world: Stage, **tags: str) -> FakeCluster:
    """A cluster under the very name that the rehearsal's would have."""
    probe = Stage(world.spec)
    probe.rehearse()
    probe.run()
    theirs = FakeCluster(world.clock, probe.record().cluster)
    theirs.arn = theirs.arn.replace("a1b2c3d4e5f6", "ffffffffffff")
    theirs.seed("controller", 1, "Controller")
    theirs.tagged = dict(tags)
    world.clusters.known.append(theirs)
    return theirs


@pytest.mark.parametrize(
    "tags",
    [{}, {TAG: "other", TAG_ID: "r-1"}, {TAG: "unit"}, {TAG: "unit", TAG_ID: "r-1"}, {TAG: "unit", TAG_ID: "r-0"}],
    ids=str,
)
def test_a_cluster_that_is_not_of_this_claim_is_never_deleted(tags: dict[str, str]) -> None:
    world = stage()
    theirs = somebodys(world, **tags)
    world.rehearse()
    world.run()
    assert world.clusters.deleted == []
    assert world.clusters.created == []
    assert theirs.status == "InService"
    assert world.record().result is Result.INCONCLUSIVE
    assert world.executions["r-1"].status == "FAILED"
    assert not world.record().under_way


def test_a_cluster_made_under_the_name_in_the_meantime_is_left_alone() -> None:
    world = stage(stay)
    world.rehearse()
    world.run(for_s=300)
    [mine] = world.clusters.standing()
    mine.status = ""  # gone, and another takes its name at once, tags and all
    theirs = FakeCluster(world.clock, mine.name)
    theirs.arn = theirs.arn.replace("a1b2c3d4e5f6", "ffffffffffff")
    theirs.seed("controller", 1, "Controller")
    theirs.tagged = dict(mine.tagged)
    world.clusters.known.append(theirs)
    script(theirs, "Succeeded")
    world.run()
    assert world.record().result is Result.INCONCLUSIVE
    assert world.clusters.deleted == []
    assert theirs.status == "InService"
    assert any("left alone" in title for title in titles(world, NoticeKind.RUN_STOPPED))


@pytest.mark.parametrize("tags", [{}, {TAG: "other", TAG_ID: "r-1"}, {TAG: "unit", TAG_ID: "r-0"}], ids=str)
def test_a_cluster_that_takes_the_name_right_before_our_call_is_left_alone(tags: dict[str, str]) -> None:
    world = stage()
    create = world.clusters.create

    def too_late(spec: ClusterSpec, counts: dict[str, int]) -> str:
        if not world.clusters.known:
            somebodys(world, **tags)
        return create(spec, counts)

    world.clusters.create = too_late  # type: ignore[method-assign]
    world.rehearse()
    world.run()
    [theirs] = world.clusters.standing()
    assert theirs.status == "InService"
    assert world.clusters.deleted == []
    assert world.executions["r-1"].status == "FAILED"
    assert not world.record().under_way


def test_not_even_a_claim_and_the_tags_make_the_real_cluster_a_throw_away_one() -> None:
    world = stage()
    own = FakeCluster(world.clock, "train")
    own.seed("controller", 1, "Controller")
    own.tagged = {TAG: "unit", TAG_ID: "r-0"}
    world.clusters.known.append(own)
    shared: dict[str, Any] = {"ledger": world.ledger, "spec": world.spec, "now": world.now}
    claims.claim(world.ledger, "r-0", claims.CREATE, "train", world.spec, world.now, own.arn)
    with pytest.raises(Refused, match="a rehearsal never touches it"):
        clear("r-0", "train", reader=world.clusters, writer=world.clusters, **shared)
    assert world.clusters.deleted == []


def test_the_environments_own_cluster_is_out_of_reach() -> None:
    world = stage()
    own = FakeCluster(world.clock, "train")
    own.seed("controller", 1, "Controller")
    world.clusters.known.append(own)
    world.rehearse()
    world.run()
    ended_but_own = [each.name for each in world.clusters.standing()]
    assert ended_but_own == ["train"]
    assert own.arn not in world.clusters.deleted


# Two at once, and executions that are stopped --------------------------------------------------------------------
def test_a_second_rehearsal_is_refused_while_the_first_lives() -> None:
    world = stage()
    world.rehearse()
    world.run(for_s=70)
    world.rehearse("r-2")
    world.run()
    ended(world, Result.PASSED)
    assert world.executions["r-2"].status == "FAILED"
    assert any("rehearsal r-1 is under way" in error for error in world.executions["r-2"].errors)
    assert len(world.clusters.created) == 1


def test_two_that_begin_together_make_one_cluster() -> None:
    world = stage()
    world.rehearse()
    world.rehearse("r-2")
    world.run()
    assert len(world.clusters.created) == 1
    assert world.clusters.standing() == []
    assert sorted(e.status for e in world.executions.values()) == ["FAILED", "SUCCEEDED"]


def test_what_a_stopped_execution_left_is_deleted_by_the_schedule() -> None:
    world = stage(stay)
    world.rehearse()
    world.run(for_s=200)
    world.stop("r-1")
    assert world.tidy() == {"cleared": [], "left": []}, "it may live: it was looked at just now"
    for _ in range(10):
        world.clock.at = world.now + timedelta(minutes=15)
        world.clusters.settle()
        world.tidy()
    assert world.clusters.standing() == []
    assert world.record().result is Result.INCONCLUSIVE
    assert "ended without saying why" in world.record().reason
    assert world.tidy() == {"cleared": [], "left": []}


def test_what_a_stopped_execution_left_is_deleted_by_the_next_rehearsal() -> None:
    world = stage(stay)
    world.rehearse()
    world.run(for_s=200)
    world.stop("r-1")
    world.clock.at = world.now + timedelta(hours=1)
    [left] = world.clusters.standing()
    world.clusters.outcome = succeed
    world.rehearse("r-2")
    world.run()
    ended(world, Result.PASSED, "r-2")
    assert left.arn in world.clusters.deleted
    assert len(world.clusters.created) == 2


def test_a_leftover_of_the_same_name_is_cleared_by_the_next_rehearsal_though_its_record_is_gone() -> None:
    world = stage(stay)
    world.rehearse()
    world.run(for_s=200)
    world.stop("r-1")
    world.rehearsals.records.clear()
    world.clusters.outcome = lambda cluster: succeed(cluster) if cluster.tagged[TAG_ID] == "r-2" else None
    [left] = world.clusters.standing()
    world.rehearse("r-2")
    world.run()
    ended(world, Result.PASSED, "r-2")
    assert left.arn in world.clusters.deleted
    assert len(world.clusters.created) == 2


def test_a_cluster_that_only_the_ledger_knows_is_cleared_by_its_tags() -> None:
    world = stage(stay)
    world.rehearse()
    world.run(for_s=200)
    world.stop("r-1")
    world.rehearsals.records.clear()
    for _ in range(3):
        world.tidy()
        world.clusters.settle()
        world.clock.at = world.now + timedelta(minutes=15)
    assert world.clusters.standing() == []


def test_the_schedule_looks_at_no_claim_but_those_of_rehearsals() -> None:
    world = stage()
    claims.claim(world.ledger, "run-1", "create_cluster", "train", world.spec, world.now)
    world.clock.at = world.now + timedelta(hours=1)
    assert world.tidy() == {"cleared": [], "left": []}
    assert {entry.kind for entry in world.ledger.records.values()} == {"create_cluster"}


def test_the_schedule_raises_an_alarm_over_what_it_cannot_delete() -> None:
    world = stage(stay)
    world.rehearse()
    world.run(for_s=200)
    world.stop("r-1")
    world.rehearsals.records.clear()
    world.clusters.refuse += [("delete", Conflict("busy"))] * 100
    world.tidy()
    world.clock.at = world.now + timedelta(hours=3)
    with pytest.raises(Conflict, match="still stand and cost money: train-rehearsal-"):
        world.tidy()
    assert [n for n in titles(world, NoticeKind.RUN_STOPPED) if "still stands" in n]
