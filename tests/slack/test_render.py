"""Any notice is drawn within Slack's limits; what must be seen is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.contracts.slack import CHOICES, EVIDENCE, ButtonValue
from roundhouse.errors import MalformedEvent
from roundhouse.slack.limits import TOTAL, size
from roundhouse.slack.render import Drawing, draw, draw_plainly, with_names
from simulator.slack.api.block_kit import check_blocks
from simulator.slack.text import notified

CASES = Path(__file__).parents[1] / "data" / "cases"
OPTIONS = [["approve", "Replace it", "danger", "Its disks are lost."], ["deny", "Leave it", "", ""]]
QUESTION = {"approval_id": "apr-1", "instance_id": "i-0aaa", "options": OPTIONS}


def notice(kind: NoticeKind = NoticeKind.APPROVAL_ASKED, **more: Any) -> Notice:
    base: dict[str, Any] = {
        "notice_id": "ask:apr-1",
        "thread": "incident:inc-1",
        "title": "Replace i-0aaa?",
        "text": "Xid 79: GPU 3 fell off the bus.",
        "approval": QUESTION if kind is NoticeKind.APPROVAL_ASKED else None,
    }
    return Notice(kind=kind, **(base | more))


def texts(node: Any) -> list[str]:
    """Every string under a `text` key."""
    if isinstance(node, list):
        return [text for item in node for text in texts(item)]
    if not isinstance(node, dict):
        return []
    own = [node["text"]] if isinstance(node.get("text"), str) else []
    return own + [text for value in node.values() for text in texts(value)]


def within_limits(drawing: Drawing) -> None:
    check_blocks(drawing.blocks)  # the stand-in's own reading of Block Kit, written apart from ours
    assert size(json.dumps(drawing.blocks, ensure_ascii=False)) <= TOTAL + 2 * len(texts(drawing.blocks)) + 500
    assert sum(map(size, texts(drawing.blocks))) <= TOTAL
    assert 0 < len(drawing.text.encode()) <= 4000


long_text = st.text(max_size=60) | st.builds(
    lambda piece, times: piece * times,
    st.sampled_from(["&", "🙂", "<!channel>", "word ", "line\n", "```", "\ud83d", "x", "\x00", "<@U0AAAAAAA>"]),
    st.integers(0, 4000),
)
questions = st.fixed_dictionaries(
    {
        "approval_id": st.text(min_size=1, max_size=100),
        "instance_id": st.none() | st.text(max_size=40),
        "options": st.lists(
            st.tuples(st.sampled_from(CHOICES), long_text, st.sampled_from(["", "primary", "danger", "?"]), long_text),
            max_size=8,
        ),
    }
)
notices = st.builds(
    Notice,
    notice_id=st.just("n-1"),
    thread=st.sampled_from(["incident:inc-1", "run:r", "breaker:train", "other"]) | st.text(max_size=30),
    kind=st.sampled_from(NoticeKind),
    title=long_text,
    text=long_text,
    facts=st.dictionaries(st.sampled_from([EVIDENCE, "By"]) | st.text(max_size=200), long_text, max_size=30),
    approval=st.none() | questions,
)


@settings(max_examples=200, deadline=None)
@given(notices)
def test_any_notice_is_within_limits_and_calls_nobody(drawn: Notice) -> None:
    for drawing in (draw(drawn), draw_plainly(drawn)):
        within_limits(drawing)
        if drawn.kind is not NoticeKind.APPROVAL_SETTLED:
            assert [who for text in [drawing.text, *texts(drawing.blocks)] for who in notified(text)] == []
        assert {who for text in texts(drawing.blocks) for who in notified(text)} & {"!channel", "!here"} == set()


@pytest.mark.parametrize("name", ["just_fits", "one_more", "grows", "emoji", "link", "header"])
@pytest.mark.parametrize("place", ["title", "text"])
def test_recorded_long_texts(name: str, place: str) -> None:
    within_limits(draw(notice(**{place: json.loads((CASES / "505" / "texts.json").read_text())[name]})))


def test_too_many_facts_are_left_out_and_said_to_be() -> None:
    values = json.loads((CASES / "505" / "texts.json").read_text())["fields"]
    drawing = draw(notice(facts={f"Fact {n}": value for n, value in enumerate(values)}))
    within_limits(drawing)
    assert any("more not shown here" in json.dumps(block) for block in drawing.blocks)
    assert drawing.blocks[-2]["type"] == "actions"  # the buttons are there whatever else is not


def test_eleven_short_facts_take_two_sections() -> None:
    drawing = draw(notice(facts={f"Fact {n}": str(n) for n in range(11)}))
    assert [len(block["fields"]) for block in drawing.blocks if "fields" in block] == [10, 1]


@pytest.mark.parametrize("kind", NoticeKind)
def test_every_kind_is_drawn(kind: NoticeKind) -> None:
    drawing = draw(notice(kind, facts={"Node": "ip-10-1-0-1", EVIDENCE: "NVRM: Xid 79"}))
    within_limits(drawing)
    shown = json.dumps(drawing.blocks)
    # Slack must not make links or mentions of bare `@here`, `#channel` or addresses in foreign text.
    assert shown.count('"mrkdwn"') == shown.count('"verbatim": true')
    assert "Replace i-0aaa?" in shown
    assert "fell off the bus" in shown
    assert "ip-10-1-0-1" in shown
    assert "```\\nNVRM: Xid 79\\n```" in shown
    assert ("actions" in {block["type"] for block in drawing.blocks}) is (kind is NoticeKind.APPROVAL_ASKED)
    assert drawing.text.endswith("fell off the bus.")


def test_buttons_carry_ids_and_ask_again_before_harm() -> None:
    actions = next(block for block in draw(notice()).blocks if block["type"] == "actions")
    replace, leave = actions["elements"]
    assert ButtonValue.from_text(replace["value"], replace["action_id"]) == ButtonValue("apr-1", "approve", "i-0aaa")
    assert replace["confirm"]["text"]["text"] == "Its disks are lost."
    assert "confirm" not in leave
    unasked = draw(notice(approval=QUESTION | {"options": [["approve", "Replace", "danger", ""]]}))
    assert unasked.blocks[-2]["elements"][0]["confirm"]["text"]["text"]


def test_an_answered_question_has_no_buttons_and_names_who() -> None:
    settled = notice(
        NoticeKind.APPROVAL_SETTLED,
        text="Replace it: decided by U0AAAAAAA at 30 Nov 14:51 UTC <!here>",
        facts={"By": "U0AAAAAAA", "Node": "U0AAAAAAA of all names", "Reason": "<@U0BBBBBBB>"},
        approval=QUESTION,
    )
    drawing = draw(settled)
    assert "actions" not in {block["type"] for block in drawing.blocks}
    assert {who for text in texts(drawing.blocks) for who in notified(text)} == {"@U0AAAAAAA"}


def test_plain_form_keeps_the_buttons_of_a_question() -> None:
    assert [block["type"] for block in draw_plainly(notice()).blocks] == ["section", "actions"]
    plain = draw_plainly(notice(NoticeKind.INCIDENT_STEP, facts={"Node": "ip-10-1-0-1"}))
    assert plain.blocks == []
    assert "Node: ip-10-1-0-1" in plain.text


@pytest.mark.parametrize(
    "approval",
    [
        {"approval_id": "", "options": OPTIONS},
        {"options": OPTIONS},
        {"approval_id": "apr-1"},
        {"approval_id": "apr-1", "options": [["approve", "Yes"]]},
        {"approval_id": "apr-1", "options": [["explode", "Yes", "", ""]]},
        {"approval_id": "apr-1", "options": OPTIONS, "instance_id": 7},
        {"approval_id": "a" * 2000, "options": OPTIONS},
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(approval: dict[str, object]) -> None:
    with pytest.raises(MalformedEvent):
        draw(notice(approval=approval))


def test_names_in_words_to_one_person() -> None:
    assert with_names("decided by U0AAAAAAA & WORKFLOWS") == "decided by <@U0AAAAAAA> &amp; WORKFLOWS"
