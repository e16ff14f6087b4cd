"""Foreign text: escaped once, cut whole, unable to call anybody."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.slack.escape import ELLIPSIS, clean, cut, escape, fence, one_line, plain
from roundhouse.slack.limits import size
from simulator.slack.text import notified

CASES = Path(__file__).parents[1] / "data" / "cases"
LONG = json.loads((CASES / "505" / "texts.json").read_text())

PIECES = [
    "<!channel>",
    "<@U0AAAAAAA>",
    "&",
    "&amp;",
    "<",
    ">",
    "`",
    "```",
    "…",
    "🙂",
    "word",
    "<https://example.com?a=1&b=2|text>",
]
UNSEEN = ["\n", " ", "\t", "e\u0301", "👩\u200d🔧", "\ud83d", "\udc4d", "\x1b[31m", "\x00", "\u202e"]
nasty = st.lists(st.sampled_from(PIECES + UNSEEN) | st.text(st.characters(), max_size=12), max_size=60).map("".join)


def test_recorded_texts() -> None:
    texts = json.loads((CASES / "509" / "texts.json").read_text())
    for text, wanted in zip(texts, json.loads((CASES / "509" / "expected.json").read_text())["escaped"], strict=True):
        if wanted is not None:
            assert escape(text) == wanted
        else:  # the fence case
            assert fence(text, 200).count("```") == 2


@given(nasty)
def test_escaping_loses_nothing_and_calls_nobody(text: str) -> None:
    safe = escape(text)
    assert html.unescape(safe) == clean(text) or "&" in clean(text)  # html knows more entities than Slack
    assert safe.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == clean(text)
    assert "<" not in safe
    assert notified(safe) == []
    safe.encode("utf-8")


@given(nasty)
def test_clean_is_stable(text: str) -> None:
    once = clean(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff\u202a-\u202e]", once)


def test_clean_keeps_what_can_be_read() -> None:
    assert clean("\x1b[31mred\x1b[0m\r\nnext\tcolumn \ud83d\ude42 \ud83d!") == "red\nnext\tcolumn 🙂 \ufffd!"


@given(nasty, st.integers(1, 120))
def test_cutting_is_within_limits_and_breaks_nothing(text: str, limit: int) -> None:
    safe = escape(text)
    short = cut(safe, limit)
    assert size(short) <= limit
    if size(safe) <= limit:
        assert short == safe
    else:
        assert short.endswith(ELLIPSIS)
        kept = short.removesuffix(ELLIPSIS).rstrip()
        assert safe.startswith(kept)
        assert re.sub("&(?:amp|lt|gt);", "", kept).count("&") == 0
        assert not safe[len(kept) :].startswith(("\u0301", "\u200d"))


@given(st.integers(1, 60), st.text("ab &\n", max_size=40), st.text("xy ", max_size=40))
def test_links_of_our_own_stay_whole_or_go(limit: int, before: str, after: str) -> None:
    link = "<https://example.com?a=1&amp;b=2|why it did>"
    short = cut(escape(before) + link + escape(after), limit)
    assert short.count("<") == short.count(">") == short.count(link)


@pytest.mark.parametrize("name", ["just_fits", "one_more", "grows", "emoji"])
def test_recorded_long_texts(name: str) -> None:
    short = plain(LONG[name], 3000)
    assert size(short) <= 3000
    assert (short == LONG[name]) is (name == "just_fits")
    assert not re.search("&[a-z]*…", short)


@pytest.mark.parametrize(
    ("text", "limit", "wanted"),
    [
        ("one two three", 9, "one two…"),
        ("one two three", 8, "one two…"),
        ("first line\nsecond line", 18, "first line\n…"),
        ("first line\nsecond line", 11, "first line…"),
        ("abcdefghij", 5, "abcd…"),
        ("a bcdefghijklmnop", 10, "a bcdefgh…"),  # rather half a word than half a message
        ("aa &amp;&amp;", 8, "aa…"),
        ("x&amp;&amp;", 8, "x&amp;…"),
        ("🙂🙂🙂", 4, "🙂…"),
    ],
)
def test_where_it_is_cut(text: str, limit: int, wanted: str) -> None:
    assert cut(text, limit) == wanted


@given(nasty, st.integers(12, 200))
def test_a_fence_ends_where_we_end_it(text: str, limit: int) -> None:
    fenced = fence(text, limit)
    assert size(fenced) <= limit
    assert fenced.startswith("```\n")
    assert fenced.endswith("\n```")
    assert fenced.count("```") == 2
    assert "<" not in fenced


@given(nasty, st.integers(1, 100))
def test_a_place_is_never_empty(text: str, limit: int) -> None:
    assert plain(text, limit).strip()
    assert "\n" not in one_line(text, limit)
