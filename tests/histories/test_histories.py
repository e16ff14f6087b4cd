"""Twenty thousand histories, and hypothesis on the same generator: every rule holds."""

from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.histories.play import of_seed, play, shrunk
from tests.histories.script import MEANWHILE, RECONCILED, TROUBLE, Op, Script, write
from tests.histories.soak import many

HISTORIES = 20_000
FIRST_SEED = 0


@pytest.mark.alone
def test_no_rule_is_broken_in_twenty_thousand_histories() -> None:
    *_, (_, figure) = many(FIRST_SEED, HISTORIES, os.cpu_count() or 1, reconciled=True)
    assert figure.broken == [], f"replay with: python -m tests.histories --seed {figure.broken[0][0]} --shrink"
    assert figure.histories == HISTORIES
    # a generator that does nothing would break no rule either
    assert figure.taken > HISTORIES / 3
    assert figure.calls > 100 * HISTORIES
    unseen = {kind.replace("_", " ") for kind in {**TROUBLE, **MEANWHILE, **RECONCILED}} - set(figure.happened)
    assert not unseen, f"never happened: {sorted(unseen)}"
    outcomes = {"repaired", "recovered", "superseded", "observed", "denied", "expired", "escalated", "ignored"}
    assert outcomes <= set(figure.outcomes)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_no_rule_is_broken_whatever_hypothesis_chooses(random: Random) -> None:
    assert play(write(random, reconciled=True)).broken == []


def test_same_seed_is_the_same_history() -> None:
    one, other = of_seed(7, True), of_seed(7, True)
    assert (one.script, one.calls, one.happened, one.outcomes) == (
        other.script,
        other.calls,
        other.happened,
        other.outcomes,
    )


def test_failure_is_shrunk_to_what_it_needs() -> None:
    ops = (Op(10, "break_soft"), Op(20, "job", 3), Op(30, "colleague_adds"), Op(40, "click"))
    small = shrunk(Script(1, ops=ops), lambda played: played.happened["colleague adds"] > 0)
    assert [op.kind for op in small.ops] == ["colleague_adds"]
