"""The timeline: short, in columns, in order, whatever happened."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from simulator.demo.checks import Checks
from simulator.demo.house import House
from simulator.demo.report import ReportData, report_data
from simulator.demo.report.gather import incident_views
from simulator.demo.timeline import COLUMNS, LINES, draw, lines
from tests.simulator_demo import samples


@cache
def data() -> ReportData:
    return report_data(cast(House, samples.house()), Checks())


def test_a_good_play() -> None:
    shown = lines(cast(House, samples.house()))
    assert shown[0] == "09 Jun, train-demo"
    assert "  08:39  stage 1       39 workers, discount VERIFIED" in shown
    assert any("5 workers, discount LOST: 5 took on-demand" in line for line in shown)
    assert any("approval, 6 min: approval told" in line for line in shown)
    assert sum("20 nodes" in line and "EfaHealthCheckFailed" in line for line in shown) == 1, "many in one line"
    assert any("grace 20, held 10" in line for line in shown)
    assert not any("see the report" in line for line in shown)


def test_texts_stand_under_each_other() -> None:
    shown = [line for line in draw(data()) if line.startswith(" ")]
    words = ("starts:", "NvidiaErrorTerminate on", "closes;")
    starts = {line.index(word) for line in shown for word in words if word in line}
    assert len(starts) == 1


@given(st.integers(0, 40), st.text(max_size=300))
def test_never_too_long_nor_too_wide(repairs: int, text: str) -> None:
    many = [
        replace(samples.repaired(number, 130 + number), decision=text, slurm_name=text or None, code=text + str(number))
        for number in range(repairs)
    ]
    shown = draw(replace(data(), incidents=incident_views(many)))
    assert len(shown) <= LINES
    assert all(len(line) <= COLUMNS for line in shown)
    assert all("\n" not in line for line in shown)
    told = sum(line.startswith(" ") and "see the report" not in line for line in shown)
    everything = 10 + 8 * repairs  # what else happened; a repair is its opening, six steps, its end
    missing = [line for line in shown if "see the report" in line]
    assert (missing == []) == (told == everything)
    assert not missing or f"…and {everything - told} more" in missing[0]


def test_steps_are_left_out_before_what_happened() -> None:
    few = incident_views([replace(samples.repaired(n, 130 + n), code=f"C{n}") for n in range(6)])
    shown = draw(replace(data(), incidents=few))
    assert sum("repaired and proved" in line for line in shown) == 6
    assert not any("approval, " in line for line in shown)
    assert "36 more" in shown[-1]


def test_an_empty_play_has_no_lines() -> None:
    assert draw(replace(data(), environments=(), incidents=(), episodes=())) == []
