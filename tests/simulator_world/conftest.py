"""Fixtures for tests of the simulated world."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulator_world.harness import Bench, scenario


@pytest.fixture
def bench() -> Bench:
    """The small standard world."""
    return Bench()


@pytest.fixture
def bench_with() -> Callable[..., Bench]:
    """Makes a world from the standard scenario with some keys replaced."""

    def make(**changes: Any) -> Bench:
        return Bench(scenario(**changes))

    return make
