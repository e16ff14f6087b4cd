from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.line.slurm import bare_reason, hyperpod_action, parse_state, set_by_people
from tests.line.build import case


@pytest.mark.parametrize("expected", case(702, "expected.json"), ids=lambda e: e["state"])
def test_state_suffixes(expected):
    state = parse_state(expected["state"])
    assert state.usable is expected["usable"]
    assert state.base == expected.get("base", state.base)
    if expected.get("meaning") == "not responding":
        assert state.not_responding
    assert state.powered_off is ("power" in expected.get("meaning", "") and "up" not in expected["meaning"])


@pytest.mark.parametrize(
    ("text", "usable"), list(zip(case(703, "states.json"), case(703, "expected.json"), strict=True))
)
def test_compound_states(text, usable):
    assert parse_state(text).usable is usable
    base, *flags = text.split("+")
    assert parse_state("+".join((base, *reversed(flags)))) == parse_state(text)


@pytest.mark.parametrize("reason", case(409, "reasons.json"))
def test_hyperpod_obeys_exact_reasons_only(reason):
    assert (hyperpod_action(reason) is not None) is (reason in case(409, "expected.json")["accepted"])
    assert hyperpod_action(f"{reason} [root@2026-11-30T02:55:49]") == hyperpod_action(reason)


@given(st.text(max_size=30))
def test_nothing_else_is_obeyed(reason):
    assert (hyperpod_action(reason) is None) is (reason not in {"Action:Reboot", "Action:Replace"})


@pytest.mark.parametrize(
    ("reason", "people"),
    [
        ("", False),
        (None, False),
        ("Not responding [root@2026-11-30T02:56:11]", False),
        ("Node unexpectedly rebooted", False),
        ("Kill task failed", False),
        ("gres/gpu count reported lower than configured (4 < 8)", False),
        ("roundhouse: inc-1-1 xid-79", False),
        ("Action:Replace", False),
        ("Action:replace", True),
        ("admin: broken fan, ticket 42 [root@2026-11-30T02:55:45]", True),
        ("hc: xid 79", True),
    ],
)
def test_whose_reason_it_is(reason, people):
    assert set_by_people(reason) is people


def test_only_the_trailing_signature_is_cut():
    assert bare_reason("bad dimm [slot=A1] State=IDLE? [ops@2026-05-02T10:11:12]") == "bad dimm [slot=A1] State=IDLE?"


@given(st.text(max_size=20))
def test_any_text_is_survived_and_strange_ones_are_not_usable(text):
    state = parse_state(text)
    assert not state.usable or state.known
