from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.line.breaker import (
    TAKING,
    BreakerEntry,
    BreakerState,
    BreakerStatus,
    admit,
    canary_result,
    note,
    recovered,
)
from roundhouse.line.policy import BreakerLimits
from tests.line.build import NOW, ago

LIMITS = BreakerLimits()


def entry(
    instance: str, kind: str = "replace", at=NOW, group: str = "workers", cause: str = "hardware"
) -> BreakerEntry:
    return BreakerEntry(at, kind, instance, group, cause)


def filled(count: int, kind: str = "replace", age: float = 60, **more) -> BreakerState:
    return BreakerState(entries=tuple(entry(f"i-{n}", kind, ago(age), **more) for n in range(count)))


@pytest.mark.parametrize(
    ("limits", "before", "group_target", "cluster_target", "allowed"),
    [
        pytest.param(LIMITS, filled(3), 64, 64, True, id="the fourth of four within the hour"),
        pytest.param(LIMITS, filled(4), 64, 64, False, id="the fifth of four within the hour"),
        pytest.param(LIMITS, filled(4, age=3700), 64, 64, True, id="an hour later they no longer count"),
        pytest.param(LIMITS, filled(2), 20, 200, False, id="ten percent of the group"),
        pytest.param(LIMITS, filled(2, group="other"), 200, 20, False, id="ten percent of the cluster"),
        pytest.param(replace(LIMITS, group_short_max=2), filled(2), 200, 200, False, id="absolute limit of the group"),
        pytest.param(
            replace(LIMITS, group_short_max=2), filled(2, group="other"), 200, 200, True, id="another group's nodes"
        ),
        pytest.param(LIMITS, filled(4, group="other"), 200, 200, False, id="absolute limit of the cluster"),
        pytest.param(LIMITS, filled(12, age=40000), 600, 600, False, id="slow burn: the thirteenth of the day"),
        pytest.param(LIMITS, filled(4, age=40000), 16, 900, False, id="slow burn: a quarter of the group"),
        pytest.param(LIMITS, filled(12, age=90000), 600, 600, True, id="yesterday is forgotten"),
        pytest.param(LIMITS, filled(4, "theirs"), 64, 64, False, id="HyperPod's own repairs count"),
        pytest.param(LIMITS, filled(4, "drain"), 64, 64, False, id="drains count"),
        pytest.param(LIMITS, filled(4, "signal"), 64, 64, True, id="signals are no action"),
        pytest.param(LIMITS, BreakerState(), 2, 4, True, id="a percentage never means less than one node"),
        pytest.param(LIMITS, filled(1), 4, 4, False, id="but not two"),
    ],
)
def test_limits(limits, before, group_target, cluster_target, allowed):
    admission, after = admit(before, entry("i-new"), limits, group_target, cluster_target, NOW)
    assert admission.allowed is allowed
    assert admission.opened_now is not allowed
    assert after.status is (BreakerStatus.CLOSED if allowed else BreakerStatus.OPEN)
    assert (entry("i-new") in after.entries) is allowed
    assert admission.reason


def test_a_drain_and_the_replacement_of_one_node_count_once():
    state = filled(3)
    _, state = admit(state, entry("i-x", "drain"), LIMITS, 64, 64, NOW)
    admission, state = admit(state, entry("i-x", "replace"), LIMITS, 64, 64, NOW)
    assert admission.allowed
    assert not admit(state, entry("i-y"), LIMITS, 64, 64, NOW)[0].allowed


def test_open_then_one_canary_then_closed():
    _, state = admit(filled(4), entry("i-5"), LIMITS, 64, 64, NOW)
    second, state = admit(state, entry("i-6"), LIMITS, 64, 64, NOW)
    assert (second.allowed, second.opened_now) == (False, False)

    later = NOW + timedelta(seconds=LIMITS.open_s)
    canary, state = admit(state, entry("i-6", at=later), LIMITS, 64, 64, later)
    assert canary.allowed
    assert (state.status, state.canary) == (BreakerStatus.HALF_OPEN, "i-6")
    assert not admit(state, entry("i-7", at=later), LIMITS, 64, 64, later)[0].allowed
    assert admit(state, entry("i-6", "reboot", at=later), LIMITS, 64, 64, later)[0].allowed

    assert canary_result(state, True, later).status is BreakerStatus.CLOSED
    failed = canary_result(state, False, later)
    assert (failed.status, failed.since, failed.canary) == (BreakerStatus.OPEN, later, None)


def test_a_canary_that_is_never_heard_of_opens_it_again():
    state = BreakerState(BreakerStatus.HALF_OPEN, NOW, "too many", "i-1")
    later = NOW + timedelta(seconds=LIMITS.hold_expiry_s)
    admission, state = admit(state, entry("i-2"), LIMITS, 64, 64, later)
    assert (admission.allowed, admission.opened_now, state.status) == (False, True, BreakerStatus.OPEN)


def outage(count: int, cause: str = "unreachable") -> tuple[list[bool], BreakerState]:
    state, opened = BreakerState(), []
    for n in range(count):
        admission, state = note(state, entry(f"i-{n}", "signal", cause=cause), LIMITS, 64, 64, NOW)
        opened.append(admission.opened_now)
    return opened, state


