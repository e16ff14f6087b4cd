"""Slack's message text: its three entities and its angle-bracket commands. Standard library only, pure."""

from __future__ import annotations

import re

# <https://x|label>  <mailto:x>  <@U1>  <#C1|name>  <!here>  <!subteam^S1>  <!date^1^{date}|then>
_COMMAND = re.compile(
    r"<(?:(?:https?://|mailto:|tel:)[^<>\s|]+|@[UW][A-Z0-9]+|#C[A-Z0-9]+|![a-z]+[^<>|]*)(?:\|[^<>]*)?>"
)
_ENTITY = re.compile(r"&(?:amp|lt|gt);")
_NOTIFYING = re.compile(r"<(@[UW][A-Z0-9]+|!(?:here|channel|everyone)|!subteam\^[A-Z0-9]+)(?:\|[^<>]*)?>")


def normalise(text: str, *, entities: bool = True) -> str:
    """`text` as Slack keeps it: stray `&`, `<`, `>` become entities; commands and entities stay.

    With `entities=False` (plain text objects) nothing in angle brackets is a command.
    A `>` that opens a quoted line is left to the reader's rendering, which takes both forms.
    """
    out: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        kept = None
        if char == "&":
            kept = _ENTITY.match(text, at)
        elif char == "<" and entities:
            kept = _COMMAND.match(text, at)
        if kept:
            out.append(kept.group())
            at = kept.end()
            continue
        out.append({"&": "&amp;", "<": "&lt;", ">": "&gt;"}.get(char, char))
        at += 1
    return "".join(out)


def notified(text: str) -> list[str]:
    """Whom a mrkdwn text pings, in order: `@U…`, `!here`, `!channel`, `!everyone`, `!subteam^S…`."""
    return list(dict.fromkeys(match.group(1) for match in _NOTIFYING.finditer(text)))
