from __future__ import annotations

from dataclasses import replace

import pytest

from roundhouse.contracts.ledger import LedgerState
from roundhouse.line.action import (
    Effect,
    Result,
    attempt_number,
    claim,
    confirmed,
    counted,
    ended_without_effect,
    judge_lost,
    lost,
    read_answer,
    signal,
)
from roundhouse.line.decision import Decision, Verdict
from roundhouse.line.ladder import Rung
from roundhouse.line.state import NodeStatus
from tests.line.build import NOW, ago, cluster, iid, incident, node

DECISION = Decision(Verdict.ACT, "replace is the next rung", Rung.REPLACE, iid(1))
ENTRY = claim(DECISION, incident(), ago(100), 1)


def test_a_claim_is_deterministic_and_names_the_instance():
    again = claim(DECISION, incident(), NOW, 1)
    assert again.action_id == ENTRY.action_id
    assert iid(1) in ENTRY.action_id
    assert claim(replace(DECISION, instance_id=iid(2)), incident(), NOW, 1).action_id != ENTRY.action_id
    assert (ENTRY.state, ENTRY.kind, ENTRY.logical_id, ENTRY.group) == (
        LedgerState.CLAIMED,
        "replace",
        "n-1",
        "workers",
    )


@pytest.mark.parametrize(
    ("code", "role", "result"),
    [
        ("InstanceIdInUse", "Compute", Result.IN_HAND),
        ("NodeIdInUse", "Compute", Result.IN_HAND),
        ("InvalidInstanceStatus", "Compute", Result.IN_HAND),
        ("InvalidNodeStatus", "Compute", Result.IN_HAND),
        ("InstanceIdNotFound", "Compute", Result.GONE),
        ("NodeIdNotFound", "Compute", Result.GONE),
        ("InternalServerError", "Compute", Result.RETRY),
        ("NodeIdInUse", "Controller", Result.HUMAN),
        ("SomethingNew", "Compute", Result.HUMAN),
    ],
)
def test_failed_ids(code, role, result):
    called = read_answer(ENTRY, (), {iid(1): (code, "words")}, role, NOW)
    assert (called.result, called.entry.state) == (result, LedgerState.FAILED)
    assert code in called.reason


def test_accepted_and_unmentioned_ids():
    assert read_answer(ENTRY, [iid(1)], {}, "Compute", NOW).entry.state is LedgerState.CALLED
    silent = read_answer(ENTRY, [iid(2)], {}, "Compute", NOW)
    assert (silent.result, silent.entry.state) == (Result.UNKNOWN, LedgerState.UNKNOWN)


GONE = replace(cluster(), nodes=tuple(n for n in cluster().nodes if n.logical_id != "n-1"))


@pytest.mark.parametrize(
    ("live", "age", "effect"),
    [
        (None, 999, Effect.UNKNOWN),
        (cluster(nodes=()), 999, Effect.UNKNOWN),
        (GONE, 1, Effect.TOOK),
        (cluster(node(1, instance_id=iid(2))), 1, Effect.TOOK),
        (cluster(node(1, instance_id=None)), 1, Effect.TOOK),
        (cluster(node(1, NodeStatus.PENDING)), 1, Effect.TOOK),
        (cluster(node(1, NodeStatus.SHUTTING_DOWN)), 1, Effect.TOOK),
        (cluster(), 119, Effect.NOT_YET),
        (cluster(), 120, Effect.MAY_REPEAT),
        (cluster(node(1, NodeStatus.FAILURE)), 120, Effect.MAY_REPEAT),
    ],
)
def test_a_lost_answer_is_judged_by_live_state(live, age, effect):
    called = lost(ENTRY, "read timeout", ago(age))
    assert (called.result, called.entry.state) == (Result.UNKNOWN, LedgerState.UNKNOWN)
    judged, reason = judge_lost(called.entry, live, NOW, 120)
    assert judged is effect
    assert reason


def test_attempts_grow_only_after_the_former_one_ended():
    def number(*entries):
        return attempt_number(entries, incident(), Rung.REPLACE, iid(1))

    assert number() == 1
    assert number(ENTRY) == 1
    assert number(lost(ENTRY, "x", NOW).entry) == 1
    assert number(ended_without_effect(ENTRY, "x", NOW)) == 2
    assert number(confirmed(ENTRY, "x", NOW)) == 2
    other = claim(replace(DECISION, instance_id=iid(2)), incident(), NOW, 1)
    assert number(confirmed(other, "x", NOW)) == 1


def test_what_the_breaker_counts():
    assert signal(incident(), NOW).kind == "signal"
    entry = counted(incident(), "drain", iid(1), NOW)
    assert (entry.kind, entry.instance_id, entry.group, entry.cause) == ("drain", iid(1), "workers", "hardware")