def test_a_mass_outage_opens_it_once_and_nothing_is_admitted():
    opened, state = outage(20)
    assert opened.count(True) == 1
    assert opened.index(True) == LIMITS.systemic_nodes - 1
    assert not admit(state, entry("i-0"), LIMITS, 64, 64, NOW)[0].allowed
    assert "network" in state.reason


def test_repeated_signals_of_one_node_are_no_outage():
    state = BreakerState()
    for second in range(30):
        _, state = note(state, entry("i-1", "signal", NOW + timedelta(seconds=second)), LIMITS, 64, 64, NOW)
    assert state.status is BreakerStatus.CLOSED


def test_most_of_a_small_cluster_at_once_is_systemic_whatever_the_causes():
    state = BreakerState()
    for n, cause in enumerate(("hardware", "network", "unreachable")):
        _, state = note(state, entry(f"i-{n}", "signal", cause=cause), LIMITS, 4, 4, NOW)
    assert state.status is BreakerStatus.OPEN


def test_slow_signals_are_not_systemic():
    state = BreakerState()
    for n in range(10):
        at = NOW + timedelta(seconds=n * 400)
        _, state = note(state, entry(f"i-{n}", "signal", at), LIMITS, 64, 64, at)
    assert state.status is BreakerStatus.CLOSED


def test_recoveries_close_it_once_the_last_signal_is_gone():
    _, state = outage(20)
    for n in range(19):
        state = recovered(state, f"i-{n}", LIMITS, {"workers": 64}, NOW)
        assert state.status is BreakerStatus.OPEN
    state = recovered(state, "i-19", LIMITS, {"workers": 64}, NOW)
    assert state.status is BreakerStatus.CLOSED
    assert admit(state, entry("i-0"), LIMITS, 64, 64, NOW)[0].allowed


def test_nothing_closes_while_the_size_of_the_cluster_is_unknown():
    _, state = outage(5)
    for n in range(5):
        state = recovered(state, f"i-{n}", LIMITS, {}, NOW)
    assert state.status is BreakerStatus.OPEN
    assert recovered(state, "i-0", LIMITS, {"workers": 64}, NOW).status is BreakerStatus.CLOSED


def test_a_recovery_does_not_close_what_the_counts_would_open_again():
    _, state = admit(filled(4), entry("i-5"), LIMITS, 64, 64, NOW)
    assert recovered(state, "i-1", LIMITS, {"workers": 64}, NOW).status is BreakerStatus.OPEN


def test_memory_is_a_day():
    state = BreakerState(entries=(entry("i-old", at=ago(86401)), entry("i-new", at=ago(10))))
    _, state = note(state, entry("i-1", "signal"), LIMITS, 64, 64, NOW)
    assert [e.instance_id for e in state.entries] == ["i-new", "i-1"]


STEPS = st.lists(
    st.tuples(
        st.integers(0, 30),  # node
        st.sampled_from(
            ["replace", "reboot", "drain", "delete_restore", "note:theirs", "note:signal", "ok", "bad", "up"]
        ),
        st.integers(0, 1200),  # seconds that pass before it
        st.sampled_from(["a", "b"]),
    ),
    max_size=80,
)
TARGETS = {"a": 40, "b": 12}


@settings(max_examples=150, deadline=None)
@given(
    STEPS,
    st.builds(
        BreakerLimits,
        short_max=st.integers(1, 5),
        group_short_max=st.integers(1, 4),
        day_max=st.integers(1, 12),
        short_percent=st.sampled_from([5.0, 10.0, 50.0]),
    ),
)
def test_whatever_the_order_it_admits_no_node_beyond_the_limits(steps, limits):
    """Beyond the limits goes only a canary, one at a time, and none within `open_s` of an opening."""
    state, now = BreakerState(), NOW
    for number, what, passed, group in steps:
        now += timedelta(seconds=passed)
        instance = f"i-{group}-{number}"
        if what in {"ok", "bad"}:
            state = canary_result(state, what == "ok", now)
            continue
        if what == "up":
            state = recovered(state, instance, limits, TARGETS, now)
            continue
        made = BreakerEntry(now, what.removeprefix("note:"), instance, group, "hardware")
        was = state
        if what.startswith("note:"):
            _, state = note(state, made, limits, TARGETS[group], 52, now)
            assert made in state.entries
            continue
        admission, state = admit(state, made, limits, TARGETS[group], 52, now)
        assert (made in state.entries) is admission.allowed
        if not admission.allowed:
            assert state.status is not BreakerStatus.CLOSED
            continue
        if was.status is BreakerStatus.CLOSED:
            short = {e.instance_id for e in state.entries if e.kind in TAKING and e.at > now - timedelta(seconds=3600)}
            already = {e.instance_id for e in was.entries if e.kind in TAKING and e.at > now - timedelta(seconds=3600)}
            mine = {
                e.instance_id for e in state.entries if e.kind in TAKING and e.instance_id in short and e.group == group
            }
            day = {e.instance_id for e in state.entries if e.kind in TAKING}
            assert instance in already or len(short) <= min(limits.short_max, max(1, int(limits.short_percent * 0.52)))
            assert instance in already or len(mine) <= max(limits.group_short_max, 1)
            assert instance in already or len(day) <= limits.day_max
        elif was.status is BreakerStatus.OPEN:
            assert was.since is not None
            assert now - was.since >= timedelta(seconds=limits.open_s)
        else:
            assert instance == was.canary
