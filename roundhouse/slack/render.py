"""A notice drawn for Slack: fallback text and blocks. Pure; imports blocks, contracts.

Written for somebody who was asleep a minute ago: what happened in the first line, then what it means, then the facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.contracts.slack import CHOICES, EVIDENCE
from roundhouse.errors import MalformedEvent
from roundhouse.line.approval import Option
from roundhouse.slack import blocks, limits
from roundhouse.slack.blocks import Json, Page
from roundhouse.slack.escape import clean, escape, one_line, plain
from roundhouse.slack.limits import size

EMOJI = {
    NoticeKind.RUN_STARTED: "🏗️",
    NoticeKind.RUN_PROGRESS: "📈",
    NoticeKind.RUN_FINISHED: "✅",
    NoticeKind.RUN_STOPPED: "🛑",
    NoticeKind.INCIDENT_OPENED: "🔎",
    NoticeKind.INCIDENT_STEP: "🔧",
    NoticeKind.INCIDENT_CLOSED: "🏁",
    NoticeKind.APPROVAL_ASKED: "✋",
    NoticeKind.APPROVAL_SETTLED: "☑️",
    NoticeKind.BREAKER_OPENED: "🚨",
    NoticeKind.BREAKER_CLOSED: "🟢",
    NoticeKind.CONTROLLER_LOST: "🚨",
    NoticeKind.ANOTHER_REMEDIATOR: "👥",
    NoticeKind.MAINTENANCE: "🗓️",
    NoticeKind.DIFFERENCES: "🧭",
    NoticeKind.PAUSED: "⏸️",
    NoticeKind.RESUMED: "▶️",
}
_QUIET = {NoticeKind.RUN_PROGRESS, NoticeKind.INCIDENT_STEP}  # many of them in a thread: no large letters
_SHORT_FACT = 300
_USER = re.compile(r"[UW](?=[A-Z0-9]*\d)[A-Z0-9]{6,11}")


@dataclass(frozen=True, slots=True)
class Drawing:
    """What goes to Slack: `text` for notifications and screen readers, `blocks` for the eye."""

    text: str
    blocks: list[Json]


def draw(notice: Notice) -> Drawing:
    """The notice within every limit. Raises MalformedEvent for an approval that is not what contracts/notices says."""
    emoji = EMOJI[notice.kind]
    actions = [blocks.buttons(*_question(notice))] if _has_buttons(notice) else []
    foot = [*actions, *([blocks.small_print(hint)] if (hint := _hint(notice)) else [])]
    page = Page(reserved=[*foot, blocks.small_print(_left_out(999_999))])
    if notice.kind in _QUIET:
        page.add(blocks.heading(emoji, notice.title), 0)
    else:
        page.add(blocks.header(emoji, notice.title), 0)
        if size(clean(f"{emoji} {notice.title}")) > limits.HEADER_TEXT:
            page.add(blocks.paragraph(notice.title))
    if clean(notice.text).strip():
        # An edit notifies nobody, so whoever settled a question may be shown by name.
        names = notice.kind is NoticeKind.APPROVAL_SETTLED
        page.add(blocks.safe_paragraph(with_names(notice.text)) if names else blocks.paragraph(notice.text))
    _draw_facts(page, notice)
    if page.left_out:
        page.must([blocks.small_print(_left_out(page.left_out))])
    page.must(foot)
    return Drawing(_fallback(notice), page.blocks)


def draw_plainly(notice: Notice) -> Drawing:
    """The same with as little form as possible, for when Slack has refused the other. A question keeps its buttons."""
    lines = [notice.title, notice.text, *(f"{label}: {value}" for label, value in notice.facts.items())]
    text = f"{EMOJI[notice.kind]} " + "\n".join(line for line in lines if line.strip())
    if not _has_buttons(notice):
        return Drawing(plain(text, limits.FALLBACK_TEXT), [])
    page = Page()
    page.must([blocks.plain_paragraph(text), blocks.buttons(*_question(notice))])
    return Drawing(_fallback(notice), page.blocks)


def with_names(text: str) -> str:
    """Foreign text in which whole words that are Slack user ids are shown as names. For messages to one person."""
    return re.sub(rf"\b{_USER.pattern}\b", lambda match: f"<@{match.group()}>", escape(text))


def _draw_facts(page: Page, notice: Notice) -> None:
    for group in _grouped(notice):
        label, value = group[0]
        if _is_long(label, value):
            page.add(blocks.code(label, value))
        else:
            safe = [(label, _value(notice, value)) for label, value in group]
            page.add(blocks.fields(safe), len(safe))


def _grouped(notice: Notice) -> Iterator[list[tuple[str, str]]]:
    """Facts in order: long ones alone, short ones together as far as one section takes them."""
    short: list[tuple[str, str]] = []
    for label, value in notice.facts.items():
        if _is_long(label, value) or len(short) == limits.FIELDS:
            if short:
                yield short
            short = []
        if _is_long(label, value):
            yield [(label, value)]
        else:
            short.append((label, value))
    if short:
        yield short


def _is_long(label: str, value: str) -> bool:
    return label == EVIDENCE or "\n" in value.strip() or size(escape(value)) > _SHORT_FACT


def _value(notice: Notice, value: str) -> str:
    if notice.kind is NoticeKind.APPROVAL_SETTLED and _USER.fullmatch(value):
        return f"<@{value}>"
    return one_line(value, limits.FIELD_TEXT)


def _fallback(notice: Notice) -> str:
    text = f"{EMOJI[notice.kind]} {notice.title}"
    return plain(f"{text}\n{notice.text}" if notice.text.strip() else text, limits.FALLBACK_TEXT)


def _left_out(count: int) -> str:
    return f"{count} more not shown here: the message would be too long for Slack."


def _hint(notice: Notice) -> str:
    """Where to look further, for messages that open something or ask something."""
    topic, _, subject = notice.thread.partition(":")
    if notice.kind in _QUIET or notice.kind is NoticeKind.APPROVAL_SETTLED or not subject:
        return ""
    hints = {
        "incident": f"Why and with what evidence: `roundhouse explain {one_line(subject, 200)} -e NAME`",
        "run": "How far it is: `roundhouse status -e NAME --watch`",
        "rehearsal": "How it ended: `roundhouse status -e NAME`. Where its output is stands in the message of its end",
        "breaker": "What is held back: `roundhouse incidents -e NAME --open`",
        "reconcile": "Compare again: `roundhouse reconcile -e NAME`",
        "maintenance": "What becomes of each node: `roundhouse incidents -e NAME --open`",
    }
    return hints.get(topic, "")


def _has_buttons(notice: Notice) -> bool:
    return notice.kind is NoticeKind.APPROVAL_ASKED and bool(notice.approval) and bool(_question(notice)[2])


def _question(notice: Notice) -> tuple[str, str | None, list[Option]]:
    """(approval id, instance id, options with different choices) of an APPROVAL_ASKED notice."""
    raw = notice.approval or {}
    approval_id, instance_id, rows = raw.get("approval_id"), raw.get("instance_id"), raw.get("options")
    if not isinstance(approval_id, str) or not approval_id or not isinstance(rows, list | tuple):
        raise MalformedEvent(f"notice {notice.notice_id}: `approval` lacks approval_id or options: {str(raw)[:300]}")
    if instance_id is not None and not isinstance(instance_id, str):
        raise MalformedEvent(f"notice {notice.notice_id}: instance_id is {instance_id!r}, neither text nor null")
    options: dict[str, Option] = {}
    for row in rows:
        if not isinstance(row, list | tuple) or len(row) != 4 or not all(isinstance(part, str) for part in row):
            raise MalformedEvent(f"notice {notice.notice_id}: not [choice, label, style, confirm]: {str(row)[:200]}")
        if row[0] not in CHOICES:
            raise MalformedEvent(f"notice {notice.notice_id}: choice {row[0]!r} is none of {', '.join(CHOICES)}")
        options.setdefault(row[0], Option(*row))
    return approval_id, instance_id, list(options.values())
