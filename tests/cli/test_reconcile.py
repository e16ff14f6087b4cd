"""`roundhouse reconcile`: what differed, what became of it, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from roundhouse.errors import AwsFailure
from tests.cli.conftest import CALLER, Ended, MemoryDeployment
from tests.fakes.functions import FakeFunctions

FUNCTION = "roundhouse-demo-reconcile-line"
AGREE: dict[str, Any] = {"mended": [], "shown": [], "left": [], "failed": [], "unread": [], "paused": False}
STOPPED = {
    "kind": "no_workflow",
    "subject": "inc-1-1",
    "words": "inc-1-1 is open and its workflow ended as aborted",
    "remedy": "begin",
}
SHORT = {"kind": "below_contract", "subject": "workers", "words": "63 of [64] nodes", "remedy": "show"}


@pytest.fixture
def functions(deployment: MemoryDeployment) -> FakeFunctions:
    found = deployment.functions
    assert isinstance(found, FakeFunctions)
    return found


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({}, 0, ["agree with each other"]),
        ({"mended": [STOPPED]}, 0, ["mended", "no workflow", "ended as aborted", "begin"]),
        ({"shown": [SHORT]}, 1, ["shown", "below contract", "63 of [64] nodes"]),
        ({"left": [STOPPED], "paused": True}, 0, ["paused: nothing is begun", "left"]),
        ({"unread": ["HyperPod"]}, 1, ["HyperPod could not be read"]),
    ],
)
def test_what_differs_is_shown(
    changes: dict[str, Any], code: int, words: list[str], functions: FakeFunctions, shell: Callable[..., Ended]
) -> None:
    functions.answers[FUNCTION] = {**AGREE, **changes}
    ended = shell("reconcile", "-e", "demo")
    assert ended.code == code
    for each in words:
        assert each in ended.out
    assert functions.asked == [(FUNCTION, {"asked_by": CALLER})]


def test_one_document(functions: FakeFunctions, shell: Callable[..., Ended]) -> None:
    functions.answers[FUNCTION] = {**AGREE, "shown": [SHORT]}
    ended = shell("reconcile", "-e", "demo", "--json")
    assert (ended.code, json.loads(ended.out)) == (1, {**AGREE, "shown": [SHORT]})


def test_a_run_that_failed_says_why(functions: FakeFunctions, shell: Callable[..., Ended]) -> None:
    functions.answers[FUNCTION] = AwsFailure("reconcile_line failed: StoreFailure: the table is away")
    ended = shell("reconcile", "-e", "demo")
    assert ended.code == 4
    assert "the table is away" in ended.err
