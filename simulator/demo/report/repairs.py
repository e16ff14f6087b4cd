"""Draws incidents with their steps along time, and the breaker's episodes. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from roundhouse.steps.words import duration
from simulator.demo.report.data import EpisodeView, IncidentView, StepView
from simulator.demo.report.markup import Markup, el
from simulator.demo.report.tone import WARN, outcome_tone

STEP_WORDS = {
    "grace": "grace for HyperPod",
    "held": "held back",
    "drain": "drain",
    "approval": "approval",
    "repair": "repair",
    "restore": "count restored",
    "proof": "proof",
    "resume": "back in service",
}


def draw_incident(view: IncidentView, now: datetime) -> Markup:
    """One incident: who, what, how it ended, and a lane for each step. Instances of names are kept apart."""
    end = view.closed_at or now
    span = max(end - view.opened_at, timedelta(seconds=1))
    many = view.count > 1
    who = f"{view.count} nodes" if many else view.nodes[0]
    took = f"{'all closed' if many else 'closed'} after {duration(span)}" if view.closed_at else "open"
    told = [view.cluster, f"opened {view.opened_at:%d %b %H:%M} UTC", took, f"{view.events} events"]
    if not many:
        told.insert(1, view.instance_id)
    if view.now_instance_id:
        told.append(f"now {view.now_instance_id} under the same name")
    return el(
        "article",
        el(
            "header",
            el("h3", f"{who}: ", el("span", view.code, class_="code")),
            el("span", view.ended, class_=f"chip {outcome_tone(view.outcome)}"),
        ),
        el("p", " · ".join(told), class_="facts"),
        el("ol", *(_lane(step, view.opened_at, span, end, view.count) for step in view.steps), class_="lanes"),
        el("p", view.decision, class_="decision") if view.decision else None,
        el("details", el("summary", f"the {view.count} nodes"), el("p", ", ".join(view.nodes))) if many else None,
        class_="incident",
    )


def _lane(step: StepView, begin: datetime, span: timedelta, end: datetime, of: int) -> Markup:
    until = step.ended_at or end
    left = min(1.0, max(0.0, (step.started_at - begin) / span))
    width = min(1.0 - left, max(0.0, (until - step.started_at) / span))
    took = duration(until - step.started_at) if until > step.started_at else "at once"
    took = took if step.ended_at else f"{took}, still running"
    share = f" ({step.count} of {of})" if of > 1 else ""
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
    """One opening of the breaker."""
    calls = "no call" if view.calls == 0 else f"{view.calls} calls"
    messages = "one message" if view.messages == 1 else f"{view.messages} messages"
    end = (
        [f"{view.closed_at:%d %b %H:%M} UTC", f"closed after {duration(view.closed_at - view.opened_at)}"]
        if view.closed_at
        else ["still open", "nothing is touched"]
    )
    return el(
        "ol",
        _moment(f"{view.opened_at:%d %b %H:%M} UTC", "breaker opens", view.reason, WARN),
        _moment(
            f"{view.nodes} nodes in trouble",
            f"{calls}, {messages}",
            "nothing drained, rebooted, replaced or deleted" if view.calls == 0 else "",
            "calm" if view.calls == 0 else "bad",
        ),
        _moment(end[0], end[1], view.cluster, "good" if view.closed_at else WARN),
        class_="episode",
    )


def _moment(when: str, what: str, note: str, tone: str) -> Markup:
    return el("li", el("span", when, class_="when"), el("b", what), el("span", note, class_="note"), class_=tone)
