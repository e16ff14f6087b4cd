"""Draws what a cluster costs an hour, expected beside actual, at each stage and at the end. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.demo.report.data import EnvironmentView
from simulator.demo.report.markup import Markup, el, join
from simulator.demo.report.tone import BAD, GOOD

CENT = 0.005  # what counts as the same amount, in USD


def draw_money(views: Sequence[EnvironmentView]) -> Markup:
    """One block of bars for each environment, each on its own scale: eight nodes would vanish beside sixty-four."""
    return el("div", *(_block(view) for view in views), class_="money")


def _block(view: EnvironmentView) -> Markup:
    rows = [(f"stage {s.number}, {s.target} {s.group}", s.expected, s.actual) for s in view.stages if s.verdict]
    gone = view.running == 0 and view.actual < CENT
    rows.append(
        ("at the end, all nodes deleted" if gone else "at the end", 0.0 if gone else view.expected, view.actual)
    )
    most = max((max(expected, actual) for _, expected, actual in rows), default=0.0)
    return el(
        "div",
        el("h3", view.cluster, el("small", f" {view.name}")),
        el("div", *(_row(label, expected, actual, most) for label, expected, actual in rows), class_="bars"),
        class_="money-block",
    )


def _row(label: str, expected: float, actual: float, most: float) -> Markup:
    over = actual - expected
    tone = BAD if over > CENT else GOOD
    told = "as expected" if abs(over) <= CENT else f"{abs(over):,.2f} {'too much' if over > 0 else 'less'}"
    return el(
        "div",
        el("div", label, class_="bar-label"),
        el("div", _bar(expected, most, "expected"), _bar(actual, most, f"actual {tone}"), class_="bar-pair"),
        el("div", told, class_=f"bar-note {tone}"),
        class_="bar-row",
    )


def _bar(amount: float, most: float, class_: str) -> Markup:
    """A bar of at most 72 % of its line, so that the amount has room behind it."""
    width = f"width:{72 * amount / most if most else 0:.2f}%"
    return el(
        "div",
        el("span", class_=f"bar {class_}", style=width),
        el("span", f"{amount:,.2f}", el("small", f" {class_.split(maxsplit=1)[0]}"), class_="bar-amount"),
        class_="bar-line",
    )


def money_legend() -> Markup:
    """What the two bars are."""
    return join(
        [
            "USD an hour by the meter: above what the nodes billed at that moment should cost with the discount, "
            "below what they did cost. ",
            el("span", el("span", class_="key actual bad"), "more than expected", class_="legend-item"),
        ]
    )
