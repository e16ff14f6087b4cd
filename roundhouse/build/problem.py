"""A problem: where it is, what is there, why it is wrong, what to do. Pure; shared by environments and preflight."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """`path` is like `groups[1].discount.training_plan_arn`; `value` is as written, shortened; "" for none."""

    path: str
    value: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        shown = f" = {self.value}" if self.value else ""
        return f"{self.path}{shown}: {self.reason}. {self.remedy}"


def shown(value: object, limit: int = 80) -> str:
    """`value` for people, shortened to `limit` characters.

    >>> shown("usw2-az2")
    "'usw2-az2'"
    """
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def listing(title: str, problems: Iterable[Problem]) -> str:
    """All problems as one message, one a line."""
    return "\n".join([title, *(f"  - {problem}" for problem in problems)])
