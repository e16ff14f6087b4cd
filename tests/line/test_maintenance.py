"""Deciding about maintenance: what each guard says, and that nothing is drained that should not be."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.line.breaker import BreakerEntry, BreakerState, BreakerStatus
from roundhouse.line.decision import Guard, Verdict
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState, IntakeVerdict, Outcome, close, incident_key
from roundhouse.line.maintenance import Facts, Mind, Move, Other, Window, admit, applied, decide, events_of
from roundhouse.line.policy import Mode, Policy, Rule
from roundhouse.line.state import GONE, NodeStatus, Pause
from tests.line import build
from tests.line.build import NOW, iid

HOUR = timedelta(hours=1)
LEAD = 2 * HOUR
OURS = incident_key(build.CLUSTER, iid(1), CauseClass.MAINTENANCE, 1)


def window(
    number: int = 1, starts: timedelta = HOUR, ends: timedelta | None = 2 * HOUR, event: str = "mnt-1"
) -> Window:
    return Window(event, iid(number), "REBOOT", NOW + starts, None if ends is None else NOW + ends, NOW - 48 * HOUR)


def policy(mode: Mode = Mode.ACT, **changes: Any) -> Policy:
    rule = Rule(mode, lead_s=int(LEAD.total_seconds()))
    return replace(build.policy(Mode.OBSERVE), rules={CauseClass.MAINTENANCE: rule}, **changes)


def incident(**changes: Any) -> Incident:
    made = build.incident(incident_id=OURS, cause=CauseClass.MAINTENANCE, code="REBOOT")
    return replace(made, **changes)


def facts(**changes: Any) -> Facts:
    """Facts on which the node is drained: its window begins in an hour, the drain was due an hour ago."""
    made = Facts(incident(), build.cluster(), BreakerState(), policy(), NOW, (window(),))
    return replace(made, **changes)


def move(**changes: Any) -> Mind:
    return decide(facts(**changes))


def other(number: int, starts: timedelta | None = HOUR, drained: bool = False) -> Other:
    return Other(iid(number), "workers", NOW - HOUR, NOW + starts if starts is not None else None, drained)


PAUSE = Pause("alice", "looking", NOW)
OPEN = BreakerState(BreakerStatus.OPEN, NOW - HOUR, "5 nodes")


def test_a_due_node_is_drained_until_its_window_begins() -> None:
    found = move()
    assert (found.move, found.deadline, found.decision.instance_id) == (Move.CORDON, NOW + HOUR, iid(1))


# facts: (changes, move, guard)
TABLE: dict[str, tuple[dict[str, Any], Move, Guard | None]] = {
    "not due": ({"windows": (window(starts=3 * HOUR, ends=4 * HOUR),)}, Move.WAIT, None),
    "observe": ({"policy": policy(Mode.OBSERVE)}, Move.CLOSE, Guard.OBSERVE),
    "ask": ({"policy": policy(Mode.ASK)}, Move.ASK, None),
    "asked and approved": ({"policy": policy(Mode.ASK), "answer": "approve"}, Move.CORDON, None),
    "denied": ({"policy": policy(Mode.ASK), "answer": "deny"}, Move.CLOSE, None),
    "nobody answered": ({"policy": policy(Mode.ASK), "answer": "expired"}, Move.CLOSE, None),
    "a long window": ({"windows": (window(ends=26 * HOUR),)}, Move.ASK, Guard.LONG_WINDOW),
    "a day and no more": ({"windows": (window(ends=25 * HOUR),)}, Move.CORDON, None),
    "no end given": ({"windows": (window(ends=None),)}, Move.CORDON, None),
    "an end before the start": ({"windows": (window(ends=-HOUR),)}, Move.CORDON, None),
    "paused": ({"pause": PAUSE}, Move.WAIT, Guard.PAUSED),
    "breaker open": ({"breaker": OPEN}, Move.WAIT, Guard.BREAKER),
    "breaker due for its canary": ({"breaker": replace(OPEN, since=NOW - 9 * HOUR)}, Move.WAIT, Guard.BREAKER),
    "breaker half open for us": (
        {"breaker": replace(OPEN, status=BreakerStatus.HALF_OPEN, canary=iid(1))},
        Move.WAIT,
        Guard.BREAKER,
    ),
    "breaker not to be read": ({"breaker": None}, Move.WAIT, Guard.BREAKER),
    "HyperPod not to be read": ({"cluster": None}, Move.WAIT, None),
    "no node listed": ({"cluster": build.cluster(nodes=())}, Move.WAIT, None),
    "cluster not known": ({"cluster": build.cluster(status=GONE, nodes=())}, Move.WAIT, None),
    "cluster being deleted": ({"cluster": build.cluster(status="Deleting")}, Move.CLOSE, None),
    "a repair of ours": ({"repair": "inc-2"}, Move.WAIT, Guard.IN_HAND),
    "HyperPod has it": ({"cluster": build.cluster(build.node(1, NodeStatus.PENDING))}, Move.WAIT, Guard.IN_HAND),
    "it has failed": ({"cluster": build.cluster(build.node(1, NodeStatus.FAILURE))}, Move.WAIT, Guard.IN_HAND),
    "replaced": ({"cluster": build.cluster(build.node(1, instance_id=iid(99)))}, Move.CLOSE, None),
    "drained by people": (
        {"cluster": build.cluster(slurm=build.slurm("ip-10-1-2-1", "DRAINED", "fan broken, ticket 42"))},
        Move.WAIT,
        Guard.FOREIGN_DRAIN,
    ),
    "drained for another incident": (
        {"cluster": build.cluster(slurm=build.slurm("ip-10-1-2-1", "DRAINED", "roundhouse: inc-2 xid-79"))},
        Move.WAIT,
        Guard.FOREIGN_DRAIN,
    ),
    "HyperPod was asked by Slurm": (
        {"cluster": build.cluster(slurm=build.slurm("ip-10-1-2-1", "FAIL", "Action:Reboot"))},
        Move.WAIT,
        Guard.IN_HAND,
    ),
    "the floor": ({"policy": policy(capacity_floor={"workers": 64})}, Move.WAIT, Guard.FLOOR),
    "the floor, another being drained": (
        {"policy": policy(capacity_floor={"workers": 62}), "others": (other(2, drained=True), other(3, drained=True))},
        Move.WAIT,
        Guard.FLOOR,
    ),
    "the floor, with repairs away": (
        {"policy": policy(capacity_floor={"workers": 62}), "away": frozenset({iid(2), iid(3)})},
        Move.WAIT,
        Guard.FLOOR,
    ),
    "an older window first": (
        {"policy": policy(capacity_floor={"workers": 63}), "others": (other(1), other(2, HOUR / 2))},
        Move.WAIT,
        Guard.TURN,
    ),
    "a younger window later": (
        {"policy": policy(capacity_floor={"workers": 63}), "others": (other(1), other(2, 1.5 * HOUR))},
        Move.CORDON,
        None,
    ),
    "room for both": ({"others": (other(1), other(2, HOUR / 2))}, Move.CORDON, None),
    "protected": ({"policy": policy(protected_nodes=("ip-10-1-2-1",))}, Move.CLOSE, Guard.PROTECTED),
    "called off before it was due": ({"windows": ()}, Move.CLOSE, None),
    "closed": ({"incident": incident(state=IncidentState.CLOSED, outcome=Outcome.DENIED)}, Move.CLOSE, None),
}


@pytest.mark.parametrize("name", TABLE)
def test_before_the_drain(name: str) -> None:
    changes, wanted, guard = TABLE[name]
    found = move(**changes)
    assert (found.move, found.decision.guard) == (wanted, guard), found.decision.reason
    assert found.decision.reason


# drained: (changes, move, words of the reason)
DRAINED: dict[str, tuple[dict[str, Any], Move, str]] = {
    "before the window": ({}, Move.WAIT, "begins"),
    "in the window": ({"windows": (window(starts=-HOUR),)}, Move.WAIT, "works on it until"),
    "over": ({"windows": (window(starts=-3 * HOUR, ends=-HOUR),)}, Move.PROVE, "over"),
    "called off": ({"windows": ()}, Move.PROVE, "called off"),
    "postponed": ({"windows": (window(starts=30 * HOUR, ends=31 * HOUR),)}, Move.PROVE, "postponed"),
    "another window soon": (
        {"windows": (window(starts=-2 * HOUR, ends=-HOUR), window(event="mnt-2"))},
        Move.WAIT,
        "begins",
    ),
    "replaced": ({"cluster": build.cluster(build.node(1, instance_id=iid(99)))}, Move.PROVE, "gone"),
    "repaired": ({"repair": "inc-2", "windows": ()}, Move.WAIT, "inc-2"),
    "paused when over": ({"windows": (), "pause": PAUSE}, Move.WAIT, "paused"),
    "not to be read": ({"cluster": None, "windows": ()}, Move.WAIT, "could not be read"),
    "observed by now": ({"policy": policy(Mode.OBSERVE), "windows": ()}, Move.PROVE, "over"),
}


@pytest.mark.parametrize("name", DRAINED)
def test_after_the_drain(name: str) -> None:
    changes, wanted, words = DRAINED[name]
    found = move(incident=incident(drained_by_us=True), **changes)
    assert found.move is wanted
    assert words in found.decision.reason


def test_a_drain_that_people_took_back_is_theirs() -> None:
    found = move(incident=incident(drained_by_us=True, undrained_at=NOW))
    assert (found.move, found.decision.outcome) == (Move.CLOSE, Outcome.IGNORED)


def test_a_drain_that_never_came_is_told_with_the_guard_that_held_it() -> None:
    held = applied(incident(), move(pause=PAUSE), NOW)
    assert held.state is IncidentState.HELD
    found = move(incident=held, windows=(), pause=PAUSE)
    assert (found.decision.outcome, found.decision.guard) == (Outcome.EXPIRED, Guard.PAUSED)


@pytest.mark.parametrize("starts", [-HOUR, timedelta(), timedelta(minutes=1)])
def test_no_deadline_lies_in_the_past(starts: timedelta) -> None:
    found = move(windows=(window(starts=starts),))
    assert found.move is Move.CORDON
    assert found.deadline is not None
    assert found.deadline > NOW


def test_applying_the_same_move_twice_writes_nothing() -> None:
    for found in (move(), move(pause=PAUSE), move(policy=policy(Mode.ASK))):
        once = applied(incident(), found, NOW)
        assert replace(applied(once, found, NOW), steps=once.steps) == once


MAYBE = st.booleans()


@settings(max_examples=500, deadline=None)
@given(
    mode=st.sampled_from(list(Mode)),
    start=st.integers(-50, 50),
    length=st.integers(-5, 60),
    known=MAYBE,
    status=st.sampled_from(list(NodeStatus)),
    instance=st.sampled_from([1, 99]),
    slurm=st.sampled_from([None, ("IDLE", ""), ("DRAINED", "ticket 42"), ("DRAINED", "Action:Replace"), ("FAIL", "x")]),
    paused=MAYBE,
    breaker=st.sampled_from([None, BreakerState(), OPEN]),
    answer=st.sampled_from([None, "approve", "deny", "expired"]),
    floor=st.integers(0, 65),
    drained=MAYBE,
    repair=MAYBE,
)
def test_nothing_is_drained_that_should_not_be(
    mode: Mode,
    start: int,
    length: int,
    known: bool,
    status: NodeStatus,
    instance: int,
    slurm: tuple[str, str] | None,
    paused: bool,
    breaker: BreakerState | None,
    answer: str | None,
    floor: int,
    drained: bool,
    repair: bool,
) -> None:
    live = build.cluster(build.node(1, status, instance_id=iid(instance)))
    if slurm:
        live = replace(live, slurm=build.slurm("ip-10-1-2-1", *slurm))
    one = window(starts=start * HOUR, ends=(start + length) * HOUR)
    given = facts(
        incident=incident(drained_by_us=drained),
        cluster=live if known else None,
        breaker=breaker,
        policy=policy(mode, capacity_floor={"workers": floor}),
        windows=(one,),
        pause=PAUSE if paused else None,
        answer=answer,
        repair="inc-2" if repair else None,
    )
    found = decide(given)
    if found.move is Move.CORDON:
        assert not drained
        assert not paused
        assert not repair
        assert known
        assert (status, instance) == (NodeStatus.RUNNING, 1)
        assert breaker == BreakerState()
        assert slurm in {None, ("IDLE", "")}
        assert mode is Mode.ACT or (mode is Mode.ASK and answer == "approve")
        assert one.starts - LEAD <= NOW < one.over_at
        assert floor <= 63
        assert not one.long or answer == "approve"
    if found.move is Move.PROVE:
        assert drained
        assert not paused
        assert not repair
        assert instance == 99 or not one.starts - LEAD <= NOW < one.over_at
    if drained and found.move is Move.CLOSE:
        raise AssertionError("our drain would be left, or taken back unproved")
    assert found.move is not Move.ASK or not drained
    assert found.decision.wait_s >= 1 or found.move in {Move.CLOSE, Move.PROVE}


def test_limits_of_the_breaker_hold_the_next_drain() -> None:
    full = BreakerState(
        entries=tuple(BreakerEntry(NOW - HOUR / 2, "drain", iid(n), "workers", "x") for n in range(10, 14))
    )
    found = move(breaker=full)
    assert (found.move, found.decision.guard) == (Move.WAIT, Guard.BREAKER)
    assert found.decision.verdict is Verdict.HOLD


# Admission -------------------------------------------------------------------------------------------------------
def took(known: list[Incident], one: Window, mode: Mode = Mode.ACT) -> tuple[IntakeVerdict, Incident | None]:
    found = admit(one, build.node(1), known, mode, build.CLUSTER, NOW)
    return found.verdict, found.incident


def test_a_window_opens_once_joins_once_and_a_moved_one_opens_again_after_the_end() -> None:
    verdict, first = took([], window())
    assert verdict is IntakeVerdict.OPEN
    assert first is not None
    assert (first.cause, first.instance_id, first.trusted, first.slurm_name) == (
        CauseClass.MAINTENANCE,
        iid(1),
        True,
        "ip-10-1-2-1",
    )
    assert took([first], window())[0] is IntakeVerdict.IGNORE
    verdict, joined = took([first], window(starts=5 * HOUR, ends=6 * HOUR))
    assert verdict is IntakeVerdict.JOIN
    assert joined is not None
    assert events_of(joined) == ("mnt-1",)
    ended = close(joined, Outcome.RETURNED, NOW, "done")
    assert took([ended], window())[0] is took([ended], window(starts=5 * HOUR))[0] is IntakeVerdict.NOTE
    verdict, second = took([ended], window(starts=9 * HOUR))
    assert verdict is IntakeVerdict.OPEN
    assert second is not None
    assert second.occurrence == 2


@pytest.mark.parametrize(("mode", "wanted"), [(Mode.OBSERVE, IntakeVerdict.NOTE), (Mode.ACT, IntakeVerdict.OPEN)])
def test_what_was_only_observed_is_taken_up_by_a_rule_that_says_more(mode: Mode, wanted: IntakeVerdict) -> None:
    _, first = took([], window())
    assert first is not None
    assert took([close(first, Outcome.OBSERVED, NOW, "")], window(), mode)[0] is wanted


def test_what_was_observed_and_then_denied_is_not_asked_again_by_a_copy() -> None:
    _, first = took([], window())
    assert first is not None
    observed = close(first, Outcome.OBSERVED, NOW, "")
    _, second = took([observed], window(), Mode.ASK)
    assert second is not None
    denied = close(second, Outcome.DENIED, NOW, "left in use")
    for known in ([observed, denied], [denied, observed]):
        assert took(known, window(), Mode.ASK)[0] is IntakeVerdict.NOTE
