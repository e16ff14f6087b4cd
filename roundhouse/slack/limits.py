"""Slack's limits for messages, and how long a text is by its count. Standard library only.

Source: Block Kit reference. The total of about 13,200 characters over all blocks is from reports, so we stay below it.
"""

from __future__ import annotations

SECTION_TEXT = 3000
HEADER_TEXT = 150
CONTEXT_TEXT = 2000
FIELDS = 10
FIELD_TEXT = 2000
BLOCKS = 50
BUTTONS = 25
BUTTON_TEXT = 75
BUTTON_VALUE = 2000
CONFIRM_TITLE = 100
CONFIRM_TEXT = 300
CONFIRM_BUTTON = 30
TOTAL = 13_200
FALLBACK_TEXT = 1200  # ours: chat.update takes 4,000 bytes, and a UTF-16 unit is at most three


def size(text: str) -> int:
    """Length in UTF-16 units: never less than in characters, so it holds whichever way Slack counts.

    >>> size("a🙂")
    3
    """
    return len(text) + sum(1 for char in text if char > "\uffff")
