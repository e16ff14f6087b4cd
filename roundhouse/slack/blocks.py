"""Blocks within Slack's limits, whatever text they are given. Imports slack_sdk's Block Kit models.

Every text that comes in is foreign and is escaped here, once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from slack_sdk.models.blocks import (
    ActionsBlock,
    Block,
    ButtonElement,
    ConfirmObject,
    ContextBlock,
    HeaderBlock,
    MarkdownTextObject,
    PlainTextObject,
    SectionBlock,
)

from roundhouse.contracts.slack import ButtonValue
from roundhouse.line.approval import Option
from roundhouse.slack import limits
from roundhouse.slack.escape import cut, fence, one_line, plain
from roundhouse.slack.limits import size

Json = dict[str, Any]


class Page:
    """A message being filled. What no longer fits is counted in `left_out` instead of spoiling the message.

    `reserved` is kept free for the blocks added with `must`.
    """

    def __init__(self, reserved: Sequence[Block] = ()) -> None:
        self.blocks: list[Json] = []
        self.left_out = 0
        self._characters = limits.TOTAL - sum(_weight(block.to_dict()) for block in reserved)
        self._places = limits.BLOCKS - len(reserved)

    def add(self, block: Block, stands_for: int = 1) -> None:
        """Append the block if there is room; else count what it `stands_for` as left out."""
        drawn = block.to_dict()
        weight = _weight(drawn)
        if weight > self._characters or self._places < 1:
            self.left_out += stands_for
            return
        self._characters -= weight
        self._places -= 1
        self.blocks.append(drawn)

    def must(self, blocks: Iterable[Block]) -> None:
        """Append blocks whose room was reserved."""
        self.blocks.extend(block.to_dict() for block in blocks)


def _weight(block: Json) -> int:
    # Slack's count is not documented; its JSON text is more than any count of characters shown.
    return size(json.dumps(block, ensure_ascii=False, separators=(",", ":"))) + 1


def _mrkdwn(text: str) -> MarkdownTextObject:
    # verbatim: `@here`, `#channel` and bare addresses in foreign text stay text.
    return MarkdownTextObject(text=text, verbatim=True)


def header(emoji: str, title: str) -> HeaderBlock:
    """The title in large letters, on one line."""
    return HeaderBlock(text=PlainTextObject(text=one_line(f"{emoji} {title}", limits.HEADER_TEXT), emoji=True))


def heading(emoji: str, title: str) -> SectionBlock:
    """The title in bold, for messages within a thread."""
    return SectionBlock(text=_mrkdwn(f"{emoji} *{one_line(title, 500)}*"))


def paragraph(text: str) -> SectionBlock:
    """Text as it is, lines kept."""
    return SectionBlock(text=_mrkdwn(plain(text, limits.SECTION_TEXT)))


def safe_paragraph(text: str) -> SectionBlock:
    """Text that is escaped already, lines kept."""
    return SectionBlock(text=_mrkdwn(cut(text.strip(), limits.SECTION_TEXT)))


def plain_paragraph(text: str) -> SectionBlock:
    """Text in the plainest block there is."""
    return SectionBlock(text=PlainTextObject(text=plain(text, limits.SECTION_TEXT), emoji=True))


def code(label: str, text: str, limit: int = 2500) -> SectionBlock:
    """A label and raw text below it in a fence."""
    return SectionBlock(text=_mrkdwn(f"*{one_line(label, 100)}*\n{fence(text, limit)}"))


def fields(facts: Sequence[tuple[str, str]]) -> SectionBlock:
    """At most ten facts in two columns: (label, value already safe for Slack)."""
    return SectionBlock(fields=[_mrkdwn(f"*{one_line(label, 100)}*\n{cut(value, 1800)}") for label, value in facts])


def small_print(text: str) -> ContextBlock:
    """A line of ours in small grey letters."""
    return ContextBlock(elements=[_mrkdwn(cut(text, limits.CONTEXT_TEXT))])


def buttons(approval_id: str, instance_id: str | None, options: Sequence[Option]) -> ActionsBlock:
    """One button per option. A destructive one is always confirmed. Raises MalformedEvent for an unknown choice."""
    return ActionsBlock(
        elements=[
            ButtonElement(
                text=PlainTextObject(text=one_line(option.label, limits.BUTTON_TEXT), emoji=True),
                action_id=option.choice,
                value=ButtonValue(approval_id, option.choice, instance_id).to_text(),
                style=option.style if option.style in {"primary", "danger"} else None,
                confirm=_confirm(option),
            )
            for option in options[: limits.BUTTONS]
        ]
    )


def _confirm(option: Option) -> ConfirmObject | None:
    question = option.confirm or ("This cannot be undone." if option.style == "danger" else "")
    if not question:
        return None
    return ConfirmObject(
        title=PlainTextObject(text="Are you sure?"),
        text=PlainTextObject(text=plain(question, limits.CONFIRM_TEXT)),
        confirm=PlainTextObject(text=one_line(option.label, limits.CONFIRM_BUTTON)),
        deny=PlainTextObject(text="Go back"),
    )
