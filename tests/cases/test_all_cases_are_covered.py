"""Every collected case is read by a test and compared with what it says is right."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.cases.reading import CASES

TESTS = Path(__file__).parents[1]
NUMBERS = sorted(path.name for path in CASES.iterdir())


@cache
def referring() -> dict[str, set[Path]]:
    """Case number → the test modules that read it: `case(405, …)`, or "405" where the folder of cases is named."""
    found: dict[str, set[Path]] = {}
    for path in TESTS.rglob("test_*.py"):
        tree = ast.parse(path.read_text())
        nodes = list(ast.walk(tree))
        names_folder = any(isinstance(node, ast.Constant) and node.value == "cases" for node in nodes)
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "case" and node.args:
                number = node.args[0]
            elif names_folder and isinstance(node, ast.Constant) and isinstance(node.value, str):
                number = node
            else:
                continue
            if isinstance(number, ast.Constant) and len(str(number.value)) == 3 and str(number.value).isdigit():
                found.setdefault(str(number.value), set()).add(path)
    return found


def test_there_are_cases() -> None:
    assert len(NUMBERS) > 20
    assert all(name.isdigit() and len(name) == 3 for name in NUMBERS)


@pytest.mark.parametrize("number", NUMBERS)
def test_case_is_read_and_compared_with_its_expectation(number: str) -> None:
    assert (CASES / number / "expected.json").is_file(), "a case says what is right"
    assert len(list((CASES / number).iterdir())) > 1, "a case has an input"
    readers = referring().get(number, set())
    assert readers, f"no test reads case {number}"
    assert any("expected" in path.read_text() for path in readers), f"no test compares case {number}"
