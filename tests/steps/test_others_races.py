"""Races with others: their repair, its news, clicks and crashes in any order. Nothing is done to a new instance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import permutations, product
from typing import Any

import pytest

from roundhouse.contracts.commands import Verb
from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.approval import Approval, ApprovalStatus
from roundhouse.line.incident import IncidentState
from roundhouse.line.policy import Mode
from tests.steps.asl import Died
from tests.steps.samples import click_newest, house
from tests.steps.test_others import call_of, cluster_event, theirs, waiting
from tests.steps.test_repair import REPLACE, fail
from tests.steps.world import World

Act = Callable[[World, str], Any]


def their_replacement(world: World, instance: str) -> None:
    """Unless our own call was faster: HyperPod refuses a second one."""
    if any(n.instance_id == instance and n.status == "Running" for n in world.cluster.nodes):
        theirs(world, "replace", instance)


def their_reboot(world: World, instance: str) -> None:
    if any(n.instance_id == instance and n.status == "Running" for n in world.cluster.nodes):
        theirs(world, "reboot", instance)


def news(world: World, instance: str) -> None:
    world.take(cluster_event(world, instance, f"Instance {instance} is starting as part of instance replacement"))


def trail(world: World, instance: str) -> None:
    world.take(call_of(world, "BatchReplaceClusterNodes", instance))


def click(world: World, instance: str) -> None:
    click_newest(world, "approve")


@pytest.mark.parametrize("repair", [their_replacement, their_reboot], ids=lambda each: each.__name__)
@pytest.mark.parametrize("word", [news, trail], ids=lambda each: each.__name__)
def test_every_order_of_repair_news_and_click_ends_well(repair: Act, word: Act) -> None:
    for order, gap in product(permutations((repair, word, click)), (0, 20, 70, 400)):
        world = house(mode=Mode.ASK, ladder=REPLACE)
        instance = fail(world)
        waiting(world)
        for number, act in enumerate(order):
            world.later(number * gap, partial(act, world, instance))
        world.run()
        world.cluster.settle()  # an incident whose instance is gone does not wait for the new one
        story = f"{[act.__name__ for act in order]} every {gap} s: {world.incident(instance)}"
        assert world.incident(instance).state is IncidentState.CLOSED, story
        made = world.cluster.made("replace")
        assert made in ([], [(instance,)]), story  # once at most, and never the new instance
        assert world.running() == world.cluster.groups["workers"].target == 20, story
        if repair is their_replacement and order.index(repair) < order.index(click):
            assert made == [], story
        cordoned = {c.instance_id for c in world.agent.commands if c.verb is Verb.CORDON}
        assert cordoned == {instance}, story
        assert world.agent.commands[-1].verb is Verb.RESUME, story


def test_a_death_at_any_moment_of_taking_a_question_back_leaves_nobody_waiting() -> None:
    at = 1
    while True:
        world = house(mode=Mode.ASK, ladder=REPLACE)
        instance = fail(world)
        waiting(world)
        theirs(world, "replace", instance)
        envelope = cluster_event(world, instance, f"Instance {instance} is starting as part of instance replacement")
        world.gate.calls.clear()
        world.gate.die_at = at
        try:
            world.take(envelope)
        except Died:
            world.gate.die_at = None
            assert world.take(envelope) == []  # the queue delivers it again
        done = not world.gate.died
        world.gate.die_at = None
        [approval] = world.approvals.records.values()
        assert approval.status is ApprovalStatus.OUTDATED, world.gate.died
        world.run(for_s=900)
        assert world.incident(instance).state is IncidentState.CLOSED, world.gate.died
        assert len(world.told(NoticeKind.APPROVAL_SETTLED)) == 1
        assert world.cluster.calls == []
        if done:
            assert at > 8  # there were moments to die at
            return
        at += 1


@pytest.mark.parametrize("word", [news, trail], ids=lambda each: each.__name__)
def test_news_between_the_decision_and_the_question_take_it_back_all_the_same(word: Act) -> None:
    world = house(mode=Mode.ASK, ladder=REPLACE)
    instance = fail(world)
    real, told = world.approvals.put, [False]

    def put(approval: Approval) -> Approval:
        if not told[0]:
            told[0] = True
            theirs(world, "replace", instance)
            word(world, instance)
        return real(approval)

    world.approvals.put = put  # type: ignore[method-assign]
    world.run()
    assert told == [True]
    assert [a.status for a in world.approvals.records.values()] == [ApprovalStatus.OUTDATED]
    assert world.incident(instance).state is IncidentState.CLOSED
    assert world.cluster.calls == []
