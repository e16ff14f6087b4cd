"""What is told late, twice or nearly right: cases 405, 407, 409 and 410 to the letter, and their kind."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.contracts.commands import REASON_PREFIX
from roundhouse.line.approval import AnswerOutcome, Approval, Click, Option, answer
from roundhouse.line.decision import Verdict, decide
from roundhouse.line.event import Health, Source
from roundhouse.line.incident import (
    Attempt,
    Incident,
    IncidentState,
    IntakeVerdict,
    Outcome,
    admit,
    close,
    with_attempt,
)
from roundhouse.line.ladder import Rung
from roundhouse.line.slurm import bare_reason, hyperpod_action
from roundhouse.line.state import Cluster, Group
from roundhouse.triage import slurm_snapshot
from roundhouse.triage.hyperpod import read
from roundhouse.triage.payload import moment
from tests.cases.reading import case
from tests.line.build import NOW, ago, cluster, event, facts, incident, node, policy

POLICY = policy()


# Case 405 --------------------------------------------------------------------------------------------------------
ENVELOPES = case(405, "delivery.jsonl")
TOLD_AT = moment(ENVELOPES[0]["time"], "time")


def feed(envelopes: list[dict[str, Any]], now: datetime, known: tuple[Incident, ...] = ()) -> tuple[str, int]:
    """(health by the open incident, workflows started) after these deliveries, in this order."""
    live = cluster(node(1, instance_id=ENVELOPES[0]["detail"]["InstanceId"]), name="train-a")
    store = {one.incident_id: one for one in known}
    started = 0
    for envelope in envelopes:
        told = read(envelope, now)
        assert told is not None
        intake = admit(told, list(store.values()), live, POLICY, now)
        started += intake.verdict is IntakeVerdict.OPEN
        store |= {one.incident_id: one for one in (intake.incident, *intake.recovered) if one is not None}
    bad = [i for i in store.values() if i.state is not IncidentState.CLOSED and i.health == Health.UNHEALTHY]
    return "Unhealthy" if bad else "Healthy", started


def test_as_delivered() -> None:
    expected = case(405, "expected.json")
    now = TOLD_AT + timedelta(minutes=1)
    assert feed(ENVELOPES, now) == (expected["state"], expected["workflows_started"])
    for before in (ENVELOPES[:0], ENVELOPES):
        quiet, changed = feed(before, now), feed([*before, case(405, "late.json")], now)
        assert {"action": "NONE" if changed == quiet else "something"} == expected["late"]


@given(
    st.lists(st.tuples(st.sampled_from(["Unhealthy", "Healthy"]), st.integers(0, 100)), min_size=1, max_size=5),
    st.lists(st.integers(0, 4), max_size=6),
    st.randoms(use_true_random=False),
)
def test_any_order_and_repetition_ends_as_the_newest_says(said: Any, again: list[int], random: Any) -> None:
    by_minute = {minute: status for status, minute in said}  # one word a minute, else nothing is newest
    sent = []
    for minute, status in by_minute.items():
        at = TOLD_AT + timedelta(minutes=minute)
        summary = ENVELOPES[0]["detail"]["HealthSummary"] | {"HealthStatus": status}
        detail = ENVELOPES[0]["detail"] | {"HealthSummary": summary}
        sent.append(ENVELOPES[0] | {"id": f"e-{minute}", "time": at.isoformat(), "detail": detail})
    delivered = [*sent, *(sent[index % len(sent)] for index in again)]
    random.shuffle(delivered)
    health, started = feed(delivered, TOLD_AT + timedelta(minutes=101))
    assert health == by_minute[max(by_minute)]
    assert started <= list(by_minute.values()).count("Unhealthy")


# Case 407 --------------------------------------------------------------------------------------------------------
def scaling(current: int, target: int) -> Cluster:
    return cluster(size=11, groups={"workers": Group("workers", "ml.p5.48xlarge", current, target)})


@pytest.mark.parametrize("name", case(407, "expected.json"))
def test_a_warning_while_scaling_is_noise(name: str) -> None:
    [group] = case(407, f"{name}-describe.json")["InstanceGroups"]
    told = read(case(407, "event.json"), NOW)
    assert told is not None
    live = scaling(group["CurrentCount"], group["TargetCount"])
    intake = admit(told, [], live, POLICY, told.source_time + timedelta(seconds=30))
    assert {"incident": intake.incident is not None} == case(407, "expected.json")[name]


@pytest.mark.parametrize(
    ("current", "target", "opens"), [(11, 10, False), (11, 0, False), (9, 11, False), (0, 11, False), (11, 11, True)]
)
@pytest.mark.parametrize("lost", [1, 7])
def test_up_or_down(current: int, target: int, opens: bool, lost: int) -> None:
    told = read(case(407, "event.json"), NOW)
    assert told is not None
    told = replace(told, evidence=told.evidence.replace("1 node(s)", f"{lost} node(s)"))
    intake = admit(told, [], scaling(current, target), POLICY, told.source_time + timedelta(seconds=30))
    assert (intake.verdict is IntakeVerdict.OPEN) is opens


# Case 409 --------------------------------------------------------------------------------------------------------
def test_the_accepted_reasons_are_these_and_no_others() -> None:
    reasons = case(409, "reasons.json")
    assert {"accepted": [reason for reason in reasons if hyperpod_action(reason)]} == case(409, "expected.json")


@pytest.mark.parametrize("reason", case(409, "reasons.json"))
@pytest.mark.parametrize("state", ["IDLE+FAIL", "fail", "FAILING", "MIXED+FAIL"])
@pytest.mark.parametrize("signature", ["", " [root@2026-11-30T02:55:49]"])
def test_a_node_that_fails_for_a_reason_that_nobody_obeys_is_an_alarm(reason: str, state: str, signature: str) -> None:
    nodes = [{"name": "ip-10-1-2-3", "state": state, "reason": reason + signature, "jobs": []}]
    told = {"version": 1, "cluster": "train-a", "sequence": 1, "taken_at": NOW.isoformat(), "nodes": nodes}
    [found] = slurm_snapshot.read(told, NOW, None).events
    obeyed = reason in case(409, "expected.json")["accepted"]
    assert (found.health is Health.UNHEALTHY, found.repair_begun) == (not obeyed, obeyed)


@given(st.text(max_size=20))
def test_no_drain_of_ours_asks_hyperpod_for_anything(why: str) -> None:
    assert hyperpod_action(f"{REASON_PREFIX} inc-1-1 {why}") is None
    assert bare_reason("Action:Replace [x") == "Action:Replace [x"


# Case 410 --------------------------------------------------------------------------------------------------------
REASONS = {AnswerOutcome.OUTDATED: "INSTANCE_CHANGED", AnswerOutcome.DECIDED: "APPROVED"}


@pytest.mark.parametrize("known_behind", [True, False])
def test_yesterdays_approval_and_todays_machine(known_behind: bool) -> None:
    """What the click is answered, and what a second reading of the approval makes of a node that changed since."""
    asked, now, clicked = (case(410, f"{name}.json") for name in ("approval", "now", "click"))
    at = moment(clicked["time"], "time")
    question = Approval(
        approval_id="apr-1",
        kind="repair",
        cluster="train-a",
        subject="inc-1-1",
        question=f"Replace {asked['node']}?",
        options=(Option("approve", "Replace"), Option("deny", "Leave it")),
        on_silence="deny",
        asked_at=moment(asked["requested"], "requested"),
        expires_at=at + timedelta(hours=1),
        approvers=(clicked["user"],),
        instance_id=asked["instance_id"],
    )
    behind = now["instance_id"] if known_behind else asked["instance_id"]
    given_answer = answer(question, Click("apr-1", "approve", clicked["user"], at, asked["instance_id"]), at, behind)
    told = {
        "executed": given_answer.outcome is AnswerOutcome.DECIDED,
        "reason": REASONS[given_answer.outcome],
    }
    assert (told == case(410, "expected.json")) is known_behind


def test_the_past_of_an_instance_is_not_its_successors() -> None:
    old, new = (case(410, f"{name}.json")["instance_id"] for name in ("approval", "now"))
    live = cluster(node(1, instance_id=new, hostname="ip-10-1-2-3"))
    past = incident(instance_id=old, slurm_name="ip-10-1-2-3", event_count=40)
    past = with_attempt(past, Attempt(Rung.REBOOT, old, ago(9000), "failed"))
    past = close(past, Outcome.REPAIRED, ago(3000), "replaced")
    said_of_old = admit(event(instance_id=old), [past], live, POLICY, NOW)
    assert said_of_old.verdict is IntakeVerdict.IGNORE
    for how in ({"instance_id": new}, {"instance_id": None, "slurm_name": "ip-10-1-2-3", "source": Source.SLURM}):
        intake = admit(event(**how), [past], live, POLICY, NOW)
        assert intake.verdict is IntakeVerdict.OPEN
        assert intake.incident is not None
        assert (intake.incident.instance_id, intake.incident.event_count) == (new, 1)
        old_news = replace(intake.incident, opened_at=ago(1800))
        made = decide(facts(incident=old_news, cluster=live, policy=policy(slurm_may_reboot=True)))
        assert (made.verdict, made.rung) == (Verdict.ACT, Rung.REBOOT)  # the first rung: nothing was tried on this one
    worn = replace(incident(instance_id=new), attempts=past.attempts)
    assert decide(facts(incident=worn, cluster=live)).rung is Rung.REPLACE  # had the past been its own
