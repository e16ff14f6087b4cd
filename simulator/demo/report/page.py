"""Puts the page together. Pure but for the style sheet beside it, which becomes part of the page."""

from __future__ import annotations

from pathlib import Path

from simulator.demo.report.data import KINDS, ReportData
from simulator.demo.report.growth import CSS_CLASS, draw_growth, panel_height, window
from simulator.demo.report.markup import Child, Markup, el, join, trusted
from simulator.demo.report.money import draw_money, money_legend
from simulator.demo.report.numbers import draw_head, draw_numbers
from simulator.demo.report.record import draw_calls, draw_checks, draw_threads, growth_table, stage_list
from simulator.demo.report.repairs import draw_episode, draw_incidents

STYLE = Path(__file__).with_name("style.css")
KIND_WORDS = {"reserved": "reserved, at the discount", "on-demand": "on demand", "none": "not billed"}


def draw(data: ReportData) -> str:
    """The whole page as HTML text."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"Roundhouse demo: {'all true' if data.checks and not data.failed else 'not all true'}"),
        el("style", trusted(STYLE.read_text(encoding="utf-8"))),
    )
    main = el(
        "main",
        draw_head(data),
        draw_numbers(data),
        _growth(data),
        _section("What an hour costs", money_legend(), draw_money(data.environments)),
        _incidents(data),
        _breaker(data),
        _section(
            "The conversation in Slack",
            "Messages and clicks as text, at the cluster's time.",
            draw_threads(data.threads),
        ),
        _section(
            "What Roundhouse called", "From the call log of the embedded AWS, reads left out.", draw_calls(data.calls)
        ),
        _section("Every check", "What must be true, and what was seen.", draw_checks(data.acts)),
        el(
            "footer",
            "Made by ",
            el("code", "roundhouse demo"),
            ". This file needs nothing else: no network, no scripts.",
        ),
    )
    return f"<!doctype html>\n{el('html', head, el('body', main), lang='en')}\n"


def _section(title: str, intro: Child, *content: Child) -> Markup:
    return el("section", el("h2", title), el("p", intro, class_="intro"), *content)


def _growth(data: ReportData) -> Markup | None:
    views = [view for view in data.environments if view.growth]
    if not views:
        return None
    legend = [
        el("span", el("span", class_=f"key {CSS_CLASS[kind]}"), KIND_WORDS[kind], class_="legend-item")
        for kind in KINDS
        if any(counts[KINDS.index(kind)] for view in views for _, counts in view.growth)
    ]
    panels = [
        el(
            "figure",
            el("figcaption", el("h3", view.cluster, el("small", f" {view.name}")), stage_list(view)),
            el("div", draw_growth(view, *window(view), panel_height(view, views)), class_="scroll"),
            growth_table(view, window(view)[0]),
        )
        for view in views
    ]
    intro = join(
        [
            "Running workers by how they are billed, from the start of the creation. "
            "A number marks a stage whose discount was judged. ",
            el("span", *legend, class_="legend"),
        ]
    )
    return _section("How the clusters grew", intro, *panels)


def _incidents(data: ReportData) -> Markup:
    intro = "Each step along the incident's own time, from its opening to its end."
    if not data.incidents:
        return _section("Incidents", "There were none.")
    return _section("Incidents", intro, draw_incidents(data.incidents, data.ended_at))


def _breaker(data: ReportData) -> Markup | None:
    if not data.episodes:
        return None
    intro = "Many nodes in trouble at once are one fault of something they share: then nothing is touched."
    return _section("The breaker", intro, *(draw_episode(view) for view in data.episodes))
