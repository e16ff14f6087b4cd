"""The play as a timeline of plain lines for a terminal: creations with their stages, incidents with their steps, the
breaker. Pure but for `lines`, which reads the house."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from roundhouse.steps.words import duration
from simulator.demo.checks import Checks
from simulator.demo.house import House
from simulator.demo.report import report_data
from simulator.demo.report.data import EnvironmentView, EpisodeView, IncidentView, ReportData
from simulator.demo.report.repairs import who

COLUMNS, LINES, SUBJECT = 100, 40, 18
INDENT = "  "
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
    """The timeline under a heading for each day and cluster. What is too much is counted, steps first."""
    found = sorted(moments(data), key=lambda moment: moment.at)
    for weight in (_STEP, _SIDE, _MAIN):
        shown = _columns([moment for moment in found if moment.weight <= weight])
        if len(shown) <= LINES - (weight < _STEP):
            break
    told = sum(line.startswith(" ") for line in shown[: LINES - 1])
    if told < len(found) and (len(shown) > LINES or weight < _STEP):
        shown = [*shown[: LINES - 1], f"{INDENT}…and {len(found) - told} more moments: see the report"]
    return shown


def _columns(found: Sequence[Moment]) -> list[str]:
    subjects = min(SUBJECT, max((len(moment.subject) for moment in found), default=0))
    shown, heading = [], ""
    for moment in found:
        now = f"{moment.at:%d %b}, {moment.cluster}"
        if now != heading:
            shown.append(_fit(now, COLUMNS).rstrip())
            heading = now
        start = f"{INDENT}{moment.at:%H:%M}  {_fit(moment.subject, subjects)}  "
        shown.append(f"{start}{_fit(moment.text, COLUMNS - len(start))}".rstrip())
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
            why = f": {stage.reason}" if stage.verdict != "VERIFIED" else ""
            text = f"{stage.target} {stage.group}, discount {stage.verdict}{why}"
            yield Moment(stage.at, view.cluster, f"stage {stage.number}", text)
    if view.finished_at:
        text = f"{view.status.replace('_', ' ')}: {view.excess_usd:,.2f} USD paid above the discount"
        yield Moment(view.finished_at, view.cluster, "creation", text)


def _incident(view: IncidentView) -> Iterator[Moment]:
    """Many alike are told together; one that was only watched takes one line."""
    took = f" after {duration(view.closed_at - view.opened_at)}" if view.closed_at else ""
    if view.count > 1:
        yield Moment(view.opened_at, view.cluster, who(view), f"{view.code}: {view.ended}, all{took}")
        steps = ", ".join(f"{step.name} {step.count}" for step in view.steps)
        yield Moment(view.opened_at, view.cluster, who(view), f"  {steps}", _STEP)
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
