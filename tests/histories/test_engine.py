"""Two hundred histories on the interpreter that the embedded AWS deploys: the same end as on ours, to the second."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.histories.house import House
from tests.histories.on_engine import Engine, Json, end_of, in_its_place
from tests.histories.play import play
from tests.histories.script import write
from tests.simulator.conftest import needs_simulator

HISTORIES = 200


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    needs_simulator()
    made = Engine()
    yield made
    made.close()


def ended(seed: int) -> tuple[Json, list[str]]:
    ends: list[Json] = []

    def keep(house: House) -> None:
        ends.append(end_of(house))

    played = play(write(Random(seed), seed, True), keep)
    return ends[0], played.broken


def test_two_hundred_histories_end_alike_on_the_interpreter_of_the_embedded_aws(engine: Engine) -> None:
    executions = 0
    for seed in range(HISTORIES):
        own, _ = ended(seed)
        with in_its_place(engine):
            real, broken = ended(seed)
        assert broken == [], seed
        for what in own:
            assert real[what] == own[what], f"seed {seed}: {what}"
        executions += len(real["executions"])
    assert executions > HISTORIES  # and so the interpreter was at work
