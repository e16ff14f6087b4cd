from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.line.approval import (
    AnswerOutcome,
    Approval,
    ApprovalStatus,
    Click,
    Option,
    answer,
    approval_id,
    expire,
    outdate,
)
from roundhouse.triage.payload import moment
from tests.line.build import CLUSTER, NOW, ago, case, iid

QUESTION = Approval(
    approval_id="apr-1",
    kind="repair",
    cluster=CLUSTER,
    subject="inc-1-1",
    question="Replace?",
    options=(Option("approve", "Approve"), Option("deny", "Deny")),
    on_silence="deny",
    asked_at=ago(60),
    expires_at=NOW + timedelta(hours=1),
    approvers=("U0AAA", "U0BBB"),
    instance_id=iid(1),
    rung="replace",
)
CLICK = Click("apr-1", "approve", "U0AAA", NOW, iid(1))


@pytest.mark.parametrize(
    ("approval", "click", "behind", "outcome"),
    [
        (QUESTION, CLICK, None, AnswerOutcome.DECIDED),
        (QUESTION, CLICK, iid(1), AnswerOutcome.DECIDED),
        (QUESTION, replace(CLICK, instance_id=None), None, AnswerOutcome.DECIDED),
        (QUESTION, replace(CLICK, choice="deny"), None, AnswerOutcome.DECIDED),
        (QUESTION, replace(CLICK, user="U0EVE"), None, AnswerOutcome.NOT_ALLOWED),
        (QUESTION, replace(CLICK, instance_id=iid(2)), None, AnswerOutcome.WRONG_INSTANCE),
        (QUESTION, replace(CLICK, choice="format"), None, AnswerOutcome.UNKNOWN_CHOICE),
        (QUESTION, CLICK, iid(2), AnswerOutcome.OUTDATED),
        (outdate(QUESTION, NOW), CLICK, None, AnswerOutcome.OUTDATED),
        (replace(QUESTION, expires_at=NOW), CLICK, None, AnswerOutcome.EXPIRED),
        (replace(QUESTION, status=ApprovalStatus.EXPIRED, choice="deny"), CLICK, None, AnswerOutcome.EXPIRED),
        (
            replace(QUESTION, status=ApprovalStatus.DECIDED, choice="deny", decided_by="U0BBB"),
            CLICK,
            None,
            AnswerOutcome.ALREADY_DECIDED,
        ),
        (
            replace(QUESTION, status=ApprovalStatus.DECIDED, choice="deny", decided_by="U0BBB"),
            replace(CLICK, user="U0EVE"),
            None,
            AnswerOutcome.NOT_ALLOWED,
        ),
    ],
)
def test_answers(approval, click, behind, outcome):
    given_answer = answer(approval, click, NOW, behind)
    assert given_answer.outcome is outcome
    assert given_answer.message
    decided = given_answer.approval.status is ApprovalStatus.DECIDED and approval.status is ApprovalStatus.PENDING
    assert decided is (outcome is AnswerOutcome.DECIDED)
    if outcome is AnswerOutcome.DECIDED:
        made = given_answer.approval
        assert (made.choice, made.decided_by, made.decided_at) == (click.choice, click.user, NOW)


@pytest.mark.parametrize("lifetime_h", [1, 48])
def test_yesterdays_approval_does_not_hit_the_new_machine(lifetime_h):
    """The click is a day late and the node has another instance; even where it had not expired it is refused."""
    asked, now, clicked = (case(410, f"{name}.json") for name in ("approval", "now", "click"))
    asked_at = moment(asked["requested"], "requested")
    approval = replace(
        QUESTION, instance_id=asked["instance_id"], asked_at=asked_at, expires_at=asked_at + timedelta(hours=lifetime_h)
    )
    at = moment(clicked["time"], "time")
    click = Click("apr-1", "approve", clicked["user"], at, asked["instance_id"])
    result = answer(approval, click, at, behind=now["instance_id"])
    executed = result.outcome is AnswerOutcome.DECIDED
    assert executed is case(410, "expected.json")["executed"]
    assert (result.outcome, now["instance_id"] in result.message) == (AnswerOutcome.OUTDATED, True)
    assert result.approval.status is ApprovalStatus.OUTDATED
    again = answer(result.approval, click, at)
    assert again.outcome is AnswerOutcome.OUTDATED


def test_silence():
    assert expire(QUESTION, NOW) is QUESTION
    late = expire(QUESTION, QUESTION.expires_at)
    assert (late.status, late.choice, late.decided_by) == (ApprovalStatus.EXPIRED, "deny", None)
    assert outdate(late, NOW) is late
    assert expire(outdate(QUESTION, NOW), QUESTION.expires_at).status is ApprovalStatus.OUTDATED


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["U0AAA", "U0BBB", "U0EVE"]),
            st.sampled_from(["approve", "deny", "x"]),
            st.integers(0, 9000),
        )
    )
)
def test_at_most_one_click_decides(clicks):
    approval, decided = QUESTION, 0
    for user, choice, later in sorted(clicks, key=lambda c: c[2]):
        at = NOW + timedelta(seconds=later)
        result = answer(approval, Click("apr-1", choice, user, at, iid(1)), at)
        decided += result.outcome is AnswerOutcome.DECIDED
        approval = result.approval
    assert decided <= 1
    assert approval.decided_by != "U0EVE"


def test_ids_ask_once_and_belong_to_one_instance():
    ours = approval_id("inc-1-1", "replace", iid(1))
    assert ours == approval_id("inc-1-1", "replace", iid(1), 1)
    others = {approval_id("inc-1-1", "replace", iid(2)), approval_id("inc-1-1", "reboot", iid(1))}
    others |= {approval_id("inc-1-1", "replace", iid(1), 2), approval_id("inc-1-2", "replace", iid(1))}
    assert len(others) == 4
    assert ours not in others
    assert len(ours) < 40


def test_who_decided_is_said_by_id_since_every_channel_draws_names_its_own_way():
    second = answer(answer(QUESTION, CLICK, NOW).approval, replace(CLICK, user="U0BBB"), NOW)
    assert second.message == "Already decided: Approve, by U0AAA."
