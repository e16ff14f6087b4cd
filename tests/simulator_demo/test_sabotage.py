"""The demo's checks are real: with a safeguard of the code switched off, the right one goes red."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.demo.assembly import REPOSITORY
from tests.simulator_demo.sabotage import Code, Sabotage, play_sabotaged
from tests.simulator_demo.sabotages import OF_CODE


@pytest.mark.slow
@pytest.mark.parametrize("sabotage", OF_CODE, ids=lambda sabotage: sabotage.name)
def test_the_demo_goes_red(sabotage: Sabotage, tmp_path: Path) -> None:
    played = play_sabotaged(sabotage, tmp_path)
    assert (played.code, bool(played.red)) == (1, True), played.printed
    first = played.red[0]
    assert (first["act"], first["must"]) == (sabotage.act, sabotage.must), played.printed
    assert sabotage.seen in first["seen"]


@pytest.mark.parametrize("sabotage", OF_CODE, ids=lambda sabotage: sabotage.name)
def test_it_fits_the_code_and_leaves_python(sabotage: Sabotage) -> None:
    """Without a play: each text is in its file exactly once, and what comes out can be compiled."""
    changed: dict[str, str] = {}
    for change in sabotage.changes:
        assert isinstance(change, Code)
        before = changed.get(change.path) or (REPOSITORY / change.path).read_text()
        changed[change.path] = change.changed(before)
    for path, text in changed.items():
        compile(text, path, "exec")
