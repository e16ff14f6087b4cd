"""Messages of a batch fail alone."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from functions.batch import each_message
from roundhouse.errors import MalformedEvent


def event(*bodies: str) -> dict[str, Any]:
    return {"Records": [{"messageId": f"m{n}", "body": body} for n, body in enumerate(bodies)]}


@pytest.mark.parametrize(
    ("bodies", "failed"),
    [((), []), (("good", "good"), []), (("good", "bad", "good", "worse"), ["m1", "m3"]), (("bad",), ["m0"])],
)
def test_what_fails_comes_again_alone(
    bodies: tuple[str, ...], failed: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    taken: list[str] = []

    def take(record: Mapping[str, Any]) -> None:
        taken.append(record["body"])
        if record["body"] == "bad":
            raise MalformedEvent("no event")
        if record["body"] == "worse":
            raise ZeroDivisionError

    with caplog.at_level(logging.ERROR, logger="functions.batch"):
        answer = each_message(event(*bodies), take)
    assert answer == {"batchItemFailures": [{"itemIdentifier": each} for each in failed]}
    assert taken == list(bodies)
    assert [record.getMessage().split()[1] for record in caplog.records] == failed
