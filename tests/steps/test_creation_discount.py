"""Creations whose discount is lost or not known: people roll back, hold or accept, and silence rolls back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.state import NodeStatus
from tests.build import samples
from tests.steps.samples import account, cluster_spec, empty_account, policy
from tests.steps.test_creation import answering, record, verdicts
from tests.steps.world import T0, World


def test_lost_at_stage_one_and_silence_deletes_the_cluster_and_no_storage() -> None:
    world = empty_account()
    world.cluster.on_demand.add("workers")
    execution = world.create()
    world.run()
    assert execution.status == "SUCCEEDED"
    assert record(world).status == "rolled_back"
    assert world.cluster.status == ""
    last = world.cluster.calls[-1]
    assert (last.operation, last.arguments) == ("delete_cluster", (world.cluster.arn,))  # the very one that was judged
    [question] = world.told(NoticeKind.APPROVAL_ASKED)
    assert "LOST" in question.title
    assert "500 USD" in question.facts["Cap"]
    [end] = world.told(NoticeKind.APPROVAL_SETTLED)
    assert "Nobody answered" in end.text


def test_lost_while_nodes_are_still_on_their_way_cancels_them_before_people_are_asked() -> None:
    world = empty_account()
    world.cluster.on_demand.add("workers")
    pending: list[int] = []

    def watch() -> None:
        asked = world.told(NoticeKind.APPROVAL_ASKED)
        if asked and not pending:
            pending.append(sum(n.status is NodeStatus.PENDING for n in world.cluster.nodes))

    world.each_moment = watch
    world.boot_s = 240
    world.create()
    world.run()
    assert pending == [0]


def test_unverified_silence_rolls_back_even_when_slack_is_away() -> None:
    world = empty_account()
    world.slack_up = False
    world.cluster.on_demand.add("workers")
    world.create()
    world.run()
    assert record(world).status == "rolled_back"
    assert world.cluster.status == ""


def test_accept_goes_on_and_asks_no_second_time() -> None:
    world = empty_account()
    world.cluster.on_demand.add("workers")
    world.people = answering("accept")
    execution = world.create()
    world.run()
    assert execution.output["status"] == "done", (execution.visited, execution.errors)
    assert len(world.told(NoticeKind.APPROVAL_ASKED)) == 1
    assert verdicts(world) == ["ACCEPTED"] * 3
    assert world.running() == world.cluster.highest["workers"] == 5
    assert execution.output["actual_usd_per_hour"] == pytest.approx(5 * 16.0 + 0.5)


def test_hold_keeps_everything_and_a_second_run_asks_before_it_adds() -> None:
    world = empty_account()
    world.cluster.on_demand.add("workers")
    world.people = answering("hold")
    execution = world.create()
    world.run()
    assert execution.status == "SUCCEEDED"
    assert record(world).status == "held"
    assert world.cluster.status == "InService"
    launched = world.cluster.launched["workers"]
    world.people = answering("accept")
    second = world.create("run-2")
    world.run()
    assert second.output["status"] == "done", second.errors
    first_question, again = world.told(NoticeKind.APPROVAL_ASKED)
    assert first_question.notice_id != again.notice_id
    before = [n.notice_id for n in world.outbox.notices].index(again.notice_id)
    assert not [n for n in world.outbox.notices[:before] if "run-2:add" in n.notice_id]
    assert world.running() == 5
    assert world.cluster.launched["workers"] - launched == 5 - 3


def test_lost_at_stage_two_deletes_the_unverified_nodes_alone() -> None:
    world = empty_account()
    world.each_moment = lambda: world.cluster.on_demand.add("workers") if world.running() == 3 else None
    world.create()
    world.run()
    run = record(world)
    assert run.status == "rolled_back"
    assert sorted(run.proven) == sorted(n.instance_id or "" for n in world.cluster.nodes if n.group == "workers")
    assert world.running() == world.cluster.groups["workers"].target == 3
    assert not world.cluster.made("delete_cluster")
    assert world.cluster.created == 1


def test_rollback_after_an_acceptance_keeps_the_accepted_nodes() -> None:
    world = empty_account()
    world.cluster.on_demand.add("workers")
    world.people = answering("accept")
    world.create()
    world.each_moment = lambda: world.stop("run-1") if world.running() == 4 else None
    world.run()
    assert world.running() == 4
    world.each_moment = lambda: None
    world.people = lambda notice: None
    world.create("run-2")
    world.run()
    assert record(world).status == "rolled_back"
    assert not world.cluster.made("delete_cluster")
    assert world.running() >= 3


def test_unknown_is_waited_for_and_then_asked() -> None:
    world = empty_account()
    world.surroundings.plans = {samples.PLAN: samples.plan(status="Pending", starts_at=None, ends_at=None)}
    world.surroundings.plans[samples.PLAN] = replace(world.surroundings.plans[samples.PLAN], status="Active")
    world.create()
    world.each_moment = lambda: world.surroundings.plans.update(
        {samples.PLAN: samples.plan(status="Updating")} if world.running() else {}
    )
    world.run()
    run = record(world)
    assert run.status == "rolled_back"
    [question] = world.told(NoticeKind.APPROVAL_ASKED)
    assert "UNKNOWN" in question.title


def test_bill_is_waited_for_within_the_history_limit_and_no_longer_than_it_may_take() -> None:
    spec = cluster_spec(samples.group(count=5, discount=samples.BY_ACCOUNT))
    world = account(World(spec, policy()))
    world.surroundings.plans = {}

    def bill() -> None:
        if world.now > T0 + timedelta(hours=27):
            world.surroundings.bill = [
                samples.billed(h, "Cluster-Reserved", max(3, world.running()), 8.0) for h in range(1, 120)
            ]

    world.each_moment = bill
    execution = world.create()
    world.run()
    assert execution.output["status"] == "done", execution.output
    looks = execution.visited.count("WatchStage")
    assert looks < 3 * 27 * 2 + 60
    assert verdicts(world) == ["VERIFIED"] * 3


def _patience_of_the_question(lose: Callable[[World], None]) -> float:
    """Seconds that people have to answer; the creation then ends by silence, under the cap of 100 USD."""
    world = account(World(cluster_spec(rollback_dollar_cap=100.0, ask_timeout_s=7 * 86400), policy()))
    execution = world.create()
    asked: list[float] = []

    def watch() -> None:
        lose(world)
        if execution.waiting and execution.waiting.token and not asked:
            asked.append((execution.waiting.at - world.now).total_seconds())

    world.each_moment = watch
    world.run()
    assert record(world).status == "rolled_back"
    spent = 3 * 8.0 * (world.now - T0).total_seconds() / 3600
    assert spent <= 100.0 + 1.0
    return asked[0]


def _plan_unreadable(world: World) -> None:
    """From the first node on: nothing is known, and that is waited for two hours before people are asked."""
    if world.running():
        world.surroundings.plans[samples.PLAN] = samples.plan(status="Updating")


def test_what_was_spent_already_shortens_the_question() -> None:
    at_once = _patience_of_the_question(lambda world: world.cluster.on_demand.add("workers"))
    after_two_hours = _patience_of_the_question(_plan_unreadable)
    assert 6600 < at_once - after_two_hours < 7800
