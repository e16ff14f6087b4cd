"""Maintenance under attack: lists that lag or are empty, tables set back, times that stand for none, patching."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.incident import Outcome
from roundhouse.line.policy import Mode
from roundhouse.triage.maintenance import Maintenance
from tests.steps.health import HOUR, maintained, message, windows_of
from tests.steps.samples import health, worker
from tests.steps.test_maintenance_others import Slurm
from tests.steps.test_repair import answering, verbs
from tests.steps.world import T0, World

DAY = 24 * HOUR


def hide(world: World, *instances: str) -> None:
    """The list omits these instances, or all of them, until `world.cluster.nodes` is set back."""
    world.cluster.nodes = [n for n in world.cluster.nodes if instances and n.instance_id not in instances]


def first_look(world: World, envelope: dict[str, Any]) -> list[dict[str, str]]:
    """Deliver a message for the first time, as the queue counts."""
    record = {"messageId": "0", "body": json.dumps(envelope), "attributes": {"ApproximateReceiveCount": "1"}}
    failed: list[dict[str, str]] = world._invoke("intake_signals", {"Records": [record]})["batchItemFailures"]
    return failed


def test_a_message_that_meets_an_empty_list_comes_again() -> None:
    world = maintained()
    node, nodes = worker(world, 3), world.cluster.nodes
    hide(world)
    assert world.take(message(world, [node])) == ["0"]
    world.cluster.nodes = nodes
    assert world.take(message(world, [node])) == []
    world.run()
    assert verbs(world) == [("cordon", node), ("resume", node)]


def test_a_message_about_an_instance_that_the_list_omits_is_looked_at_twice() -> None:
    world = maintained()
    node, nodes = worker(world, 3), world.cluster.nodes
    hide(world, node)
    assert first_look(world, message(world, [node])) == [{"itemIdentifier": "0"}]
    world.cluster.nodes = nodes
    assert world.take(message(world, [node])) == []
    assert len(windows_of(world, node)) == 1


def test_a_message_about_instances_of_others_goes_after_the_second_look() -> None:
    world = maintained()
    assert world.take(message(world, ["i-0eeeeeeeeeeeeeee1"])) == []
    assert world.incidents.records == {}


@pytest.mark.parametrize("omit_all", [True, False])
def test_a_list_that_omits_a_node_calls_nothing_off(omit_all: bool) -> None:
    world = maintained(mode=Mode.ASK)
    node, nodes = worker(world, 3), world.cluster.nodes
    world.take(message(world, [node]))
    world.run(for_s=(DAY - 2 * HOUR).total_seconds() + 60)
    assert len(world.told(NoticeKind.APPROVAL_ASKED)) == 1
    hide(world, *([] if omit_all else [node]))
    world.take(message(world, [node], communication="c-2"))
    world.cluster.nodes = nodes
    world.run(for_s=60)
    assert world.told(NoticeKind.APPROVAL_SETTLED) == [], "the question stands"
    assert not [n.title for n in world.told(NoticeKind.MAINTENANCE) if "called off" in n.title]


def test_a_table_set_back_to_before_the_message_gives_no_node_back_into_its_window() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.later((DAY - HOUR).total_seconds(), world.maintenances.records.clear)
    world.run()
    assert verbs(world) == [("cordon", node), ("resume", node)]
    assert world.agent.commands[1].issued_at >= T0 + 2 * DAY, "without an end on record a window lasts a day"
    assert windows_of(world, node)[0].outcome is Outcome.RETURNED


def test_a_table_set_back_to_the_former_window_does_not_bring_that_back() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node]))
    before: dict[str, Maintenance] = dict(world.maintenances.records)
    world.run(for_s=60)
    world.take(message(world, [node], communication="c-2", starts=3 * DAY, ends=3 * DAY + HOUR))
    world.later(60, lambda: world.maintenances.records.update(before))
    world.run()
    assert [c.issued_at for c in world.agent.commands if c.verb.value == "cordon"] == [T0 + 3 * DAY - 2 * HOUR]


@pytest.mark.parametrize("placeholder", ["Fri, 31 Dec 9999 23:00:00 GMT", "0001-01-01T00:00:00Z"])
@pytest.mark.parametrize("member", ["startTime", "endTime"])
def test_a_time_that_stands_for_none_is_none(member: str, placeholder: str) -> None:
    world = maintained()
    node = worker(world, 3)
    said = message(world, [node])
    said["detail"][member] = placeholder
    assert world.take(said) == []
    world.run()
    drained = [("cordon", node), ("resume", node)] if member == "endTime" else []
    assert verbs(world) == drained
    assert {i.outcome for i in windows_of(world, node)} <= {Outcome.RETURNED}


def test_while_hyperpod_patches_nobody_is_asked_again_and_again() -> None:
    world = maintained(mode=Mode.ASK)
    world.people = answering("approve")
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.run(for_s=(DAY - 2 * HOUR).total_seconds() - 60)
    group = world.cluster.groups["workers"]
    world.cluster.groups["workers"] = replace(group, software_update="InProgress")
    for minute in range(1, 40):  # news of another node: live state is read
        world.later(60 * minute, lambda: world.take(health(world, worker(world, 7))))
    world.run(for_s=2400)
    assert (world.told(NoticeKind.APPROVAL_ASKED), world.agent.commands) == ([], [])
    world.cluster.groups["workers"] = group
    world.run(for_s=timedelta(minutes=30).total_seconds())
    assert len([n for n in world.told(NoticeKind.APPROVAL_ASKED) if node in n.title]) == 1
    assert verbs(world) == [("cordon", node)]


def test_a_second_drain_that_the_agent_takes_late_is_not_taken_for_one_that_people_undid() -> None:
    world = maintained()
    node, slurm = worker(world, 3), Slow(world)
    for minute in range(2 * 1440, 4 * 1440):
        world.later(60 * minute, lambda: None)
    world.take(message(world, [node]))
    moved: dict[str, Any] = {"starts": 3 * DAY, "ends": 3 * DAY + HOUR, "communication": "c-2"}
    world.later((DAY - HOUR).total_seconds(), lambda: world.take(message(world, [node], **moved)))
    world.run()
    assert [verb for verb, _ in verbs(world)] == ["cordon", "resume", "cordon", "resume"]
    assert world.agent.commands[3].issued_at > T0 + 3 * DAY + HOUR
    assert windows_of(world, node)[0].outcome is Outcome.RETURNED
    assert slurm.reasons == {}


class Slow(Slurm):
    """An agent that takes its commands a minute and a half after they were sent."""

    def report(self) -> None:
        sent = list(self.world.agent.commands)
        due = [c for c in sent if c.issued_at + timedelta(seconds=90) <= self.world.now]
        self.world.agent.commands[:] = due
        super().report()
        self.world.agent.commands[:] = sent
