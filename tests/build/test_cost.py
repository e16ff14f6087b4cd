"""What a cluster costs, and how long people may think about it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.build.cost import (
    actual_usd_per_hour,
    ask_timeout_s,
    by_capacity,
    excess_usd_per_hour,
    expected_usd_per_hour,
)
from tests.build.samples import CONTROLLER, NO_DISCOUNT, group, spec

OF = spec()  # controller 0.5; workers 64, 8 reserved, 16 on demand


def test_expected() -> None:
    assert expected_usd_per_hour(OF) == 64 * 8 + 0.5
    assert expected_usd_per_hour(OF, {"controller": 1, "workers": 39}) == 39 * 8 + 0.5
    assert expected_usd_per_hour(OF, {}) == 0


def test_actual_is_expected_as_long_as_nothing_is_lost() -> None:
    running = {"controller": 1, "workers": 39}
    assert actual_usd_per_hour(OF, running, {}) == expected_usd_per_hour(OF, running)
    assert actual_usd_per_hour(OF, running, {"workers": 9}) == expected_usd_per_hour(OF, running) + 9 * 8
    assert actual_usd_per_hour(OF, running, {"workers": 99}) == 39 * 16 + 0.5
    assert by_capacity(OF, running, {"workers": 9}) == {"reserved": 30, "on_demand": 10}


def test_excess() -> None:
    assert excess_usd_per_hour(group(), 39) == 39 * 8
    assert excess_usd_per_hour(group(discount=NO_DISCOUNT), 39) == 0
    assert excess_usd_per_hour(CONTROLLER, 1) == 0


@pytest.mark.parametrize(
    ("excess", "spent", "seconds"),
    [(0, 0, 3600), (100, 0, 3600), (500, 0, 3000), (1000, 0, 1200), (1000, 250, 300), (1000, 600, 60), (1e9, 0, 60)],
)
def test_ask_timeout(excess: float, spent: float, seconds: int) -> None:
    assert ask_timeout_s(OF, excess, spent) == seconds  # cap 500, at most an hour


@given(st.floats(0.01, 1e6), st.floats(0, 1e4))
def test_silence_and_its_roll_back_stay_under_the_cap_but_for_the_first_minute(excess: float, spent: float) -> None:
    seconds = ask_timeout_s(OF, excess, spent)
    assert 60 <= seconds <= OF.ask_timeout_s
    gone = seconds + 600  # billed until the nodes have terminated
    assert seconds == 60 or spent + excess * gone / 3600 <= OF.rollback_dollar_cap + 0.01
