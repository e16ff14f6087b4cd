"""Creations of clusters without continuous provisioning: absolute counts, roll-backs, others at the same cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from roundhouse.build.lock import ScaleLock
from roundhouse.build.spec import StageWaits
from roundhouse.contracts.ledger import LedgerState
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import Conflict, RoundhouseError, Throttled, Unavailable
from roundhouse.line.state import Node, NodeStatus
from roundhouse.ports import Pause, PlanState
from tests.build import samples
from tests.steps.legacy import SCRIPT, SHORTAGE, LegacyCluster, empty_account, legacy_of, legacy_spec
from tests.steps.test_creation import record, titles, verdicts
from tests.steps.world import T0, World

GROWTH = [("workers", 3, 4), ("workers", 4, 5)]


def complete(world: World) -> None:
    """The contract stands, no node was killed, and nobody holds the lock."""
    cluster = legacy_of(world)
    assert world.running() == cluster.groups["workers"].target == cluster.highest["workers"] == 5
    assert cluster.killed == []
    assert verdicts(world) == ["VERIFIED"] * 3
    assert world.locks.get("train").owner == ""
    open_ = {LedgerState.CLAIMED, LedgerState.CALLED, LedgerState.UNKNOWN}
    assert not [e for e in world.ledger.records.values() if e.kind == "update_cluster" and e.state in open_]


def test_plain_creation_grows_in_stages_by_absolute_counts() -> None:
    world = empty_account()
    execution = world.create()
    world.run()
    assert execution.output["status"] == "done", (execution.visited, execution.errors, execution.output)
    assert legacy_of(world).updates == GROWTH
    complete(world)
    assert len(record(world).proven) == 5
    assert set(world.outbox.sent.values()) == {1}
    counts = [(e.from_count, e.to_count) for e in world.ledger.records.values() if e.kind == "update_cluster"]
    assert sorted(counts) == [(3, 4), (4, 5)]


@pytest.mark.parametrize("call", range(3))
@pytest.mark.parametrize(
    "failure", [Throttled("slow down"), Unavailable("503"), Conflict("busy")], ids=lambda f: type(f).__name__
)
def test_call_that_fails_is_made_again(failure: RoundhouseError, call: int) -> None:
    world = empty_account()
    _before(world, call, lambda cluster: cluster.fail_next(failure))
    execution = world.create()
    world.run()
    assert execution.output["status"] == "done", execution.errors
    assert legacy_of(world).updates == GROWTH
    complete(world)


@pytest.mark.parametrize("call", range(3))
def test_lost_answer_is_judged_by_live_state_and_never_called_again(call: int) -> None:
    world = empty_account()
    _before(world, call, lambda cluster: cluster.lose_next_answer())
    execution = world.create()
    world.run()
    assert execution.output["status"] == "done", execution.errors
    assert legacy_of(world).updates == GROWTH
    complete(world)


def _before(world: World, call: int, what: Callable[[LegacyCluster], None]) -> None:
    """Do `what` once, when so many calls have been made."""
    done: list[bool] = []

    def moment() -> None:
        if not done and len(world.cluster.calls) == call:
            done.append(True)
            what(legacy_of(world))

    world.each_moment = moment


# What HyperPod undoes --------------------------------------------------------------------------------------------
def test_shortage_undoes_an_update_and_is_tried_again_after_a_while() -> None:
    world = empty_account()
    legacy_of(world).undo = ["", SHORTAGE, SHORTAGE, SHORTAGE]
    execution = world.create()
    world.run()
    assert execution.output["status"] == "done", execution.errors
    assert legacy_of(world).updates == [("workers", 3, 4)] * 4 + [("workers", 4, 5)]
    complete(world)
    undone = [title for title in titles(world, NoticeKind.RUN_PROGRESS) if "undid the update" in title]
    assert len(undone) == 1
    failed = [e.detail for e in world.ledger.records.values() if e.state is LedgerState.FAILED]
    assert failed == [f"rolled back: {SHORTAGE}"] * 3


def test_shortage_is_waited_for_no_longer_than_the_environment_says() -> None:
    world = empty_account(legacy_spec(waits=StageWaits(shortage_timeout_s=7200)))
    legacy_of(world).undo = ["", *[SHORTAGE] * 500]
    execution = world.create()
    world.run()
    assert execution.status == "FAILED"
    assert timedelta(hours=2) < world.now - T0 < timedelta(hours=3)
    assert record(world).status == "failed"
    [told] = world.told(NoticeKind.RUN_STOPPED)
    assert "no capacity since" in told.text
    assert world.running() == 3
    assert world.locks.get("train").owner == ""
    legacy_of(world).undo = []
    second = world.create("run-2")
    world.run()
    assert second.output["status"] == "done", "a new run has its own patience"


def test_failed_script_stops_the_ramp_at_once_and_names_the_log() -> None:
    world = empty_account()
    legacy_of(world).undo = ["", SCRIPT]
    execution = world.create()
    world.run()
    assert execution.status == "FAILED"
    assert legacy_of(world).updates == [("workers", 3, 4)]
    [told] = world.told(NoticeKind.RUN_STOPPED)
    assert "/aws/sagemaker/Clusters/train/a1b2c3d4e5f0" in told.text
    assert "StopRamp" not in execution.visited
    second = world.create("run-2")
    world.run()
    assert second.output["status"] == "done", "the script was corrected"
    complete(world)


@pytest.mark.parametrize("times", [2, 3])
def test_other_failure_is_tried_three_times(times: int) -> None:
    world = empty_account()
    legacy_of(world).undo = ["", *["Something went wrong"] * times]
    execution = world.create()
    world.run()
    assert (execution.status == "SUCCEEDED") == (times < 3)
    assert legacy_of(world).updates[:3] == [("workers", 3, 4)] * 3


def test_creation_that_hyperpod_undid_is_cleared_away_and_told() -> None:
    world = empty_account()
    legacy_of(world).undo = [SCRIPT]
    execution = world.create()
    world.run()
    assert execution.status == "FAILED"
    assert [c.operation for c in world.cluster.calls] == ["create", "delete_cluster"]
    assert world.cluster.status == ""
    [told] = world.told(NoticeKind.RUN_STOPPED)
    assert "Lifecycle scripts did not run" in told.text
    assert "was deleted" in told.text
    second = world.create("run-2")
    world.run()
    assert second.output["status"] == "done"
    complete(world)


def test_failed_cluster_that_somebody_else_made_is_left_alone() -> None:
    world = empty_account()
    execution = world.create()
    world.run(for_s=30)
    legacy_of(world).arn = legacy_of(world).arn[:-1] + "9"  # deleted and made again by a person
    legacy_of(world).undo = [SCRIPT]
    world.run()
    assert execution.status == "FAILED"
    assert [c.operation for c in world.cluster.calls] == ["create"]
    assert world.cluster.status in {"RollingBack", "Failed"}  # not deleted
    assert "the other one is left alone" in world.told(NoticeKind.RUN_STOPPED)[0].text


# The count is not trusted ----------------------------------------------------------------------------------------
def _unsettled(world: World, seconds: float, change: Callable[[LegacyCluster, Node], None]) -> Node:
    """A creation whose second stage is due, on live state that a test has made odd."""
    changed: list[Node] = []

    def moment() -> None:
        if not changed and world.cluster.status == "InService":
            changed.append(next(n for n in world.cluster.nodes if n.group == "workers"))
            change(legacy_of(world), changed[0])

    world.each_moment = moment
    world.create()
    world.run(for_s=180 + seconds)
    return changed[0]


@pytest.mark.parametrize("status", [NodeStatus.UNKNOWN, NodeStatus.SYSTEM_UPDATING, NodeStatus.NOT_FOUND])
def test_no_count_is_sent_while_a_node_is_in_a_state_that_says_nothing(status: NodeStatus) -> None:
    world = empty_account()
    node = _unsettled(world, 1200, lambda cluster, n: cluster.set_status(n.instance_id or "", status))
    assert legacy_of(world).updates == []
    world.cluster.set_status(node.instance_id or "", NodeStatus.RUNNING)
    world.run()
    complete(world)


@pytest.mark.parametrize("listed", [2, 4])
def test_no_count_is_sent_while_list_and_counts_disagree(listed: int) -> None:
    world = empty_account()
    kept: list[Node] = []

    def disagree(cluster: LegacyCluster, node: Node) -> None:
        kept.extend(cluster.nodes)
        if listed < 3:
            cluster.nodes.remove(node)
        else:
            cluster.nodes.append(replace(node, instance_id="i-0fffffffffffffff0"))

    _unsettled(world, 1200, disagree)
    assert legacy_of(world).updates == []
    world.cluster.nodes = kept
    world.run()
    complete(world)


@pytest.mark.parametrize(
    "change",
    [
        {"LifeCycleConfig": {"SourceS3Uri": "s3://sagemaker-other/", "OnCreate": "on_create.sh"}},
        {"TrainingPlanArn": "arn:aws:sagemaker:us-west-2:111122223333:training-plan/other"},
        {"ExecutionRole": "arn:aws:iam::111122223333:role/other"},
        {"ThreadsPerCore": 2},
        {"InstanceStorageConfigs": [{"EbsVolumeConfig": {"VolumeSizeInGB": 500}}]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_group_that_is_not_as_the_environment_says_is_refused(change: dict[str, object]) -> None:
    world = empty_account()
    _unsettled(world, 0, lambda cluster, _: cluster.settings["workers"].update(change))
    world.run()
    assert legacy_of(world).updates == []
    [told] = world.told(NoticeKind.RUN_STOPPED)
    assert next(iter(change)) in told.text


def test_settings_that_the_environment_knows_nothing_of_are_sent_as_they_are() -> None:
    world = empty_account()
    extra = {"ScheduledUpdateConfig": {"ScheduleExpression": "cron(0 0 ? * SUN *)"}, "NetworkInterface": {}}
    _unsettled(world, 0, lambda cluster, _: cluster.settings["workers"].update(extra))
    world.run()  # the cluster in memory refuses a request that would change anything but the count
    complete(world)


# Others at the same cluster --------------------------------------------------------------------------------------
def test_somebody_elses_update_is_waited_for_and_its_nodes_are_kept() -> None:
    world = empty_account()
    _unsettled(world, 0, lambda cluster, _: cluster.somebody_updates("workers", 5))
    world.run()
    assert world.executions["run-1"].output["status"] == "done", world.executions["run-1"].errors
    assert legacy_of(world).updates == []
    assert world.running() == 5


def test_lock_of_a_repair_is_waited_for() -> None:
    world = empty_account()
    held = world.locks.put(ScaleLock("train", "inc-1", fence=7, expires_at=T0 + timedelta(hours=1)))
    world.create()
    world.run(for_s=3500)
    assert legacy_of(world).updates == []
    assert world.locks.get("train") == held
    world.run()
    complete(world)


def test_run_that_takes_over_waits_until_the_update_of_the_former_has_ended() -> None:
    world = empty_account()
    world.create()
    world.run(for_s=200)
    assert legacy_of(world).status == "Updating"
    world.stop("run-1")
    world.nodes_boot = False
    second = world.create("run-2")
    world.run(for_s=3600)
    assert world.locks.get("train").owner == "run-1", "the lease is over, the operation is not"
    assert len(legacy_of(world).updates) == 1
    world.nodes_boot = True
    world.run()
    assert second.output["status"] == "done", second.errors
    complete(world)


def test_pause_holds_a_ramp_but_what_was_called_is_written_down() -> None:
    world = empty_account()
    execution = world.create()
    world.run(for_s=200)
    assert legacy_of(world).status == "Updating"
    world.control.set_pause(Pause("U0ALICE", "moving racks", T0))
    world.run(for_s=7200)
    assert len(legacy_of(world).updates) == 1
    assert world.locks.get("train").owner == ""
    world.control.set_pause(None)
    world.run()
    assert execution.output["status"] == "done"
    complete(world)


# The discount ----------------------------------------------------------------------------------------------------
def test_counters_that_did_not_rise_lose_the_discount_and_people_are_asked() -> None:
    world = empty_account()
    legacy_of(world).on_demand.add("workers")
    world.people = lambda notice: ("roll_back", 60)
    execution = world.create()
    world.run()
    assert execution.output["status"] == "rolled_back", (execution.visited, execution.errors)
    assert world.cluster.status == ""
    assert legacy_of(world).updates == []


def test_lost_discount_of_a_later_stage_takes_back_its_nodes_alone() -> None:
    world = empty_account()
    _before(world, 1, lambda cluster: cluster.on_demand.add("workers"))
    world.people = lambda notice: ("roll_back", 60)
    execution = world.create()
    world.run()
    assert execution.output["status"] == "rolled_back", (execution.visited, execution.errors)
    assert world.running() == world.cluster.groups["workers"].target == 3
    assert legacy_of(world).killed == []
    assert world.locks.get("train").owner == ""


def test_node_that_is_being_repaired_is_not_cancelled_when_a_stage_gives_up() -> None:
    """Nothing is launched between two updates: what is Pending on a legacy cluster is somebody's repair."""
    world = empty_account()
    done: list[bool] = []

    def moment() -> None:
        if not done and world.cluster.status == "InService":
            done.append(True)
            worker = next(n.instance_id or "" for n in world.cluster.nodes if n.group == "workers")
            world.nodes_boot = False
            world.cluster.set_status(worker, NodeStatus.PENDING)

    world.each_moment = moment
    execution = world.create()
    world.run()
    assert "StopRamp" in execution.visited
    assert record(world).status == "failed"
    assert [c.operation for c in world.cluster.calls] == ["create"]


def test_a_plan_that_others_use_too_proves_nothing_without_the_bill() -> None:
    world = empty_account(legacy_spec(waits=StageWaits(discount_timeout_s=7200)))
    real = world.surroundings.plan

    def shared(arn: str) -> PlanState:
        known = real(arn)
        used = known.in_use if world.cluster.status in {"", "Creating"} else known.in_use + 2
        return replace(known, in_use=used)

    world.surroundings.plan = shared  # type: ignore[method-assign]
    world.create()
    world.run(for_s=4 * 3600)
    assert legacy_of(world).updates == []
    assert "there are no events, and only the bill proves it" in record(world).step


def test_continuous_cluster_is_refused() -> None:
    world = empty_account(legacy_spec(samples.group(count=5)))
    _unsettled(world, 0, lambda cluster, _: setattr(cluster, "continuous", True))
    world.run()
    assert legacy_of(world).updates == []
    assert "the environment says legacy" in world.told(NoticeKind.RUN_STOPPED)[0].text
