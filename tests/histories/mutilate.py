"""A copy of product and histories with something changed in it, and a process that plays histories on it.

A change names what must be there exactly once, so that a refactoring which moves it is noticed.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
COPIED = ("roundhouse", "functions", "tests")
LINKED = ("simulator", "statemachines", "catalog", "environments", "stacks")


class DoesNotFit(AssertionError):
    """What was to be changed is not there, or not once."""


@dataclass(frozen=True)
class Text:
    """Replace `old`, which must occur exactly once in the file, by `new`."""

    path: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        file = root / self.path
        text = file.read_text()
        if text.count(self.old) != 1:
            raise DoesNotFit(f"{self.path} has {self.old!r} {text.count(self.old)} times, not once")
        file.write_text(text.replace(self.old, self.new))


@dataclass(frozen=True)
class Instead:
    """Let `function` (`name` or `Class.name`) begin with `statement`."""

    path: str
    function: str
    statement: str

    def apply(self, root: Path) -> None:
        file = root / self.path
        text = file.read_text()
        body = self._find(ast.parse(text)).body
        documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        first = body[1 if documented and len(body) > 1 else 0]
        lines = text.splitlines(keepends=True)
        lines.insert(first.lineno - 1, f"{' ' * first.col_offset}{self.statement}\n")
        file.write_text("".join(lines))

    def _find(self, tree: ast.Module) -> ast.FunctionDef:
        scope: ast.Module | ast.ClassDef = tree
        *classes, name = self.function.split(".")
        for each in classes:
            scope = next((n for n in scope.body if isinstance(n, ast.ClassDef) and n.name == each), tree)
        found = [n for n in scope.body if isinstance(n, ast.FunctionDef) and n.name == name]
        if len(found) != 1:
            raise DoesNotFit(f"{self.path} has {self.function} {len(found)} times, not once")
        return found[0]


Change = Text | Instead


def mutilated(changes: tuple[Change, ...], target: Path) -> Path:
    """A changed copy of what the histories need."""
    target.mkdir(parents=True)
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "data", "simulator*")
        shutil.copytree(REPOSITORY / name, target / name, ignore=ignored)
    for name in LINKED:
        (target / name).symlink_to(REPOSITORY / name)
    for change in changes:
        change.apply(target)
    return target


def histories_on(root: Path, count: int, until: str = "") -> dict[str, object]:
    """The figure of at most `count` histories on that copy, up to the first that breaks one of the rules `until`."""
    command = [sys.executable, "-m", "tests.histories", "--count", str(count), "--processes", "1", "--until", until]
    settings = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=root, env=settings, capture_output=True, text=True, timeout=300, check=False)
    try:
        said: dict[str, object] = json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"no figure: {done.stdout[-500:]}{done.stderr[-2000:]}") from None
    return said
