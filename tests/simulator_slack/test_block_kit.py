"""Block Kit's limits: the largest that passes, the smallest that does not, and what Slack calls it."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.slack.api.block_kit import check_blocks, parse_blocks
from simulator.slack.errors import ApiError
from tests.simulator_slack.conftest import actions, button, mrkdwn, plain

Blocks = list[dict[str, Any]]


def section(**parts: Any) -> Blocks:
    return [{"type": "section", **parts}]


def confirm(**parts: Any) -> dict[str, Any]:
    return {
        "title": plain("Sure?"), "text": mrkdwn("*Really*"), "confirm": plain("Yes"), "deny": plain("No"), **parts,
    }  # fmt: skip


def with_button(**parts: Any) -> Blocks:
    return [actions({**button(), **parts})]


# The size at the limit, a maker of blocks of a size, and the pointer of the finding one beyond it.
LIMITS = [
    ("section text", 3000, lambda n: section(text=mrkdwn("x" * n)), "/blocks/0/text/text"),
    ("field text", 2000, lambda n: section(fields=[mrkdwn("x" * n)]), "/blocks/0/fields/0/text"),
    ("fields", 10, lambda n: section(fields=[mrkdwn("x")] * n), "/blocks/0/fields"),
    ("header", 150, lambda n: [{"type": "header", "text": plain("x" * n)}], "/blocks/0/text/text"),
    ("blocks", 50, lambda n: [{"type": "divider"}] * n, "/blocks"),
    ("context elements", 10, lambda n: [{"type": "context", "elements": [mrkdwn("x")] * n}], "/blocks/0/elements"),
    ("actions elements", 25, lambda n: [actions(*(button(f"a{i}") for i in range(n)))], "/blocks/0/elements"),
    ("button text", 75, lambda n: with_button(text=plain("x" * n)), "/blocks/0/elements/0/text/text"),
    ("button value", 2000, lambda n: with_button(value="x" * n), "/blocks/0/elements/0/value"),
    ("button url", 3000, lambda n: with_button(url="x" * n), "/blocks/0/elements/0/url"),
    ("action id", 255, lambda n: with_button(action_id="x" * n), "/blocks/0/elements/0/action_id"),
    ("block id", 255, lambda n: [{"type": "divider", "block_id": "x" * n}], "/blocks/0/block_id"),
    ("confirm title", 100, lambda n: with_button(confirm=confirm(title=plain("x" * n))), "/confirm/title/text"),
    ("confirm text", 300, lambda n: with_button(confirm=confirm(text=mrkdwn("x" * n))), "/confirm/text/text"),
    ("confirm button", 30, lambda n: with_button(confirm=confirm(confirm=plain("x" * n))), "/confirm/confirm/text"),
    ("alt text", 2000, lambda n: [{"type": "image", "image_url": "https://x", "alt_text": "x" * n}], "/alt_text"),
]  # fmt: skip


@pytest.mark.parametrize(("limit", "make", "pointer"), [row[1:] for row in LIMITS], ids=[row[0] for row in LIMITS])
def test_limit(limit: int, make: Any, pointer: str) -> None:
    check_blocks(make(limit))
    with pytest.raises(ApiError) as refusal:
        check_blocks(make(limit + 1))
    assert refusal.value.error == "invalid_blocks"
    assert any(pointer in message for message in refusal.value.messages)


WRONG = [
    ("unknown block", [{"type": "sektion"}], "unsupported type: sektion [json-pointer:/blocks/0/type]"),
    ("no type", [{}], "unsupported type: None [json-pointer:/blocks/0/type]"),
    ("empty section", section(), "missing required field: text [json-pointer:/blocks/0]"),
    ("empty text", section(text=mrkdwn("")), "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
    ("text not an object", section(text="hello"), "must provide an object [json-pointer:/blocks/0/text]"),
    ("text not a string", section(text={"type": "mrkdwn", "text": 5}), "must provide a string"),
    ("mrkdwn header", [{"type": "header", "text": mrkdwn("x")}], "must be one of: plain_text"),
    ("mrkdwn button", with_button(text=mrkdwn("x")), "must be one of: plain_text"),
    ("emoji in mrkdwn", section(text={**mrkdwn("x"), "emoji": True}), "invalid additional property: emoji"),
    ("disabled button", with_button(disabled=True), "invalid additional property: disabled"),
    ("style", with_button(style="green"), "must be one of: primary, danger"),
    ("button in context", [{"type": "context", "elements": [button()]}], "must be one of: plain_text, mrkdwn"),
    ("text in actions", [actions(mrkdwn("x"))], "unsupported type: mrkdwn"),
    ("no elements", [{"type": "actions", "elements": []}], "no less than 1 items allowed"),
    ("action id twice", [actions(button("a")), actions(button("a"))], "already exists for another element"),
    ("block id twice", [{"type": "divider", "block_id": "b"}] * 2, "already exists for another block"),
    ("confirm without deny", with_button(confirm=confirm(deny=None)), "missing required field: deny"),
    ("image without alt", [{"type": "image", "image_url": "https://x"}], "missing required field: alt_text"),
]  # fmt: skip


@pytest.mark.parametrize(("blocks", "finding"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_invalid_blocks_name_the_place(blocks: Blocks, finding: str) -> None:
    with pytest.raises(ApiError) as refusal:
        check_blocks(blocks)
    assert refusal.value.error == "invalid_blocks"
    assert any(finding in message for message in refusal.value.messages), refusal.value.messages


def test_every_finding_is_listed() -> None:
    with pytest.raises(ApiError) as refusal:
        check_blocks([*section(text=mrkdwn("x" * 3001)), {"type": "header", "text": mrkdwn("y")}])
    pointers = " ".join(refusal.value.messages)
    assert "/blocks/0/text/text" in pointers
    assert "/blocks/1/text/type" in pointers


def test_all_texts_together_are_limited() -> None:
    check_blocks(section(text=mrkdwn("x" * 3000)) * 4)
    with pytest.raises(ApiError, match="msg_blocks_too_long"):
        check_blocks(section(text=mrkdwn("x" * 3000)) * 5)


@pytest.mark.parametrize("value", ["nonsense", "{}", {"type": "divider"}, ["divider"], 7])
def test_what_is_no_array_of_objects_is_a_format_error(value: object) -> None:
    with pytest.raises(ApiError, match="invalid_blocks_format"):
        parse_blocks(value)


def test_blocks_may_come_as_json_text() -> None:
    assert parse_blocks('[{"type": "divider"}]') == [{"type": "divider"}]
