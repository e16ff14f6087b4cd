"""Many histories over all processors: a figure as one JSON line, and the seeds that broke a rule."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import TextIO

from tests.histories.play import Played, of_seed, play, shrunk
from tests.histories.script import write

SHARE = 250  # histories a process takes at once
SHOWN = 20


@dataclass
class Figure:
    """The sum of many histories."""

    histories: int = 0
    calls: int = 0
    steps: int = 0
    taken: int = 0
    happened: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[int, str]] = field(default_factory=list)  # (seed, first rule broken, in words)
    found: list[str] = field(default_factory=list)  # what was looked for, in words

    def add(self, played: Played) -> None:
        self.histories += 1
        self.calls += played.calls
        self.steps += played.steps
        self.taken += played.taken
        self.happened += played.happened
        self.outcomes += played.outcomes
        if played.broken:
            self.broken.append((played.script.seed, played.broken[0]))

    def join(self, other: Figure) -> None:
        self.histories += other.histories
        self.calls += other.calls
        self.steps += other.steps
        self.taken += other.taken
        self.happened += other.happened
        self.outcomes += other.outcomes
        self.broken += other.broken
        self.found += other.found

    def line(self) -> str:
        """As one JSON line."""
        return json.dumps(
            {
                "histories": self.histories,
                "violations": len(self.broken),
                "broken": self.broken[:SHOWN],
                "found": self.found,
                "steps": self.steps,
                "calls": self.calls,
                "nodes_taken": self.taken,
                "kinds": len(self.happened),
                "happened": dict(self.happened.most_common()),
                "outcomes": dict(self.outcomes.most_common()),
            }
        )


def share(first: int, count: int, reconciled: bool, until: tuple[str, ...] = ()) -> Figure:
    figure = Figure()
    for seed in range(first, first + count):
        played = of_seed(seed, reconciled)
        figure.add(played)
        if played.rules & set(until):
            figure.found = [words for words in played.broken if words.partition(":")[0] in until]
            break
    return figure


def many(
    first: int, count: int, processes: int, reconciled: bool, until: tuple[str, ...] = ()
) -> Iterator[tuple[int, Figure]]:
    """(next seed, figure of everything below it) after each share, in order of seeds."""
    total = Figure()
    starts = range(first, first + count, SHARE)
    sizes = [min(SHARE, first + count - start) for start in starts]
    if processes == 1:
        for start, size in zip(starts, sizes, strict=True):
            total.join(share(start, size, reconciled, until))
            yield start + size, total
        return
    with ProcessPoolExecutor(processes) as pool:
        shares = pool.map(share, starts, sizes, [reconciled] * len(sizes), [until] * len(sizes))
        for start, size, done in zip(starts, sizes, shares, strict=True):
            total.join(done)
            yield start + size, total


def say(words: str, where: TextIO = sys.stdout) -> None:
    where.write(f"{words}\n")
    where.flush()


def main() -> None:
    """Exit code 1 when a rule was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.histories", description=__doc__)
    parser.add_argument("--seed", type=int, help="play this one history, and tell it")
    parser.add_argument("--first", type=int, default=0, help="the first seed; a run goes on where another stopped")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--shrink", action="store_true", help="with --seed: leave out all that the failure needs not")
    parser.add_argument("--no-reconciler", action="store_true")
    parser.add_argument("--until", default="", help="stop at the first history that breaks one of these rules (a|b)")
    given = parser.parse_args()
    if given.seed is not None:
        sys.exit(_one(given.seed, given.shrink, not given.no_reconciler))
    began, figure, said = time.monotonic(), Figure(), 0
    for upto, figure in many(
        given.first, given.count, given.processes, not given.no_reconciler, tuple(filter(None, given.until.split("|")))
    ):
        for seed, words in figure.broken[said:]:
            say(f"seed {seed}: {words}", sys.stderr)
        said = len(figure.broken)
        say(f"seeds below {upto}: {said} violations", sys.stderr)
        if figure.found:
            break
    took = {"seconds": round(time.monotonic() - began, 1), "processes": given.processes, "first_seed": given.first}
    say(json.dumps({**json.loads(figure.line()), **took}))
    sys.exit(1 if figure.broken else 0)


def _one(seed: int, shrink: bool, reconciled: bool) -> int:
    script = write(Random(seed), seed, reconciled)
    played = play(script)
    if shrink and played.broken:
        rules = played.rules
        script = shrunk(script, lambda other: bool(other.rules & rules))
        played = play(script)
    say(f"{script}")
    for op in script.ops:
        say(f"  {op}")
    for words in played.broken:
        say(f"BROKEN {words}")
    say(f"{dict(played.happened)} {dict(played.outcomes)}")
    return 1 if played.broken else 0
