"""Repairs that people are asked about: what they click, when, and what happens while Slack is away."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from roundhouse.contracts.ledger import LedgerState
from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.line.incident import Outcome
from roundhouse.line.policy import Mode
from tests.steps.samples import house
from tests.steps.test_repair import REPLACE, answering, fail, heir, outcome, the, verbs

EVE = "U0EVE"


def test_asked_approved_replaced_proved_and_back_in_service() -> None:
    world = house(mode=Mode.ASK, ladder=REPLACE)
    world.people = answering("approve")
    old = fail(world)
    world.run()
    new = heir(world, old)
    assert new != old
    assert outcome(world, old) is Outcome.REPAIRED
    assert world.cluster.made("replace") == [(old,)]
    assert verbs(world) == [("cordon", old), ("resume", new)]
    incident = world.incident(old)
    assert {"grace", "drain", "approval", "repair", "proof", "resume"} <= {s.name for s in incident.steps}
    assert all(step.ended_at for step in incident.steps)
    assert [e.state for e in world.ledger.records.values()] == [LedgerState.CONFIRMED]
    [end] = world.told(NoticeKind.INCIDENT_CLOSED)
    assert new in end.facts["Now"]


@pytest.mark.parametrize(("answer", "expected"), [("deny", Outcome.DENIED), (None, Outcome.EXPIRED)])
def test_denied_or_expired_undoes_our_drain(answer: str | None, expected: Outcome) -> None:
    world = house(mode=Mode.ASK)
    world.people = answering(answer) if answer else lambda notice: None
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is expected
    assert verbs(world) == [("cordon", instance), ("resume", instance)]
    assert world.cluster.calls == []


def test_second_click_changes_nothing_and_is_told() -> None:
    world = house(mode=Mode.ASK, ladder=REPLACE)
    told: list[str] = []

    def people(notice: Notice) -> tuple[str, float]:
        world.later(61, lambda: told.append(world.click(notice, "deny")))
        world.later(30, lambda: told.append(world.click(notice, "approve", EVE)))
        return "approve", 60

    world.people = people
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED
    refused, second = told
    assert "not among those" in refused
    assert "Already decided" in second
    assert len(world.cluster.made("replace")) == 1


def test_approval_for_an_instance_that_was_replaced_meanwhile_calls_nothing() -> None:
    world = house(mode=Mode.ASK, ladder=REPLACE)
    world.people = answering("approve", 600)
    old = fail(world)
    world.later(400, lambda: world.cluster._repaired("replace", world.cluster.nodes[world.cluster._at(old)]))
    world.run()
    new = heir(world, old)
    assert new != old
    assert world.cluster.calls == []
    assert outcome(world, old) is Outcome.SUPERSEDED
    assert verbs(world) == [("cordon", old), ("resume", new)]


def test_click_too_late_for_the_expiry_is_answered_by_the_record() -> None:
    world = house(mode=Mode.ASK)
    told: list[str] = []

    def people(notice: Notice) -> None:
        world.later(world.policy.approval_ttl_s * 0.98, lambda: told.append(world.click(notice, "approve")))

    world.people = people
    instance = fail(world)
    world.run()
    assert "Too late" in told[0]
    assert outcome(world, instance) is Outcome.EXPIRED
    assert world.cluster.calls == []


def test_task_that_ends_before_the_expiry_by_its_own_clock_is_silence() -> None:
    world = house(mode=Mode.ASK)
    instance = fail(world)
    world.run(for_s=600)
    [approval] = world.approvals.records.values()
    skewed = replace(approval, expires_at=approval.expires_at + timedelta(minutes=10))
    world.approvals.records[approval.approval_id] = skewed
    world.run()
    assert outcome(world, instance) is Outcome.EXPIRED
    [approval] = world.approvals.records.values()
    assert approval.status == "expired"


def test_slack_away_for_hours_asks_again_and_loses_nothing() -> None:
    world = house(mode=Mode.ASK, ladder=REPLACE)
    world.people = answering("approve")
    world.slack_up = False
    world.later(5 * 3600, lambda: setattr(world, "slack_up", True))
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED
    asked = world.told(NoticeKind.APPROVAL_ASKED)
    assert {notice.replaces or notice.notice_id for notice in asked} == {asked[0].notice_id}  # one message, redrawn
    assert f"{world.approvals.writes[-1].expires_at:%d %b %H:%M}" in asked[-1].text
    assert the(world).visited.count("AskPeople") > 3
    assert len(world.approvals.records) == 1


def test_slack_away_for_good_ends_after_a_day() -> None:
    world = house(mode=Mode.ASK)
    world.slack_up = False
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.EXPIRED
    assert verbs(world)[-1] == ("resume", instance)


def test_slack_away_does_not_hold_what_the_policy_lets_us_do() -> None:
    world = house(mode=Mode.ACT, ladder=REPLACE)
    world.slack_up = False
    instance = fail(world)
    world.run()
    assert outcome(world, instance) is Outcome.REPAIRED
    assert world.told(NoticeKind.INCIDENT_CLOSED)
