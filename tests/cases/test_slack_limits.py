"""Case 505: the limits we keep to are the recorded ones, and each is kept after escaping, at its edge and beyond."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.contracts.slack import EVIDENCE, MAX_VALUE
from roundhouse.slack import limits
from roundhouse.slack.limits import size
from roundhouse.slack.render import draw, draw_plainly
from tests.cases.reading import case

LIMITS = case(505, "expected.json")["limits"]
TEXTS = case(505, "texts.json")
BUTTONS = [["approve", "Replace it", "danger", "Its disks are lost."], ["deny", "Leave it", "", ""]]


def test_our_limits_are_the_recorded_ones() -> None:
    assert {
        "section_text": limits.SECTION_TEXT,
        "blocks": limits.BLOCKS,
        "header": limits.HEADER_TEXT,
        "fields": limits.FIELDS,
        "field_text": limits.FIELD_TEXT,
        "button_value": limits.BUTTON_VALUE,
        "button_text": limits.BUTTON_TEXT,
        "total_chars_approx": limits.TOTAL,
    } == LIMITS
    assert MAX_VALUE == limits.BUTTON_VALUE


def too_long(blocks: list[dict[str, Any]]) -> list[str]:
    """What is over a recorded limit, measured here and not by our own counting."""
    found = ["blocks"] if len(blocks) > LIMITS["blocks"] else []
    total = 0
    for block in blocks:
        kind = block["type"]
        texts = [block["text"]["text"]] if isinstance(block.get("text"), dict) else []
        fields = [field["text"] for field in block.get("fields", [])]
        buttons = block.get("elements", []) if kind == "actions" else []
        most = LIMITS["header"] if kind == "header" else LIMITS["section_text"]
        found += [kind for text in texts if not 0 < size(text) <= most]
        found += ["fields"] if len(fields) > LIMITS["fields"] else []
        found += ["field_text" for text in fields if not 0 < size(text) <= LIMITS["field_text"]]
        found += ["button_text" for one in buttons if not 0 < size(one["text"]["text"]) <= LIMITS["button_text"]]
        found += ["button_value" for one in buttons if size(one["value"]) > LIMITS["button_value"]]
        total += sum(map(size, [*texts, *fields]))
    return found + (["total"] if total > LIMITS["total_chars_approx"] else [])


def question(**more: Any) -> Notice:
    asked = {"approval_id": "apr-1", "instance_id": "i-0aaa", "options": more.pop("options", BUTTONS)}
    base: dict[str, Any] = {"title": "Replace i-0aaa?", "text": "Xid 79", "facts": {}}
    return Notice("ask:apr-1", "incident:inc-1", NoticeKind.APPROVAL_ASKED, approval=asked, **(base | more))


@pytest.mark.parametrize("place", ["title", "text", "fact", "evidence", "button", "confirm"])
@pytest.mark.parametrize("name", [name for name, value in TEXTS.items() if isinstance(value, str)])
def test_each_recorded_text_in_each_place(name: str, place: str) -> None:
    text = TEXTS[name]
    notice = {
        "title": lambda: question(title=text),
        "text": lambda: question(text=text),
        "fact": lambda: question(facts={"Reason": text}),
        "evidence": lambda: question(facts={EVIDENCE: text}),
        "button": lambda: question(options=[["approve", text, "danger", ""], BUTTONS[1]]),
        "confirm": lambda: question(options=[["approve", "Replace", "danger", text], BUTTONS[1]]),
    }[place]()
    for drawing in (draw(notice), draw_plainly(notice)):
        assert too_long(drawing.blocks) == []
        assert sum(block["type"] == "actions" for block in drawing.blocks) == 1


def test_as_many_facts_as_recorded_blocks() -> None:
    many = question(facts={f"Fact {n}": TEXTS["fields"][n % len(TEXTS["fields"])] for n in range(TEXTS["blocks"] * 10)})
    assert too_long(draw(many).blocks) == []


@pytest.mark.parametrize("char", ["x", "&", "<", "🙂", "`", "\n", "…"])
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_at_the_edge_of_each_limit(char: str, data: st.DataObject) -> None:
    edge = data.draw(st.sampled_from([LIMITS[key] for key in ("section_text", "header", "field_text", "button_text")]))
    text = "a" + char * (edge + data.draw(st.integers(-2, 2)))
    drawn = draw(
        question(title=text, text=text, facts={"Reason": text, EVIDENCE: text}, options=[["approve", text, "", text]])
    )
    assert too_long(drawn.blocks) == []
