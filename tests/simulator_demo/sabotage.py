"""Sabotages a copy of a synthesized assembly, and plays the demo on it. Touches temporary folders only.

A sabotage is a list of changes to files of the assembly: a text of the deployed code that must occur exactly once, so
that a refactoring which moves it is noticed, or a part of a template.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.client import IAM_RECORDS
from simulator.demo.assembly import REPOSITORY, synthesize

Json = dict[str, Any]
PLAY_S = 300  # longest play; a red one ends at its first check that is not true


class DoesNotFit(AssertionError):
    """A sabotage does not find what it is to change: the code or the template has moved on, and so must it."""


@dataclass(frozen=True)
class Code:
    """Replace `old`, which must occur exactly once in the deployed file `path`, by `new`."""

    path: str
    old: str
    new: str

    def apply(self, assembly: Path) -> None:
        """Change the file in every code asset of the assembly."""
        found = [file for asset in assembly.glob("asset.*") if (file := asset / self.path).is_file()]
        if not found:
            raise DoesNotFit(f"no asset of {assembly.name} has {self.path}")
        for file in found:
            file.write_text(self.changed(file.read_text()))

    def changed(self, text: str) -> str:
        """The file's text after the change. Raises DoesNotFit."""
        if text.count(self.old) != 1:
            raise DoesNotFit(f"{self.path} has {self.old!r} {text.count(self.old)} times, not once")
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Pattern:
    """Let the rule whose logical id begins with `rule` wait for something else: `key` of its pattern gets `value`."""

    rule: str
    key: str
    value: str

    def apply(self, assembly: Path) -> None:
        rules = _resources(assembly, "AWS::Events::Rule", self.rule)
        for template, rule in rules:
            pattern = rule["Properties"]["EventPattern"]
            if self.key not in pattern or pattern[self.key] == [self.value]:
                raise DoesNotFit(f"the pattern of {self.rule} has no other {self.key}: {pattern}")
            pattern[self.key] = [self.value]
            template.write()


@dataclass(frozen=True)
class Permission:
    """Take `action` away from the role whose logical id begins with `role`, on resources whose text holds `on`."""

    role: str
    action: str
    on: str = ""

    def apply(self, assembly: Path) -> None:
        for template, role in _resources(assembly, "AWS::IAM::Role", self.role):
            taken = 0
            for policy in role["Properties"]["Policies"]:
                document = policy["PolicyDocument"]
                left = [list(self._without(statement)) for statement in document["Statement"]]
                taken += sum(new != [old] for new, old in zip(left, document["Statement"], strict=True))
                document["Statement"] = [statement for some in left for statement in some]
            if not taken:
                raise DoesNotFit(f"{self.role} has no {self.action} on a resource like {self.on!r}")
            template.write()

    def _without(self, statement: Json) -> Iterator[Json]:
        """The statement, or what is left of it: other actions on the resources meant, every action on others."""
        actions, resources = _listed(statement["Action"]), _listed(statement["Resource"])
        meant = [each for each in resources if self.on in json.dumps(each)]
        if self.action not in actions or not meant or statement["Effect"] != "Allow":
            yield statement
            return
        if others := [each for each in resources if each not in meant]:
            yield {**statement, "Resource": others}
        if rest := [each for each in actions if each != self.action]:
            yield {**statement, "Action": rest, "Resource": meant}


Change = Code | Pattern | Permission


@dataclass(frozen=True)
class Sabotage:
    """What is broken, the acts to play, and the check that must be the first to go red; `seen` is part of what it
    saw."""

    name: str
    changes: tuple[Change, ...]
    acts: str
    act: str
    must: str
    seen: str = ""
    environment: str = "demo"


@dataclass(frozen=True)
class Played:
    """How a play ended: exit code, checks as the demo wrote them, and all that it printed."""

    code: int
    checks: list[Json]
    printed: str

    @property
    def red(self) -> list[Json]:
        return [check for check in self.checks if not check["ok"]]


def play(arguments: list[str], workdir: Path, *, kept: bool = True) -> Played:
    """Run `roundhouse demo` in a process of its own, its files in `workdir`. `kept`: what IAM decides is recorded, if
    anybody asked for it."""
    command = [sys.executable, "-m", "roundhouse.cli", "demo", "--workdir", str(workdir)]
    done = subprocess.run(
        [*command, "--report", str(workdir / "report.html"), *arguments],
        cwd=REPOSITORY,
        env={name: value for name, value in os.environ.items() if kept or name != IAM_RECORDS},
        capture_output=True,
        text=True,
        timeout=PLAY_S,
        check=False,
    )
    checks, printed = workdir / "checks.json", done.stdout + done.stderr
    return Played(done.returncode, json.loads(checks.read_text()) if checks.is_file() else [], printed)


def play_sabotaged(sabotage: Sabotage, folder: Path) -> Played:
    """Play the fewest acts that can tell, on a sabotaged copy of the assembly, up to the first red check."""
    assembly = sabotaged(synthesize(sabotage.environment), sabotage.changes, folder / "assembly")
    deployed = f"{sabotage.environment}={assembly}"
    return play(["--quick", "--first", "--acts", sabotage.acts, "--assembly", deployed], folder / "play", kept=False)


def sabotaged(assembly: Path, changes: tuple[Change, ...], target: Path) -> Path:
    """A changed copy of `assembly`; the dependencies, which are large and stay as they are, are linked."""
    target.mkdir(parents=True)
    for each in assembly.iterdir():
        if (each / "python").is_dir():
            (target / each.name).symlink_to(each)
        else:
            copy: Callable[..., Any] = shutil.copytree if each.is_dir() else shutil.copy
            copy(each, target / each.name)
    for change in changes:
        change.apply(target)
    return target


class _Template:
    """A template file of the assembly, as it is being changed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.body: Json = json.loads(path.read_text())

    def write(self) -> None:
        self.path.write_text(json.dumps(self.body))


def _resources(assembly: Path, kind: str, logical_id: str) -> list[tuple[_Template, Json]]:
    """The one resource of that kind whose logical id begins so, with its template."""
    found = []
    for path in sorted(assembly.glob("*.template.json")):
        template = _Template(path)
        for name, resource in template.body["Resources"].items():
            if resource["Type"] == kind and name.startswith(logical_id):
                found.append((template, resource))
    if len(found) != 1:
        raise DoesNotFit(f"{assembly.name} has {len(found)} {kind} {logical_id}…, not one")
    return found


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]
