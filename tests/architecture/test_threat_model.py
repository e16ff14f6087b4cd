"""The threat model names tests that exist, and says of every actor what remains."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.test_docs import ROOT

TEXT = (ROOT / "docs/threat-model.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)))
ACTORS = {
    title: body
    for title, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    if title != "What is worth protecting"
}


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_what_it_names_as_proof_exists(file: str, test: str) -> None:
    tree = ast.parse((ROOT / file).read_text())
    assert test in {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}


def test_every_reference_is_understood() -> None:
    assert len(NAMED) > 20
    assert TEXT.count("::test_") == len(re.findall(r"`tests/[\w/]+\.py::\w+`", TEXT))


@pytest.mark.parametrize("actor", ACTORS)
def test_every_actor_has_what_remains(actor: str) -> None:
    assert "**Remains:**" in ACTORS[actor]


def test_every_actor_is_there() -> None:
    words = " ".join(ACTORS)
    for actor in (
        "job user",
        "forged event",
        "bot token",
        "signing secret",
        "colleague",
        "insider",
        "laptop",
        "function",
    ):
        assert actor in words, actor
    assert "supply chain" in words
