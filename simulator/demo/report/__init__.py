"""The one-page HTML report of a play: gathered from the house, then drawn as one file that needs nothing else."""

from __future__ import annotations

from pathlib import Path

from simulator.demo.checks import Checks
from simulator.demo.house import House
from simulator.demo.report.data import ReportData
from simulator.demo.report.gather import report_data
from simulator.demo.report.page import draw

__all__ = ["ReportData", "draw", "report_data", "write"]


def write(house: House, checks: Checks, path: Path) -> None:
    """Write the report of a play to `path` (its folder must exist)."""
    path.write_text(draw(report_data(house, checks)), encoding="utf-8")
