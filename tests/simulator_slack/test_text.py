"""How Slack keeps a text, and whom it pings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.slack.text import normalise, notified


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("a & b", "a &amp; b"),
        ("a &amp; b", "a &amp; b"),
        ("1 < 2 > 0", "1 &lt; 2 &gt; 0"),
        ("<https://example.com/?a=1&b=2|x>", "<https://example.com/?a=1&b=2|x>"),
        ("<@U0OPSALICE> <!here> <#C0GPUOPS01>", "<@U0OPSALICE> <!here> <#C0GPUOPS01>"),
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
        ("<javascript:alert(1)|x>", "&lt;javascript:alert(1)|x&gt;"),
        ('it\'s "quoted"', 'it\'s "quoted"'),
    ],
)
def test_normalise(written: str, kept: str) -> None:
    assert normalise(written) == kept


@given(st.text(alphabet="<>&@!#|Uamplgt; ;x"))
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


def test_plain_text_knows_no_commands() -> None:
    assert normalise("<!channel>", entities=False) == "&lt;!channel&gt;"


@pytest.mark.parametrize(
    ("text", "pinged"),
    [
        ("<!channel> and <@U0OPSBOB|bob>", ["!channel", "@U0OPSBOB"]),
        ("&lt;!channel&gt; and &lt;@U0OPSBOB&gt;", []),
        ("<https://example.com|!here>", []),
        ("<!date^1^{date}|then>", []),
    ],
)
def test_notified(text: str, pinged: list[str]) -> None:
    assert notified(text) == pinged
