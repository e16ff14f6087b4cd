"""Draws incidents with their steps along time, and the breaker's episodes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from roundhouse.steps.words import duration
from simulator.demo.report.data import EpisodeView, IncidentView, StepView
from simulator.demo.report.markup import Markup, el, table
from simulator.demo.report.tone import BAD, CALM, GOOD, WARN, outcome_tone

STEP_WORDS = {
    "grace": "grace",
    "held": "held back",
    "drain": "drain",
    "approval": "approval",
    "repair": "repair",
    "restore": "count restored",
    "proof": "proof",
    "resume": "back in service",
}


def draw_incidents(incidents: Sequence[IncidentView], now: datetime) -> Markup:
    """Incidents that went beyond grace as cards with lanes; those that were only watched as rows of a table."""
    busy = [view for view in incidents if view.count > 1 or {step.name for step in view.steps} - {"grace"}]
    quiet = [view for view in incidents if view not in busy]
    rows = [
        [
            f"{view.opened_at:%d %b %H:%M}",
            view.cluster,
            f"{who(view)}: {view.code}",
            el("span", view.ended, class_=f"chip {outcome_tone(view.outcome)}"),
            duration((view.closed_at or now) - view.opened_at),
            view.decision,
        ]
        for view in quiet
    ]
    heads = ["opened, UTC", "cluster", "what", "end", "after", "why"]
    return el(
        "div",
        *(draw_incident(view, now) for view in busy),
        el("h3", "Only watched", class_="apart") if quiet else None,
        table("Incidents that were only watched", heads, rows) if quiet else None,
        class_="incidents",
    )


def draw_incident(view: IncidentView, now: datetime) -> Markup:
    """One incident: who, what, how it ended, and a lane for each step."""
    end = view.closed_at or now
    span = max(end - view.opened_at, timedelta(seconds=1))
    many = view.count > 1
    took = f"{'all closed' if many else 'closed'} after {duration(span)}" if view.closed_at else "open"
    told = [view.cluster, f"opened {view.opened_at:%d %b %H:%M} UTC", took]
    told.append("one event" if view.events == 1 else f"{view.events} events")
    if not many and ":" not in view.instance_id:
        told.insert(1, view.instance_id)
    if view.now_instance_id:
        told.append(f"now {view.now_instance_id} under the same name")
    return el(
        "article",
        el(
            "header",
            el("h3", f"{who(view)}: ", el("span", view.code, class_="code")),
            el("span", view.ended, class_=f"chip {outcome_tone(view.outcome)}"),
        ),
        el("p", " · ".join(told), class_="facts"),
        el("ol", *(_lane(step, view.opened_at, span, end, view.count) for step in view.steps), class_="lanes"),
        el("p", view.decision, class_="decision") if view.decision else None,
        el("details", el("summary", f"the {view.count} nodes"), el("p", ", ".join(view.nodes))) if many else None,
        class_="incident",
    )


def who(view: IncidentView) -> str:
    """The node as people know it; what has no instance is kept under `group:…`, `node:…` or `cluster`."""
    if view.count > 1:
        return f"{view.count} nodes"
    kind, _, name = view.instance_id.partition(":")
    match kind:
        case "group":
            return f"group {name}"
        case "node":
            return f"launch of {name[:8]}"
        case "cluster":
            return "the cluster"
        case _:
            return view.nodes[0]


def _lane(step: StepView, begin: datetime, span: timedelta, end: datetime, of: int) -> Markup:
    until = step.ended_at or end
    left = min(1.0, max(0.0, (step.started_at - begin) / span))
    width = min(1.0 - left, max(0.0, (until - step.started_at) / span))
    took = duration(until - step.started_at) if until > step.started_at else "at once"
    took = took if step.ended_at else f"{took}, still running"
    share = el("small", f" {step.count} of {of}") if of > 1 else None
    kind = step.name if step.name in STEP_WORDS else "other"
    return el(
        "li",
        el("span", STEP_WORDS.get(step.name, step.name.replace("_", " ")), share, class_="lane-name"),
        el(
            "span",
            el("span", class_=f"lane-bar step-{kind}", style=f"left:{100 * left:.2f}%;width:{100 * width:.2f}%"),
            class_="lane",
            aria_hidden="true",
        ),
        el("span", took, class_="lane-took"),
        el("span", f"{step.started_at:%H:%M:%S}  {step.detail}", class_="lane-detail"),
    )


def draw_episode(view: EpisodeView) -> Markup:
    """One opening of the breaker: what opened it, what was done meanwhile, how it ended."""
    calm = view.calls == 0
    calls = "no call" if calm else f"{view.calls} calls"
    messages = "one message" if view.messages == 1 else f"{view.messages} messages"
    held = "nothing rebooted, replaced or deleted" if calm else "calls were made while it was open"
    end = _at(view.closed_at) if view.closed_at else "still open"
    after = f"closed after {duration(view.closed_at - view.opened_at)}" if view.closed_at else "nothing is touched"
    return el(
        "ol",
        _moment(_at(view.opened_at), "breaker opens", view.reason, WARN),
        _moment(f"{view.nodes} nodes in trouble", f"{calls}, {messages}", held, CALM if calm else BAD),
        _moment(end, after, view.cluster, GOOD if view.closed_at else WARN),
        class_="episode",
    )


def _at(at: datetime) -> str:
    return f"{at:%d %b %H:%M} UTC"


def _moment(when: str, what: str, note: str, tone: str) -> Markup:
    return el("li", el("span", when, class_="when"), el("b", what), el("span", note, class_="note"), class_=tone)
