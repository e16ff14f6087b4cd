"""Which words are good, bad or neither: the CSS class of a verdict, an outcome, a status. Pure."""

from __future__ import annotations

GOOD, WARN, BAD, CALM = "good", "warn", "bad", "calm"
_VERDICTS = {"VERIFIED": GOOD, "LOST": BAD, "UNKNOWN": WARN, "ACCEPTED": WARN}
_OUTCOMES = {"repaired": GOOD, "recovered": GOOD, "escalated": WARN, "denied": WARN, "expired": WARN}
_STATUSES = {"done": GOOD, "failed": BAD, "held": WARN, "rolled_back": WARN}


def verdict_tone(verdict: str) -> str:
    """Of a discount's verdict."""
    return _VERDICTS.get(verdict, CALM)


def outcome_tone(outcome: str) -> str:
    """Of an incident's outcome; one that is still open asks for a look."""
    return _OUTCOMES.get(outcome, CALM) if outcome else WARN


def status_tone(status: str) -> str:
    """Of a creation's status."""
    return _STATUSES.get(status, CALM)
