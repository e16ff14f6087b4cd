"""Play a history: a script in, what was broken and what happened out. Deterministic."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from functions import runtime
from tests.histories import endings
from tests.histories.happenings import plan
from tests.histories.house import House
from tests.histories.script import Op, Script, write

LIFE_S = 14 * 86400
BUSY_S = 4 * 3600  # how long things happen of themselves; what was begun is still brought to its end


@dataclass
class Played:
    """What came of one history. `broken` is empty when every rule held."""

    script: Script
    broken: list[str]
    happened: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    calls: int = 0  # on ports
    steps: int = 0  # invocations of handlers
    taken: int = 0  # nodes that we took

    @property
    def rules(self) -> set[str]:
        return {words.partition(":")[0] for words in self.broken}


def play(script: Script, ended: Callable[[House], None] = lambda house: None) -> Played:
    """The history of that script; `ended` may look at the house as it was left."""
    house = House(script)
    for op in script.ops:
        plan(house, op)
    house.until = house.now
    house.wake()
    broken: list[str] = []
    with quiet(), house._wired():
        try:
            house.run(LIFE_S)
            house.slurm.obey()
        except AssertionError as wrong:
            broken.append(f"circle: {wrong}")
    ended(house)
    broken = [*house.judge.broken, *broken, *([] if broken else endings.broken(house))]
    return Played(
        script,
        broken,
        house.happened,
        Counter(str(i.outcome) for i in house.incidents.records.values()),
        house.gate.count,
        house.invocations,
        sum(t.by == "us" for t in house.cluster.taken),
    )


def of_seed(seed: int, reconciled: bool = False) -> Played:
    return play(write(Random(seed), seed, reconciled))


def shrunk(script: Script, still: Callable[[Played], bool]) -> Script:
    """The same failure with as few ops as leave it standing."""
    ops: list[Op] = list(script.ops)
    again = True
    while again:
        again = False
        for index in range(len(ops)):
            fewer = ops[:index] + ops[index + 1 :]
            if still(play(script.with_ops(tuple(fewer)))):
                ops, again = fewer, True
                break
    return script.with_ops(tuple(ops))


@contextmanager
def quiet() -> Iterator[None]:
    """The steps log each thing that they do; a million histories need none of it."""
    kept = runtime.logger.log_level
    runtime.logger.setLevel("CRITICAL")
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        runtime.metrics.clear_metrics()
        runtime.logger.setLevel(kept)
