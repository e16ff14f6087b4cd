"""Foreign text made safe for Slack, once. Standard library and limits only.

Order matters: clean, escape, and only then cut, since escaping makes text longer. After `escape` no text can mention
anybody or be a link: that takes a raw `<`.
"""

from __future__ import annotations

import re

from roundhouse.slack.limits import size

ELLIPSIS = "…"
_FENCE = "```"
_JOINER = "\u200b"  # zero-width space: tells backticks apart without showing

_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
# Controls, and the direction marks that can make a line read differently from what it says.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# What may not be taken apart: an entity, an angle-bracket command, a character with what combines with it.
_UNIT = re.compile(
    r"&(?:amp|lt|gt);|<[^<>\n]*>|[\s\S](?:[\u0300-\u036f\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]|\u200d[^\s&<`]){0,8}"
)


def clean(text: str) -> str:
    """`text` without terminal colours, control and direction characters, and lone surrogates."""
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = _TERMINAL.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _UNSEEN.sub("", text)


def escape(text: str) -> str:
    """Cleaned foreign text with Slack's three entities and nothing else.

    >>> escape("<!channel> it's a && b")
    "&lt;!channel&gt; it's a &amp;&amp; b"
    """
    return clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cut(escaped: str, limit: int) -> str:
    """At most `limit` (≥ 1) UTF-16 units of an escaped text, ending in `…` at a line or word if something is lost.

    Entities, `<url|text>` commands and composed characters stay whole. A line or word break is taken only in the
    second half: rather half a word than half a message.
    """
    if size(escaped) <= limit:
        return escaped
    length, end, line, word = size(ELLIPSIS), 0, 0, 0
    for unit in _UNIT.finditer(escaped):
        length += size(unit.group())
        if length > limit:
            break
        if unit.group() == "\n":
            line = unit.start()
        if unit.group().isspace():
            word = unit.start()
        end = unit.end()
    else:
        return escaped  # unreachable while the units cover the text; then nothing was lost
    if escaped[end : end + 1].isspace():
        word = end
        line = end if escaped[end] == "\n" else line
    if line > end // 2:
        return (escaped[:line].rstrip() + "\n" + ELLIPSIS) if line < end else escaped[:line].rstrip() + ELLIPSIS
    return escaped[: word if word > end // 2 else end].rstrip() + ELLIPSIS


def plain(text: str, limit: int) -> str:
    """Foreign text for one place: escaped and cut; on one line if it is a short place; never empty."""
    return cut(escape(text).strip(), limit) or "–"


def one_line(text: str, limit: int) -> str:
    """As `plain`, with every run of blanks and line ends made one blank."""
    return plain(" ".join(clean(text).split()), limit)


def fence(text: str, limit: int) -> str:
    """Foreign text in a code fence that its own backticks cannot end; at most `limit` units with the fence."""
    apart = re.sub("`(?=`)", "`" + _JOINER, escape(text).strip("\n"))
    overhead = size(f"{_FENCE}\n\n{_FENCE}")
    return f"{_FENCE}\n{cut(apart, limit - overhead) or '–'}\n{_FENCE}"
