"""Draws what is on record: the conversation in Slack, our calls, and every check with what was seen. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from simulator.demo.report.data import KINDS, ActView, CallView, EnvironmentView, SlackLine
from simulator.demo.report.markup import Child, Markup, el, table

SHOWN_THREADS = 4
LINES = 12  # of a thread's text
Thread = tuple[SlackLine, ...]


def draw_threads(threads: Sequence[Thread]) -> Markup:
    """The longest conversations, in order of time; the others folded away."""
    if not threads:
        return el("p", "Nothing was said.", class_="quiet")
    longest = sorted(threads, key=_interest, reverse=True)[:SHOWN_THREADS]
    rest = [thread for thread in threads if thread not in longest]
    return el(
        "div",
        *(_thread(thread) for thread in threads if thread in longest),
        el(
            "details",
            el("summary", f"{len(rest)} more thread{'s' * (len(rest) > 1)}"),
            *(_thread(thread) for thread in rest),
        )
        if rest
        else None,
        class_="slack",
    )


def _interest(thread: Thread) -> tuple[int, int]:
    return sum(line.kind == "click" for line in thread), len(thread)


def _thread(thread: Thread) -> Markup:
    return el("ol", *(_line(line) for line in thread), class_="thread")


def _line(line: SlackLine) -> Markup:
    first, *others = line.text.splitlines() or [""]
    more = "\n".join(others[:LINES]) + ("\n…" if len(others) > LINES else "")
    return el(
        "li",
        el("time", f"{line.at:%d %b %H:%M}", datetime=line.at.isoformat(timespec="seconds")),
        el("span", line.who, class_="who"),
        el("div", el("b", first) if line.kind != "click" else first, el("p", more) if more else None, class_="said"),
        class_=f"line {line.kind}",
    )


def draw_calls(calls: Sequence[CallView]) -> Markup:
    """Every call of ours that changes something."""
    if not calls:
        return el("p", "None was made.", class_="quiet")
    rows = [
        [
            f"{call.at:%d %b %H:%M:%S}",
            call.environment,
            el("code", call.by),
            el("code", call.operation),
            call.about,
            el("span", call.result, class_="good-text" if call.ok else "bad-text"),
        ]
        for call in calls
    ]
    return table("Calls by Roundhouse's roles", ["UTC", "environment", "function", "call", "about", "result"], rows)


def draw_checks(acts: Sequence[ActView]) -> Markup:
    """Checks by act; the acts with a check that is not true come open."""
    return el("div", *(_act(act) for act in acts), class_="acts-list")


def _act(act: ActView) -> Markup:
    true = sum(check.ok for check in act.checks)
    return el(
        "section",
        el("h3", act.title, el("span", f"{true} of {len(act.checks)}", class_=f"chip {'good' if act.ok else 'bad'}")),
        el(
            "ul",
            *(
                el(
                    "li",
                    el(
                        "span",
                        "✓" if check.ok else "✗",
                        class_="check-mark",
                        role="img",
                        aria_label="true" if check.ok else "not true",
                    ),
                    el("span", check.must, class_="must"),
                    el("span", check.seen, class_="seen"),
                    class_="ok" if check.ok else "not-ok",
                )
                for check in act.checks
            ),
            class_="checks",
        ),
        class_="act",
        id=f"act-{act.name}",
    )


def growth_table(view: EnvironmentView, began: datetime) -> Markup:
    """The numbers behind the chart."""
    rows: list[list[Child]] = []
    for at, counts in view.growth:
        minutes = int((at - began).total_seconds() // 60)
        rows.append([f"{minutes // 60}:{minutes % 60:02d}", f"{at:%d %b %H:%M}", *counts, sum(counts)])
    return el(
        "details",
        el("summary", f"{view.cluster}: every change as a table"),
        table(f"Running workers of {view.cluster}", ["h:mm", "UTC", *KINDS, "together"], rows),
    )


def stage_list(view: EnvironmentView) -> Markup:
    """The stages, by the numbers on the chart."""
    return el(
        "ol",
        *(
            el(
                "li",
                el("b", f"Stage {stage.number}: {stage.target} {stage.group}, {stage.verdict or 'not judged'}"),
                el("span", f"{stage.at:%H:%M} UTC", f" · {stage.reason}" if stage.reason else ""),
            )
            for stage in view.stages
        ),
        class_="stages",
    )
