"""How rehearsals end, and what goes wrong: the real handlers and state machine. Nothing is left standing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from roundhouse.build.rehearsal import TAG, TAG_ID, Result
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.ledger import LedgerState
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import (
    AccessDenied,
    Conflict,
    InvalidRequest,
    LimitExceeded,
    RoundhouseError,
    Throttled,
    Unavailable,
)
from roundhouse.ports import Pause
from tests.build import samples
from tests.fakes.cluster import FakeCluster
from tests.steps.rehearsing import (
    ADDRESS,
    HELPER,
    OTHER,
    POINTS,
    TERMS,
    Stage,
    ended,
    fail,
    hang,
    script,
    silence,
    stage,
    starve,
    stay,
    succeed,
    titles,
)
from tests.steps.world import T0


# How it ends -----------------------------------------------------------------------------------------------------
def test_scripts_that_run_to_their_end_pass_and_the_cluster_is_deleted() -> None:
    world = stage()
    world.rehearse()
    world.run()
    ended(world, Result.PASSED)
    record = world.record()
    kept = world.rehearsals.of_digest(record.digest)
    assert kept is not None
    assert (kept.result, kept.files, kept.ended_at) == (Result.PASSED, record.files, record.ended_at)
    assert [each.key for each in record.files] == ["lib/mount.sh", "on_create.sh"]
    assert world.clusters.created == [f"train-rehearsal-{record.digest[:8]}"]
    assert world.clusters.deleted == [record.cluster_arn]
    assert record.log_stream == f"LifecycleConfig/controller/{record.reason.split()[-1]}"
    states = {e.kind: e.state for e in world.ledger.records.values()}
    assert states == dict.fromkeys(("rehearse_create", "rehearse_delete"), LedgerState.CONFIRMED)
    assert set(world.outbox.sent.values()) == {1}
    assert titles(world, NoticeKind.RUN_FINISHED) == ["Lifecycle scripts of unit: rehearsal PASSED"]


def test_the_throw_away_cluster_is_like_the_real_one_where_scripts_look() -> None:
    mounts = (("fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com", "abcdefgh", "/fsx"),)
    world = stage(file_system_mounts=mounts, tags=(("team", "research"),))
    asked: list[tuple[ClusterSpec, dict[str, int]]] = []
    create = world.clusters.create
    world.clusters.create = lambda spec, counts: asked.append((spec, counts)) or create(spec, counts)  # type: ignore
    world.rehearse()
    world.run()
    [(made, counts)] = asked
    [group] = made.groups
    assert counts == {"controller": 1}
    assert (group.role, group.name, group.instance_type, group.count) == ("Controller", "controller", "ml.m5.xlarge", 1)
    assert (made.subnet_ids, made.security_group_ids, made.file_system_mounts) == (
        world.spec.subnet_ids,
        world.spec.security_group_ids,
        mounts,
    )
    assert group.execution_role_arn == world.spec.groups[0].execution_role_arn
    assert group.discount.training_plan_arn is None
    assert made.node_recovery == "None"
    assert dict(made.tags) == {"team": "research", TAG: "unit", TAG_ID: "r-1"}


@pytest.mark.parametrize(
    ("outcome", "result", "words"),
    [
        (fail, Result.FAILED, "the lifecycle script failed on i-"),
        (hang, Result.FAILED, "began and did not end within 0:30:00"),
        (stay, Result.INCONCLUSIVE, "no lifecycle script began within 0:30:00"),
        (starve, Result.INCONCLUSIVE, "sufficient capacity"),
        (silence, Result.INCONCLUSIVE, "no event says that its scripts ended"),
    ],
)
def test_whatever_is_no_end_of_the_scripts_is_no_pass(
    outcome: Callable[[FakeCluster], None], result: Result, words: str
) -> None:
    world = stage(outcome)
    world.rehearse()
    world.run()
    ended(world, result)
    assert words in world.record().reason
    [told] = world.told(NoticeKind.RUN_STOPPED)
    assert result.value in told.title
    assert told.facts["Log group"].startswith("/aws/sagemaker/Clusters/train-rehearsal-")
    assert told.facts["Log stream"].startswith("LifecycleConfig/controller/i-")


def test_a_script_that_failed_once_has_failed_though_the_next_try_went_well() -> None:
    def flaky(cluster: FakeCluster) -> None:
        script(cluster, "Failed")
        succeed(cluster)

    world = stage(flaky)
    world.rehearse()
    world.run()
    ended(world, Result.FAILED)


def test_a_legacy_cluster_has_no_events_and_is_in_service_only_after_its_scripts() -> None:
    world = stage(silence, provisioning_mode="legacy")

    def refuse(*_: object, **__: object) -> Any:
        raise InvalidRequest("ListClusterEvents failed: the cluster is not continuous")

    world.clusters.events = refuse  # type: ignore[method-assign]
    world.rehearse()
    world.run()
    ended(world, Result.PASSED)


def test_a_change_of_the_files_while_they_are_rehearsed_is_noticed() -> None:
    world = stage()
    world.rehearse()
    world.later(20, lambda: world.surroundings.contents.update({HELPER: b"exit 1"}))
    world.run()
    ended(world, Result.INCONCLUSIVE)
    assert "changed while they were rehearsed: changed: lib/mount.sh" in world.record().reason


def test_a_result_without_words_does_not_undo_one_that_is_known() -> None:
    world = stage()
    world.rehearse()
    world.run()
    world.clusters.outcome = starve
    world.rehearse("r-2")
    world.run()
    ended(world, Result.INCONCLUSIVE, "r-2")
    kept = world.rehearsals.of_digest(world.record().digest)
    assert kept is not None
    assert kept.result is Result.PASSED
    world.clusters.outcome = fail
    world.rehearse("r-3")
    world.run()
    kept = world.rehearsals.of_digest(world.record().digest)
    assert kept is not None
    assert kept.result is Result.FAILED


def test_different_scripts_are_rehearsed_one_after_the_other() -> None:
    world = Stage(samples.spec(samples.group(count=5), OTHER, rehearsal=TERMS))
    world.surroundings.objects.add("s3://sagemaker-unit/lifecycle/login.sh")
    most: list[int] = []
    world.each_moment = lambda: most.append(len(world.clusters.standing()))
    world.rehearse()
    world.run()
    ended(world, Result.PASSED)
    assert len(set(world.clusters.created)) == 2
    assert max(most) == 1
    assert [n.facts["Scripts"].rpartition("/")[2] for n in world.told(NoticeKind.RUN_FINISHED)] == [
        "on_create.sh",
        "login.sh",
    ]


def test_one_failure_of_two_fails_the_whole_and_the_other_is_rehearsed_all_the_same() -> None:
    world = Stage(samples.spec(samples.group(count=5), OTHER, rehearsal=TERMS), fail)
    world.surroundings.objects.add("s3://sagemaker-unit/lifecycle/login.sh")
    world.rehearse()
    world.later(200, lambda: setattr(world.clusters, "outcome", succeed))
    world.run()
    assert world.executions["r-1"].status == "FAILED"
    assert world.record().result is Result.PASSED
    assert len(world.clusters.created) == 2
    assert world.clusters.standing() == []


def test_an_error_ends_it_all() -> None:
    world = Stage(samples.spec(samples.group(count=5), OTHER, rehearsal=TERMS))
    world.surroundings.objects.add("s3://sagemaker-unit/lifecycle/login.sh")
    world.clusters.refuse.append(("create", LimitExceeded("quota")))
    world.rehearse()
    world.run()
    ended(world, Result.INCONCLUSIVE)
    assert world.clusters.created == [], "what stopped the first would stop the second"


# What goes wrong -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda world: world.surroundings.objects.clear(), "there is nothing under s3://sagemaker-unit/lifecycle/"),
        (lambda world: world.surroundings.objects.discard(ADDRESS), "there is no on_create.sh"),
        (lambda world: world.control.set_pause(Pause("ALICE", "moving racks", T0)), "moving racks"),
        (lambda world: world.clusters.refuse.append(("create", LimitExceeded("quota"))), "quota"),
        (lambda world: world.clusters.refuse.append(("create", AccessDenied("sagemaker:AddTags"))), "AddTags"),
    ],
)
def test_what_cannot_begin_is_said_and_leaves_nothing(spoil: Callable[[Stage], None], words: str) -> None:
    world = stage()
    spoil(world)
    world.rehearse()
    world.run()
    ended(world, Result.INCONCLUSIVE)
    assert words in world.record().reason
    [told] = world.told(NoticeKind.RUN_STOPPED)
    assert words in told.text
    assert "errorMessage" not in told.text
    assert {entry.state for entry in world.ledger.records.values()} <= {LedgerState.FAILED, LedgerState.CONFIRMED}


@pytest.mark.parametrize("operation", ["create", "delete"])
@pytest.mark.parametrize("failure", [Throttled("slow"), Unavailable("503")], ids=lambda f: type(f).__name__)
def test_a_call_that_fails_is_made_again(operation: str, failure: RoundhouseError) -> None:
    world = stage()
    world.clusters.refuse.append((operation, failure))
    world.rehearse()
    world.run()
    ended(world, Result.PASSED)
    assert len(world.clusters.created) == 1


@pytest.mark.parametrize("operation", ["create", "delete"])
def test_a_lost_answer_makes_nothing_twice(operation: str) -> None:
    world = stage()
    world.clusters.lost.append(operation)
    world.rehearse()
    world.run()
    ended(world, Result.PASSED)
    assert len(world.clusters.known) == 1
    assert len(set(world.clusters.deleted)) == 1


@pytest.mark.parametrize("lost", [[], ["create"]], ids=["answered", "answer lost"])
def test_a_new_cluster_that_is_not_listed_yet_is_not_made_again(lost: list[str]) -> None:
    for after in (False, True):
        for point in POINTS[:30]:
            world = stage()
            world.clusters.lost += lost
            world.clusters.unlisted = timedelta(seconds=150)
            world.gate.die_at, world.gate.after = point, after
            world.rehearse()
            world.run()
            ended(world, Result.PASSED)
            assert len(world.clusters.created) == 1, world.gate.died


def test_a_result_that_is_written_stands() -> None:
    world = stage()
    world.rehearse()
    world.run()
    before = world.record()
    said = world._invoke("watch_rehearsal", {"rehearsal_id": "r-1"})
    assert (said["status"], said["result"]) == ("over", "PASSED")
    assert world.record() == before


def test_a_long_rehearsal_lives_as_long_as_somebody_looks() -> None:
    world = stage(hang, rehearsal=replace(TERMS, timeout_s=3 * 3600))
    world.rehearse()
    for _ in range(4):
        world.run(for_s=1800)
        assert world.tidy() == {"cleared": [], "left": []}
    world.rehearse("r-2")
    world.run()
    assert world.executions["r-2"].status == "FAILED"
    ended(world, Result.FAILED)
    assert len(world.clusters.created) == 1


def test_a_cluster_that_may_still_appear_is_waited_for_before_all_is_said_to_be_gone() -> None:
    world = stage()
    world.clusters.lost.append("create")
    world.clusters.unlisted = timedelta(seconds=150)
    world.later(1, lambda: world.control.set_pause(Pause("ALICE", "moving racks", T0)))
    world.rehearse()
    world.run()
    ended(world, Result.INCONCLUSIVE)
    assert len(world.clusters.created) == len(world.clusters.deleted) == 1


def test_a_delete_of_which_nothing_comes_is_called_again_after_a_while() -> None:
    world = stage()
    world.clusters.deaf = 1
    world.rehearse()
    world.run()
    ended(world, Result.PASSED)
    assert len(world.clusters.deleted) == 2
    ended_at = world.record().ended_at
    assert ended_at is not None
    assert ended_at - T0 > timedelta(minutes=10), "not at each look: an accepted delete has time to show"


def test_a_cluster_that_is_busy_is_deleted_later() -> None:
    world = stage()
    world.clusters.refuse += [("delete", Conflict("another operation is under way"))] * 5
    world.rehearse()
    world.run()
    ended(world, Result.PASSED)


def test_a_cluster_that_somebody_deletes_tells_nothing_of_the_scripts() -> None:
    world = stage(stay)
    world.rehearse()
    world.later(20, lambda: world.clusters.delete_cluster(world.record().cluster))
    world.later(30, world.clusters.settle)
    world.run()
    ended(world, Result.INCONCLUSIVE)
    assert "somebody deleted it" in world.record().reason
    assert world.record().log_group, "its output is still there"


def test_a_cluster_that_cannot_be_deleted_is_told_of() -> None:
    world = stage()
    world.clusters.settle_deletes = False
    world.rehearse()
    world.run(for_s=6 * 3600)
    assert [t for t in titles(world, NoticeKind.RUN_STOPPED) if "still stands" in t]
    assert world.record().under_way
    world.clusters.settle_deletes = True
    world.run()
    ended(world, Result.PASSED)
