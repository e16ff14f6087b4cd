"""Rehearsals from beginning to end: the real handlers and state machine; whatever happens, nothing is left standing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from roundhouse.build.rehearsal import TAG, TAG_ID, Rehearsal, Result
from roundhouse.build.spec import ClusterSpec, RehearsalTerms
from roundhouse.contracts.ledger import LedgerState
from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import (
    AccessDenied,
    Conflict,
    InvalidRequest,
    LimitExceeded,
    Refused,
    RoundhouseError,
    Throttled,
    Unavailable,
)
from roundhouse.line.state import NodeStatus
from roundhouse.ports import Pause
from roundhouse.steps.rehearsal import claims
from roundhouse.steps.rehearsal.end import clear
from tests.build import samples
from tests.fakes.cluster import FakeCluster
from tests.fakes.clusters import FakeClusters
from tests.steps.asl import Died, Execution
from tests.steps.samples import account, policy
from tests.steps.world import T0, World

ADDRESS = "s3://sagemaker-unit/lifecycle/on_create.sh"
HELPER = "s3://sagemaker-unit/lifecycle/lib/mount.sh"
TERMS = RehearsalTerms(required=True, timeout_s=1800)
OTHER = replace(samples.group("login", 1, (1.0,), samples.NO_DISCOUNT, "Login"), lifecycle_script="login.sh")


def succeed(cluster: FakeCluster) -> None:
    cluster.settle()
    _script(cluster, "Started")
    _script(cluster, "Succeeded")


def fail(cluster: FakeCluster) -> None:
    """The script fails, and a controller that fails is the end of the cluster."""
    _script(cluster, "Started")
    _script(cluster, "Failed")
    cluster.status, cluster.failure = "Failed", "Lifecycle scripts did not run successfully."
    cluster.set_status(_node(cluster), NodeStatus.FAILURE, cluster.failure)


def hang(cluster: FakeCluster) -> None:
    if not any("has Started" in event.description for event in cluster.told):
        _script(cluster, "Started")


def stay(cluster: FakeCluster) -> None:
    """Nothing comes."""


def starve(cluster: FakeCluster) -> None:
    cluster.status, cluster.failure = "Failed", "We currently do not have sufficient capacity to launch instances."


def silence(cluster: FakeCluster) -> None:
    """It runs, and nobody says how its scripts ended."""
    cluster.settle()


def _node(cluster: FakeCluster) -> str:
    return cluster.nodes[0].instance_id or ""


def _script(cluster: FakeCluster, state: str) -> None:
    text = f"Instance lifecycle script execution for EC2InstanceId {_node(cluster)} has {state}"
    cluster.tell(text, group="controller", instance_id=_node(cluster), lifecycle_state=state)


class Stage(World):
    """A world whose HyperPod holds several clusters. `outcome` is what becomes of a throw-away one."""

    def __init__(self, spec: ClusterSpec, outcome: Callable[[FakeCluster], None] = succeed) -> None:
        super().__init__(spec, policy())
        account(self)
        self.surroundings.objects.add(HELPER)
        self.clusters = FakeClusters(self.clock)
        self.clusters.outcome = outcome
        self.cluster = self.clusters  # type: ignore[assignment]

    def rehearse(self, name: str = "r-1") -> Execution:
        return self.begin("rehearse", name, {"by": "sam"})

    def tidy(self) -> Any:
        return self._invoke("end_rehearsal", {})

    def record(self) -> Rehearsal:
        newest = self.rehearsals.newest()
        assert newest is not None
        return newest


def stage(outcome: Callable[[FakeCluster], None] = succeed, **changes: Any) -> Stage:
    return Stage(samples.spec(samples.group(count=5), **{"rehearsal": TERMS, **changes}), outcome)


def ended(world: Stage, result: Result, name: str = "r-1") -> None:
    """It ended with that result, kept under its digest, and nothing stands."""
    record, execution = world.record(), world.executions[name]
    context = (record.reason, execution.visited[-6:], execution.errors, world.gate.died)
    assert record.result is result, context
    assert not record.under_way, context
    assert execution.status == ("SUCCEEDED" if result is Result.PASSED else "FAILED"), context
    assert world.clusters.standing() == [], context


def titles(world: Stage, kind: NoticeKind) -> list[str]:
    return [notice.title for notice in world.told(kind)]


def _calls() -> int:
    world = stage()
    world.rehearse()
    world.run()
    return len(world.gate.calls)


POINTS = range(1, _calls() + 1)


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
        _script(cluster, "Failed")
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
    _script(theirs, "Succeeded")
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


# Killed at any point ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("outcome", [succeed, fail])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_step_is_killed_at_any_call_and_tried_again(after: bool, outcome: Callable[[FakeCluster], None]) -> None:
    for point in POINTS:
        world = stage(outcome)
        world.gate.die_at, world.gate.after = point, after
        world.rehearse()
        world.run()
        ended(world, Result.PASSED if outcome is succeed else Result.FAILED)
        assert len(world.clusters.known) == 1, world.gate.died
        assert set(world.clusters.deleted) == {world.clusters.known[0].arn}
        assert len([n for n in world.outbox.notices if n.notice_id.startswith("rehearsal-end:")]) == 1


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_an_execution_is_stopped_at_any_call_and_nothing_stays(after: bool) -> None:
    for point in POINTS:
        world = stage()
        world.gate.die_at, world.gate.after = point, after
        inner = world.call

        def call(
            resource: str, arguments: dict[str, Any], world: Stage = world, inner: Callable[..., Any] = inner
        ) -> Any:
            try:
                return inner(resource, arguments)
            except Died:
                world.stop("r-1")
                raise

        world.call = call  # type: ignore[method-assign]
        world.rehearse()
        world.run()
        for _ in range(12):
            world.clock.at = world.now + timedelta(minutes=15)
            world.clusters.settle()
            world.tidy()
        assert world.clusters.standing() == [], world.gate.died
        newest = world.rehearsals.newest()
        assert newest is None or not newest.under_way, world.gate.died


def test_notices_of_a_rehearsal_stay_in_its_thread() -> None:
    world = stage()
    world.rehearse()
    world.run()
    threads: set[str] = {notice.thread for notice in world.outbox.notices}
    assert threads == {"rehearsal:r-1"}
    first: Notice = world.outbox.notices[0]
    assert first.facts["By"] == "sam"
