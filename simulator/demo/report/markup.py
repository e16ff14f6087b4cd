"""Markup that cannot forget to escape: every string is text unless an element made it. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_VOID = frozenset({"br", "col", "hr", "img", "link", "meta"})


class Markup(str):
    """Text that is HTML or SVG already. Only `el`, `join` and `trusted` make it."""

    __slots__ = ()


Child = str | int | float | None | Iterable["Child"]


def el(_name: str, *children: Child, **attributes: object) -> Markup:
    """An element. Attributes: `class_` is class, `_` in a name is `-`; None and False leave one out, True is bare.

    >>> el("p", "a < b", class_="note", data_at=3)
    '<p class="note" data-at="3">a &lt; b</p>'
    """
    written = "".join(_attribute(name, value) for name, value in attributes.items())
    if _name in _VOID:
        return Markup(f"<{_name}{written}>")
    return Markup(f"<{_name}{written}>{join(children)}</{_name}>")


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[Child]]) -> Markup:
    """A table that scrolls by itself where the page is too narrow. The caption is for those who do not see it."""
    return el(
        "div",
        el(
            "table",
            el("caption", caption),
            el("thead", el("tr", *(el("th", head, scope="col") for head in heads))),
            el("tbody", *(el("tr", *(el("td", cell) for cell in row)) for row in rows)),
        ),
        class_="scroll",
    )


def join(children: Iterable[Child]) -> Markup:
    """Children one after the other, what is plain text escaped."""
    return Markup("".join(_written(child) for child in children))


def trusted(text: str) -> Markup:
    """Our own markup or style sheet, taken as it is. Never for anything that came from outside."""
    return Markup(text)


def _written(child: Child) -> str:
    match child:
        case None:
            return ""
        case Markup():
            return child
        case str():
            return escape(child, quote=False)
        case int() | float():
            return f"{child:g}"
        case _:
            return join(child)


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    return f' {name}="{escape(shown)}"'
