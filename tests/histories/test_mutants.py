"""The histories see what they are to see: the product is broken on purpose, and a rule must be seen broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.histories.mutants import MUTANTS, Mutant
from tests.histories.mutilate import histories_on, mutilated


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name.replace(" ", "_"))
def test_mutant_does_not_survive(mutant: Mutant, tmp_path: Path) -> None:
    figure = histories_on(mutilated(mutant.changes, tmp_path / "copy"), mutant.within, mutant.must)
    assert figure["found"], f"{mutant.name} survived {figure['histories']} histories: {figure['broken']}"


def test_unbroken_copy_breaks_no_rule(tmp_path: Path) -> None:
    figure = histories_on(mutilated((), tmp_path / "copy"), 100)
    assert (figure["histories"], figure["broken"]) == (100, [])
