"""The play as a timeline of plain lines for a terminal: creations with their stages, incidents with their steps, the
breaker. Pure but for `lines`, which reads the house."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from roundhouse.steps.words import duration
from simulator.demo.checks import Checks
from simulator.demo.house import House
from simulator.demo.report import report_data
from simulator.demo.report.data import EnvironmentView, EpisodeView, IncidentView, ReportData
from simulator.demo.report.repairs import who

COLUMNS, LINES = 100, 40
_TIME = 12  # "30 Nov 16:46"
_MAIN, _SIDE, _STEP = 0, 1, 2  # what is left out first when there is too much: the highest


@dataclass(frozen=True, slots=True)
class Moment:
    """One line: when, on which cluster, who or what, what happened. `weight` as above."""

    at: datetime
    cluster: str
    subject: str
    text: str
    weight: int = _MAIN


def lines(house: House) -> list[str]:
    """The timeline of a play, at most COLUMNS wide and LINES long."""
    return draw(report_data(house, Checks()))


def draw(data: ReportData) -> list[str]:
    """The timeline in columns. What is too much is counted, steps first; the report has it all."""
    found = sorted(moments(data), key=lambda moment: moment.at)
    kept, room = found, LINES - 1
    for weight in (_STEP, _SIDE):
        if len(kept) > room:
            kept = [moment for moment in kept if moment.weight < weight]
    kept = kept if len(kept) <= LINES else kept[:room]
    clusters = min(20, max((len(moment.cluster) for moment in kept), default=0))
    subjects = min(24, max((len(moment.subject) for moment in kept), default=0))
    shown = []
    for moment in kept:
        start = f"{moment.at:%d %b %H:%M}  {_fit(moment.cluster, clusters)}  {_fit(moment.subject, subjects)}  "
        shown.append(f"{start}{_fit(moment.text, COLUMNS - len(start))}".rstrip())
    if len(kept) < len(found):
        shown.append(f"{'':{_TIME}}  …and {len(found) - len(kept)} more moments: see the report")
    return shown


def moments(data: ReportData) -> Iterator[Moment]:
    """What happened, in no order."""
    for environment in data.environments:
        yield from _creation(environment)
    for incident in data.incidents:
        yield from _incident(incident)
    for episode in data.episodes:
        yield from _breaker(episode)


def _creation(view: EnvironmentView) -> Iterator[Moment]:
    if view.started_at:
        yield Moment(view.started_at, view.cluster, "creation", f"starts: {view.contract} nodes by contract")
    for stage in view.stages:
        if stage.verdict:
            text = f"{stage.target} {stage.group}, discount {stage.verdict}: {stage.reason}"
            yield Moment(stage.at, view.cluster, f"stage {stage.number}", text)
    if view.finished_at:
        text = f"{view.status.replace('_', ' ')}: {view.excess_usd:,.2f} USD paid above the discount"
        yield Moment(view.finished_at, view.cluster, "creation", text)


def _incident(view: IncidentView) -> Iterator[Moment]:
    """Many alike are told once, and so is one that was only watched."""
    took = f" after {duration(view.closed_at - view.opened_at)}" if view.closed_at else ""
    if view.count > 1:
        steps = ", ".join(f"{step.name} {step.count}" for step in view.steps)
        yield Moment(view.opened_at, view.cluster, who(view), f"{view.code} ({steps}): all {view.ended}{took}")
        return
    if not {step.name for step in view.steps} - {"grace"}:
        yield Moment(view.opened_at, view.cluster, who(view), f"{view.code}: {view.ended}{took}", _SIDE)
        return
    yield Moment(view.opened_at, view.cluster, who(view), f"{view.code} on {view.instance_id}")
    for step in view.steps:
        lasted = duration(step.ended_at - step.started_at) if step.ended_at else "still running"
        yield Moment(step.started_at, view.cluster, who(view), f"  {step.name}, {lasted}: {step.detail}", _STEP)
    if view.closed_at:
        yield Moment(view.closed_at, view.cluster, who(view), f"{view.ended}{took}")


def _breaker(view: EpisodeView) -> Iterator[Moment]:
    yield Moment(view.opened_at, view.cluster, "breaker", f"opens: {view.reason}")
    if view.closed_at:
        yield Moment(view.closed_at, view.cluster, "breaker", f"closes; {view.calls} calls while it was open")


def _fit(text: str, width: int) -> str:
    """`text` on one line of exactly `width` characters."""
    text = " " * (len(text) - len(text.lstrip(" "))) + " ".join(text.split())
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"
