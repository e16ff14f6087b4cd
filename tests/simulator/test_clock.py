from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.clock import VirtualClock


def test_runs_at_its_scale_from_its_origin() -> None:
    clock = VirtualClock(scale=60.0, origin=1000.0, real=lambda: 1002.5)
    assert clock.now() == datetime.fromtimestamp(1150, UTC)
    assert clock.real_seconds(90) == 1.5


@given(st.floats(0.001, 10_000), st.floats(0, 4e9))
def test_another_process_reads_the_same_clock(scale: float, origin: float) -> None:
    clock = VirtualClock(scale=scale, origin=origin, real=lambda: origin + 10)
    told = VirtualClock.from_env(clock.env())
    assert told.scale == scale
    assert told.origin == pytest.approx(origin, abs=1e-5)


@pytest.mark.parametrize("scale", [0, -1, float("nan")])
def test_refuses_a_clock_that_does_not_run(scale: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        VirtualClock(scale=scale)
