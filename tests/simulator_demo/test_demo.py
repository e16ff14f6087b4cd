"""The demo is green: as anybody plays it, and from a finished cluster, as it is sabotaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.demo.play import ACTS
from tests.simulator_demo.sabotage import play


@pytest.mark.slow
def test_the_whole_play(tmp_path: Path) -> None:
    played = play([], tmp_path / "play")
    assert (played.code, played.red) == (0, []), played.printed
    assert {check["act"] for check in played.checks} == {act.ACT for act in ACTS} | {"always"}
    assert (tmp_path / "play" / "report.html").stat().st_size > 10_000


@pytest.mark.slow
def test_from_a_finished_cluster(tmp_path: Path) -> None:
    played = play(["--quick", "--acts", "repair,twins,races,outage"], tmp_path / "play")
    assert (played.code, played.red) == (0, []), played.printed
    assert {check["act"] for check in played.checks} == {"repair", "twins", "races", "outage", "always"}


def test_an_act_that_there_is_not(tmp_path: Path) -> None:
    played = play(["--acts", "repair,dance"], tmp_path / "play")
    assert played.code == 2
    assert "no act dance" in played.printed
