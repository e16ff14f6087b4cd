"""In-memory Functions: answers that a test has laid out, and what was asked."""

from __future__ import annotations

from typing import Any

from roundhouse.errors import AwsFailure


class FakeFunctions:
    """`ports.Functions`. `answers` by function name; a failure in the place of an answer is raised."""

    def __init__(self) -> None:
        self.answers: dict[str, dict[str, Any] | AwsFailure] = {}
        self.asked: list[tuple[str, dict[str, object]]] = []

    def invoke(self, name: str, payload: dict[str, object]) -> dict[str, Any]:
        self.asked.append((name, payload))
        answer = self.answers[name]
        if isinstance(answer, AwsFailure):
            raise answer
        return answer
