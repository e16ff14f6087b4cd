"""Maintenance on the real state machine: drain before the window, return after it, and everything between."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import Unavailable
from roundhouse.line.breaker import BreakerState, BreakerStatus
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import IncidentState, Outcome
from roundhouse.line.policy import Mode, Rule
from roundhouse.line.state import NodeStatus, Pause
from tests.steps.health import HOUR, maintained, message, windows_of
from tests.steps.samples import worker
from tests.steps.test_repair import answering, verbs
from tests.steps.world import T0, World

DAY = 24 * HOUR


def outcome(world: World, instance: str) -> Outcome | None:
    return windows_of(world, instance)[-1].outcome


def sent_at(world: World, verb: str) -> list[datetime]:
    return [c.issued_at for c in world.agent.commands if c.verb.value == verb]


def reboots(world: World, instance: str, at: timedelta, minutes: int = 20) -> None:
    """AWS takes the node at that time and gives it back."""
    world.nodes_boot = False
    world.later(at.total_seconds(), lambda: world.cluster.set_status(instance, NodeStatus.PENDING))
    back = at + timedelta(minutes=minutes)
    world.later(back.total_seconds(), lambda: world.cluster.set_status(instance, NodeStatus.RUNNING))


# The whole line --------------------------------------------------------------------------------------------------
def test_drained_before_the_window_proved_after_it_and_back() -> None:
    world = maintained()
    node = worker(world, 3)
    assert world.take(message(world, [node])) == []
    reboots(world, node, DAY + timedelta(minutes=5))
    world.run()
    assert outcome(world, node) is Outcome.RETURNED
    assert verbs(world) == [("cordon", node), ("resume", node)]
    [drain], [back] = sent_at(world, "cordon"), sent_at(world, "resume")
    assert drain == T0 + DAY - 2 * HOUR
    assert T0 + DAY + HOUR + timedelta(seconds=world.policy.proof_quiet_s) <= back <= T0 + DAY + HOUR * 1.2
    assert world.agent.commands[0].deadline == T0 + DAY, "jobs may run until the window begins"
    assert world.cluster.calls == [], "nothing is asked of HyperPod"
    incident = windows_of(world, node)[0]
    assert {"due", "drain", "return", "proof", "resume"} <= {s.name for s in incident.steps}
    assert all(step.ended_at for step in incident.steps)
    [told] = world.told(NoticeKind.MAINTENANCE)
    assert node in told.facts["Nodes"]


def test_observe_tells_once_and_changes_nothing() -> None:
    world = maintained(mode=Mode.OBSERVE)
    nodes = [worker(world, n) for n in range(8)]
    world.take(message(world, nodes))
    world.run()
    assert {outcome(world, node) for node in nodes} == {Outcome.OBSERVED}
    assert len(world.outbox.notices) == 1
    assert (world.agent.commands, world.cluster.calls) == ([], [])
    assert world.breaker.load(world.spec.cluster).entries == ()


@pytest.mark.parametrize(
    ("answer", "expected", "commands"),
    [("approve", Outcome.RETURNED, ["cordon", "resume"]), ("deny", Outcome.DENIED, []), (None, Outcome.EXPIRED, [])],
)
def test_asked_when_the_drain_is_due(answer: str | None, expected: Outcome, commands: list[str]) -> None:
    world = maintained(mode=Mode.ASK)
    world.people = answering(answer) if answer else lambda notice: None
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.run()
    assert outcome(world, node) is expected
    assert [c.verb.value for c in world.agent.commands] == commands
    [asked] = world.told(NoticeKind.APPROVAL_ASKED)
    assert asked.title.startswith("Drain for maintenance:")
    [approval] = world.approvals.records.values()
    assert approval.asked_at == T0 + DAY - 2 * HOUR


def test_no_question_outlives_the_start_of_its_window() -> None:
    world = maintained(mode=Mode.ASK, lead_s=600)
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.run()
    [approval] = world.approvals.records.values()
    assert approval.expires_at <= T0 + DAY
    assert outcome(world, node) is Outcome.EXPIRED


# Messages --------------------------------------------------------------------------------------------------------
def test_pages_and_copies_in_any_order_are_one_incident_a_node_and_one_message() -> None:
    world = maintained()
    one, two = worker(world, 1), worker(world, 2)
    first, second = (message(world, [n], page=p, pages=2) for p, n in ((1, one), (2, two)))
    copy = message(world, [one], page=1, pages=2, backup=True)
    world.take(second)
    world.run(for_s=3600)
    assert windows_of(world, one) == []
    [told] = world.told(NoticeKind.MAINTENANCE)
    assert "Not complete" in told.facts
    world.take(copy, first, second, copy)  # an hour later
    world.run()
    assert [len(windows_of(world, n)) for n in (one, two)] == [1, 1]
    assert {outcome(world, n) for n in (one, two)} == {Outcome.RETURNED}
    assert len(world.agent.commands) == 4
    [_, redrawn] = world.told(NoticeKind.MAINTENANCE)
    assert redrawn.replaces == told.notice_id
    assert "Not complete" not in redrawn.facts


def test_the_same_message_after_the_end_opens_nothing() -> None:
    world = maintained()
    node = worker(world, 3)
    told = message(world, [node])
    world.take(told)
    world.run()
    before = len(world.outbox.notices)
    world.take(told, message(world, [node], communication="c-9", status="closed"))
    world.run()
    assert len(windows_of(world, node)) == 1
    assert len(world.outbox.notices) == before


def test_what_names_no_node_of_ours_is_noted_and_nothing_is_done() -> None:
    world = maintained()
    world.take(message(world, ["i-0fff0000000000001", "vol-0123456789abcdef0"]))
    world.run()
    assert (world.incidents.records, world.outbox.notices, world.agent.commands) == ({}, [], [])


@pytest.mark.parametrize("entities", [[], ["UNKNOWN"], ["AWS_ACCOUNT"]])
def test_what_does_not_say_which_instances_is_shown_to_people(entities: list[str]) -> None:
    world = maintained()
    world.take(message(world, entities), message(world, entities, communication="c-2"))
    world.run()
    [told] = world.told(NoticeKind.MAINTENANCE)
    assert "not name" in told.title
    assert (world.incidents.records, world.agent.commands) == ({}, [])


def test_work_on_another_service_that_names_nothing_is_not_shown() -> None:
    world = maintained()
    world.take(message(world, [], service="RDS"))
    assert world.outbox.notices == []


def test_work_on_the_cluster_as_a_whole_is_shown_to_people() -> None:
    world = maintained()
    world.take(message(world, [world.cluster.arn], service="SAGEMAKER"))
    world.run()
    [told] = world.told(NoticeKind.MAINTENANCE)
    assert "cluster as a whole" in told.title
    assert world.agent.commands == []


def test_without_a_start_people_are_told_and_nothing_is_drained() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node], starts=None, ends=None))
    world.run()
    [told] = world.told(NoticeKind.MAINTENANCE)
    assert "When is not said" in told.text
    assert (windows_of(world, node), world.agent.commands) == ([], [])


@pytest.mark.parametrize("category", ["issue", "accountNotification"])
def test_other_categories_are_information(category: str) -> None:
    world = maintained()
    world.take(message(world, [worker(world, 3)], eventTypeCategory=category))
    assert (world.incidents.records, world.maintenances.records) == ({}, {})


def test_a_broken_message_goes_to_the_dead_letters_alone() -> None:
    world = maintained()
    node = worker(world, 3)
    assert world.take(message(world, [node], statusCode=""), message(world, [node])) == ["0"]
    assert len(windows_of(world, node)) == 1


def test_while_hyperpod_is_away_the_page_is_kept_and_the_message_comes_again() -> None:
    world = maintained()
    node = worker(world, 3)
    world.cluster.fail_next_read(Unavailable("away"))
    assert world.take(message(world, [node])) == ["0"]
    assert len(world.maintenances.records) == 1
    assert world.take(message(world, [node])) == []
    assert len(windows_of(world, node)) == 1


# The window itself -----------------------------------------------------------------------------------------------
def test_called_off_before_the_drain() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.later(3600, lambda: world.take(message(world, [node], communication="c-2", status="closed")))
    world.run()
    assert outcome(world, node) is Outcome.IGNORED
    assert world.agent.commands == []
    assert [n.title.split()[1] for n in world.told(NoticeKind.MAINTENANCE)] == ["plans", "has"]


def test_called_off_after_the_drain_takes_it_back() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.later(23 * 3600, lambda: world.take(message(world, [node], communication="c-2", status="closed")))
    world.run()
    assert outcome(world, node) is Outcome.RETURNED
    assert verbs(world) == [("cordon", node), ("resume", node)]
    assert sent_at(world, "resume")[0] < T0 + DAY


def test_moved_before_its_drain_it_is_drained_for_the_new_time() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node]))
    moved: dict[str, Any] = {"starts": 48 * HOUR, "ends": 49 * HOUR, "communication": "c-2"}
    world.later(3600, lambda: world.take(message(world, [node], **moved)))
    world.run()
    [incident] = windows_of(world, node)
    assert incident.outcome is Outcome.RETURNED
    assert sent_at(world, "cordon") == [T0 + 46 * HOUR]
    assert len(incident.evidence) == 2


def test_postponed_during_its_drain_it_goes_back_until_the_new_time() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node]))
    moved: dict[str, Any] = {"starts": 72 * HOUR, "ends": 73 * HOUR, "communication": "c-2"}
    world.later(23 * 3600, lambda: world.take(message(world, [node], **moved)))
    world.run()
    assert [v for v, _ in verbs(world)] == ["cordon", "resume", "cordon", "resume"]
    assert sent_at(world, "cordon") == [T0 + 22 * HOUR, T0 + 70 * HOUR]
    assert sent_at(world, "resume")[0] < T0 + 24 * HOUR
    assert len({c.command_id for c in world.agent.commands}) == 4, "an agent that knows ids must see two drains"
    assert outcome(world, node) is Outcome.RETURNED


def test_moved_while_people_are_asked_takes_the_question_back_and_asks_anew() -> None:
    world = maintained(mode=Mode.ASK)
    node = worker(world, 3)
    world.take(message(world, [node]))
    moved: dict[str, Any] = {"starts": 48 * HOUR, "ends": 49 * HOUR, "communication": "c-2"}
    world.later(22.5 * 3600, lambda: world.take(message(world, [node], **moved)))
    world.later(47 * 3600, lambda: setattr(world, "people", answering("approve")))
    world.run(for_s=46.5 * 3600)
    first, second = world.told(NoticeKind.APPROVAL_ASKED)
    world.click(first, "approve")
    assert world.agent.commands == [], "a yes to the old window is none to the new one"
    world.click(second, "approve")
    world.run()
    assert outcome(world, node) is Outcome.RETURNED
    assert sent_at(world, "cordon")[0] >= T0 + 46 * HOUR


def test_over_when_first_heard_opens_nothing() -> None:
    world = maintained()
    world.take(message(world, [worker(world, 3)], starts=-3 * HOUR, ends=-HOUR))
    world.run()
    assert (world.incidents.records, world.outbox.notices) == ({}, [])


def test_begun_when_first_heard_is_drained_with_the_ordinary_deadline() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node], starts=-HOUR, ends=3 * HOUR, status="open"))
    world.run()
    [command] = [c for c in world.agent.commands if c.verb.value == "cordon"]
    assert command.deadline == T0 + timedelta(seconds=world.policy.drain_deadline_s)
    assert outcome(world, node) is Outcome.RETURNED


def test_a_window_longer_than_a_day_is_asked_about_although_the_rule_says_act() -> None:
    world = maintained()
    world.people = answering("approve")
    node = worker(world, 3)
    world.take(message(world, [node], ends=72 * HOUR))
    world.run()
    [asked] = world.told(NoticeKind.APPROVAL_ASKED)
    assert "longer than a day" in asked.facts["Why"]
    assert outcome(world, node) is Outcome.RETURNED
    assert sent_at(world, "resume")[0] >= T0 + 72 * HOUR


def test_a_window_without_an_end_lasts_a_day_or_until_health_closes_it() -> None:
    world = maintained()
    node, other = worker(world, 3), worker(world, 4)
    world.take(message(world, [node], ends=None))
    world.take(message(world, [other], ends=None, event="x2"))
    closed: dict[str, Any] = {"communication": "c-2", "status": "closed", "event": "x2", "ends": None}
    world.later(26 * 3600, lambda: world.take(message(world, [other], **closed)))
    world.run()
    back = {c.instance_id: c.issued_at for c in world.agent.commands if c.verb.value == "resume"}
    assert back[node] >= T0 + 48 * HOUR
    assert T0 + 26 * HOUR <= back[other] <= T0 + 27 * HOUR


def test_an_entity_that_health_calls_resolved_is_returned_at_once() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node], ends=40 * HOUR))
    told: dict[str, Any] = {"communication": "c-2", "status": "open", "ends": 40 * HOUR}
    world.later(25 * 3600, lambda: world.take(message(world, [(node, "RESOLVED")], **told)))
    world.run()
    assert sent_at(world, "resume")[0] <= T0 + 26 * HOUR


def test_two_events_one_after_the_other_keep_one_drain() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.take(message(world, [node], event="x2", starts=26 * HOUR, ends=27 * HOUR))
    world.run()
    assert len(windows_of(world, node)) == 1
    assert [v for v, _ in verbs(world)] == ["cordon", "resume"]
    assert sent_at(world, "resume")[0] >= T0 + 27 * HOUR


def test_a_rule_that_does_more_by_now_takes_up_an_observed_window_with_the_next_message() -> None:
    world = maintained(mode=Mode.OBSERVE)
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.run(for_s=3600)
    world.policy.rules[CauseClass.MAINTENANCE] = Rule(Mode.ACT)
    world.take(message(world, [node], communication="c-2"))
    world.run()
    assert [i.outcome for i in windows_of(world, node)] == [Outcome.OBSERVED, Outcome.RETURNED]


# Others ----------------------------------------------------------------------------------------------------------
def replaced(world: World, instance: str) -> str:
    """Somebody replaces the node; the new instance."""
    node = world.cluster.by_id(instance)
    assert node is not None
    world.cluster._repaired("replace", node)
    heir = next(n for n in world.cluster.nodes if n.logical_id == node.logical_id)
    return heir.instance_id or ""


def test_replaced_before_its_drain_the_new_instance_is_left_alone() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.later(3600, lambda: replaced(world, node))
    world.run()
    assert outcome(world, node) is Outcome.SUPERSEDED
    assert world.agent.commands == []


def test_replaced_after_its_drain_the_new_instance_is_proved_and_goes_back() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.later(23 * 3600, lambda: replaced(world, node))
    world.run()
    assert outcome(world, node) is Outcome.SUPERSEDED
    [_, (verb, heir)] = verbs(world)
    assert (verb, heir != node) == ("resume", True)
    assert sent_at(world, "resume")[0] < T0 + DAY, "the new instance is no part of the work"


def test_a_node_that_does_not_come_back_stays_drained_and_people_are_told() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.later(DAY.total_seconds() + 60, lambda: world.cluster.set_status(node, NodeStatus.FAILURE, "no heartbeat"))
    world.run()
    assert outcome(world, node) is Outcome.ESCALATED
    assert verbs(world) == [("cordon", node)]
    [told] = world.told(NoticeKind.INCIDENT_CLOSED)
    assert "stays drained" in told.text


def test_a_node_that_flaps_is_quiet_from_its_last_start() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node]))
    reboots(world, node, DAY + HOUR + timedelta(seconds=90), minutes=10)
    world.run()
    assert sent_at(world, "resume")[0] >= T0 + DAY + HOUR + timedelta(minutes=13)
    assert outcome(world, node) is Outcome.RETURNED


def test_paused_neither_drains_nor_gives_back() -> None:
    world = maintained()
    early, late = worker(world, 3), worker(world, 4)
    world.take(message(world, [early], starts=3 * HOUR, ends=4 * HOUR))
    world.take(message(world, [late], starts=6 * HOUR, ends=7 * HOUR, event="x2"))
    pause = Pause("alice", "looking", T0 + 2 * HOUR)
    world.later(2 * 3600, lambda: world.control.set_pause(pause))
    world.run(for_s=5.5 * 3600)
    assert verbs(world) == [("cordon", early)]
    assert {windows_of(world, n)[0].state for n in (early, late)} == {IncidentState.HELD}
    world.control.set_pause(None)
    world.run()
    assert {outcome(world, n) for n in (early, late)} == {Outcome.RETURNED}


def test_twenty_nodes_in_one_event_open_the_breaker_with_one_message_and_none_is_drained() -> None:
    world = maintained(size=40)
    nodes = [worker(world, n) for n in range(20)]
    world.take(message(world, nodes))
    world.run(for_s=12 * 3600)
    assert not [n for n in world.outbox.notices if n.kind is NoticeKind.BREAKER_OPENED], "weeks ahead is no trouble"
    world.run()
    assert world.agent.commands == []
    assert len(world.told(NoticeKind.BREAKER_OPENED)) == 1
    assert {outcome(world, node) for node in nodes} == {Outcome.EXPIRED}
    assert len(world.told(NoticeKind.INCIDENT_CLOSED)) == 0, "the breaker's message has told it"
    state = world.breaker.load(world.spec.cluster)
    assert (state.status, state.entries) == (BreakerStatus.CLOSED, ()), "once the windows are over nothing is held"


def test_the_end_of_maintenance_is_no_result_of_a_canary() -> None:
    world = maintained()
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.run(for_s=60)
    canary = BreakerState(BreakerStatus.HALF_OPEN, world.now, "5 nodes", canary=node)
    world.breaker.save(world.spec.cluster, canary)
    replaced(world, node)
    world.run()
    assert outcome(world, node) is Outcome.SUPERSEDED
    assert world.breaker.load(world.spec.cluster).status is BreakerStatus.HALF_OPEN


def test_the_floor_holds_and_the_oldest_window_comes_first() -> None:
    world = maintained(size=4, capacity_floor={"workers": 3})
    late, early = worker(world, 0), worker(world, 1)
    world.take(message(world, [late], starts=25 * HOUR, ends=26 * HOUR))
    world.take(message(world, [early], event="x2", starts=24.5 * HOUR, ends=25.5 * HOUR))
    world.run()
    first = next(c.instance_id for c in world.agent.commands if c.verb.value == "cordon")
    assert first == early
    running = 0
    for command in world.agent.commands:
        running += 1 if command.verb.value == "cordon" else -1
        assert running <= 1, "never two of four away with a floor of three"


def test_controller_is_for_people() -> None:
    world = maintained()
    controller = next(n.instance_id for n in world.cluster.nodes if n.group == "controller")
    assert controller is not None
    world.take(message(world, [controller]))
    world.run()
    assert outcome(world, controller) is Outcome.ESCALATED
    assert world.agent.commands == []
    [told] = world.told(NoticeKind.MAINTENANCE)
    assert "Controller" in told.facts["Nodes"]


def test_protected_node_is_for_people() -> None:
    world = maintained(protected_groups=("workers",))
    node = worker(world, 3)
    world.take(message(world, [node]))
    world.run()
    assert (outcome(world, node), world.agent.commands) == (Outcome.ESCALATED, [])
