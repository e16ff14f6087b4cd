"""The pages say what is there: links lead somewhere; commands, options, make targets and paths in them exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from pydantic import BaseModel

from roundhouse.cli.main import app
from roundhouse.environment import Environment, model
from roundhouse.environment.problems import DISCOUNTS
from roundhouse.environment.show import duration
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Outcome

ROOT = Path(__file__).resolve().parents[2]
MADE = {".venv", ".venv-simulator", "node_modules", "cdk.out", "build", ".demo"}  # not there in a fresh checkout


def _pages(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.name not in MADE and not path.name.startswith("."):
            yield from _pages(path)
        elif path.suffix == ".md":
            yield path


PAGES = list(_pages(ROOT))
COMMANDS = typer.main.get_command(app)

_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^ {4,}\S.*\n?)+", re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_COMMAND = re.compile(r"(?<![\w./-])(?:\.venv/bin/)?roundhouse +(?=[a-z-])([^#\n|]*)")
_MAKE = re.compile(r"^\s*make +([a-z][a-z-]*)", re.MULTILINE)
_MODULE = re.compile(r"python -m ((?:benchmarks|stacks|simulator)[\w.]*)")
_TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
_PATH = re.compile(r"\.?[\w-]+(?:/[\w.-]+)*/?(?:\.\w+)?")


def code_in(text: str) -> Iterator[str]:
    """Code spans and code blocks, each as one text."""
    yield from _FENCED.findall(text)
    text = _FENCED.sub("", text)
    yield from _INDENTED.findall(text)
    yield from _SPAN.findall(text)


def anchors(text: str) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}


def problems_of_links(page: Path, text: str) -> Iterator[str]:
    """Relative links that lead nowhere."""
    for target in _LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        if not there.exists():
            yield f"{target}: there is no such file"
        elif anchor and anchor not in anchors(there.read_text()):
            yield f"{target}: there is no such heading"


def problems_of_commands(text: str) -> Iterator[str]:
    """Commands of ours that do not exist, or do not have the options they are shown with."""
    for line in (line for code in code_in(text) for line in _COMMAND.findall(code)):
        command: click.Command = COMMANDS
        words = line.split()
        while words and hasattr(command, "commands"):
            name = words.pop(0)
            if name not in command.commands:
                yield f"roundhouse {line.strip()}: there is no command {name}"
                break
            command = command.commands[name]
        else:
            known = {opt for parameter in command.params for opt in (*parameter.opts, *parameter.secondary_opts)}
            for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(words)):
                if option not in known | {"--help"}:
                    yield f"roundhouse {line.strip()}: it has no option {option}"


def problems_of_targets(text: str) -> Iterator[str]:
    targets = set(_TARGET.findall((ROOT / "Makefile").read_text()))
    for target in (target for code in code_in(text) for target in _MAKE.findall(code)):
        if target not in targets:
            yield f"make {target}: the Makefile has no such target"


def problems_of_modules(text: str) -> Iterator[str]:
    for module in _MODULE.findall(text):
        path = ROOT / module.replace(".", "/")
        if not path.with_suffix(".py").is_file() and not (path / "__main__.py").is_file():
            yield f"python -m {module}: there is no such module"


def problems_of_paths(text: str) -> Iterator[str]:
    """Code spans that name something in one of our folders which is not there."""
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()} - MADE
    for span in _SPAN.findall(text):
        if _PATH.fullmatch(span) and "/" in span and span.split("/")[0] in folders and not (ROOT / span).exists():
            yield f"{span}: there is no such path"


def problems(page: Path, text: str) -> list[str]:
    """Everything that `text`, as the text of `page`, names and that is not there."""
    return [
        *problems_of_links(page, text),
        *problems_of_commands(text),
        *problems_of_targets(text),
        *problems_of_modules(text),
        *problems_of_paths(text),
    ]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_page_names_only_what_exists(page: Path) -> None:
    found = problems(page, page.read_text())
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("see [this](docs/nowhere.md)", "no such file"),
        ("see [this](#nowhere)", "no such heading"),
        ("call `roundhouse explode`", "no command explode"),
        ("call `roundhouse env explode`", "no command explode"),
        ("call `.venv/bin/roundhouse status --loud`", "no option --loud"),
        ("    roundhouse pause -e demo --because x\n", "no option --because"),
        ("```\nroundhouse creat -e demo\n```", "no command creat"),
        ("run `make coffee`", "no such target"),
        ("    make coffee ENV=demo\n", "no such target"),
        ("run `python -m benchmarks.coffee`", "no such module"),
        ("in `roundhouse/line/nowhere.py`", "no such path"),
        ("in `docs/nowhere/`", "no such path"),
    ],
)
def test_what_does_not_exist_is_found(text: str, problem: str) -> None:
    assert any(problem in found for found in problems(ROOT / "README.md", text))


@pytest.mark.parametrize(
    "text",
    [
        "[this](README.md#try-it) and [that](https://example.com/x#y)",
        "`roundhouse create -e demo --run-id x --no-watch` and `roundhouse env check`",
        "`roundhouse-demo-ledger`, `roundhouse/line/`, `roundhouse: inc-1`",
        "`make test TESTS=tests/line`",
        "we make do with what there is; `apt-get install make python3-venv`",
    ],
)
def test_what_exists_is_let_pass(text: str) -> None:
    assert problems(ROOT / "README.md", text) == []


def test_every_command_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    for name, command in COMMANDS.commands.items():  # type: ignore[attr-defined]
        for full in [f"{name} {part}" for part in getattr(command, "commands", {})] or [name]:
            assert f"`roundhouse {full}" in readme, f"README.md does not name `roundhouse {full}`"


def test_every_cause_and_outcome_is_explained_to_operators() -> None:
    index = (ROOT / "docs/operating/README.md").read_text()
    for cause in CauseClass:
        assert f"`{cause}`" in index
    for outcome in Outcome:
        assert f"| {outcome} |" in index


def _keys(section: type[BaseModel]) -> Iterator[str]:
    """Every key of a section and of those in it."""
    for name, field in section.model_fields.items():
        yield name
        todo = [field.annotation]
        while todo:
            kind: Any = todo.pop()
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from _keys(kind)
            todo += getattr(kind, "__args__", ())


def test_every_key_of_an_environment_file_is_documented_and_no_other() -> None:
    page = (ROOT / "docs/configuration.md").read_text()
    named = {key for code in _SPAN.findall(page) for key in re.findall(r"[a-z_0-9]+", code)}
    keys = set(_keys(Environment))
    assert keys - named == set(), "not in docs/configuration.md"
    first_cells = re.findall(r"^\| ((?:`[a-z_0-9]+`(?:, )?)+) \|", page, re.MULTILINE)
    rows = {key for cell in first_cells for key in re.findall(r"[a-z_0-9]+", cell)} - set(DISCOUNTS)
    assert rows - keys == set(), "docs/configuration.md has keys that no environment file has"


SECTIONS: dict[str, type[BaseModel]] = {
    "network": model.Network,
    "cluster": model.Cluster,
    "groups": model.Group,
    "waits": model.Waits,
    "rehearsal": model.Rehearsal,
    "policy": model.Policy,
    "rules": model.Rule,
    "budgets": model.Budget,
    "breaker": model.Breaker,
    "slack": model.Slack,
    "costs": model.Costs,
    "deployment": model.Deployment,
}
# What the code puts into a message from elsewhere.
FILLED_IN = {
    "with reason Action:",
    "FAILED",
    "INCONCLUSIVE",
    "rehearsal PASSED",
    "UNKNOWN: what now?",
    "differences of",
}


def _defaults(section: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    """Every key of a section that may be left out, with what it is then; not those of sections in it."""
    for name, field in section.model_fields.items():
        if not field.is_required():
            yield name, field.get_default(call_default_factory=True)


def _written(value: Any) -> set[str]:
    """How an environment file may write a value: a number of seconds as a duration, too."""
    match value:
        case bool():
            return {str(value).lower()}
        case int() | float():
            whole = {duration(int(value)), f"{value / 3600:g}h"} if value == int(value) else set()
            return {f"{value:g}", *whole}
        case tuple():
            return {", ".join(str(each) for each in value)}
        case _:
            return {str(value)}


def documented_defaults(page: str) -> dict[tuple[str, str], str]:
    """(last word of the section's name in the heading or line above a table, key) → default in italics."""
    found: dict[tuple[str, str], str] = {}
    section = ""
    for line in page.splitlines():
        if named := re.match(r"(?:## )?`\[+([\w.<>]+)\]+`", line):
            section = named[1].removesuffix(".<cause>").removesuffix(".<rung>").rpartition(".")[2]
            found |= {(section, key): value for key, value in re.findall(r"`(\w+)`[^`(]*\(\*([^*]+)\*\)", line)}
        if (cells := [cell.strip() for cell in line.strip("|").split("|")]) and line.startswith("| `"):
            keys, values = re.findall(r"`(\w+)`", cells[0]), re.findall(r"\*([^*]+)\*", cells[-1])
            found |= {(section, key): value for key, value in zip(keys, values, strict=False)}
    return found


def test_documented_defaults_are_those_of_the_model() -> None:
    told = documented_defaults((ROOT / "docs/configuration.md").read_text())
    compared = 0
    for section, kind in SECTIONS.items():
        for key, value in _defaults(kind):
            if isinstance(value, BaseModel) or value in (None, (), {}):
                continue  # a section of its own, or nothing: said in words
            assert told.get((section, key)) in _written(value), f"{section}.{key} is {value!r} when it is left out"
            compared += 1
    assert compared > 40


def test_a_wrong_default_is_seen() -> None:
    page = "## `[waits]`: patience\n\n| key | meaning | default |\n|---|---|---|\n| `poll` | looks | *2m* |\n"
    assert documented_defaults(page) == {("waits", "poll"): "2m"}
    assert "2m" not in _written(60)
    assert "1m" in _written(60)


def _said(folder: Path) -> str:
    """Every text in the code of a folder, one a line, `…` in the place of what is filled in."""
    texts: list[str] = []
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                texts.append("".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return "\n".join(texts)


def test_messages_that_operators_look_up_are_still_sent() -> None:
    """The fragments between `…` of each message in the index of operating pages. Words that the code puts in from
    elsewhere are in `FILLED_IN`."""
    said, index = _said(ROOT / "roundhouse"), (ROOT / "docs/operating/README.md").read_text()
    rows = re.findall(r"^\| (\*.+?) \|", index, re.MULTILINE)
    messages = [message for row in rows for message in re.findall(r"\*([^*]+)\*", row)]
    assert len(messages) > 12
    for message in messages:
        fragments = [each.strip() for each in re.split(r"…| / ", message)]
        lost = [each for each in fragments if each and each not in said and each not in FILLED_IN]
        assert not lost, f"no message says {lost} of *{message}*"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached:
            continue
        reached.add(page)
        links = [target.partition("#")[0] for target in _LINK.findall(page.read_text())]
        todo += [
            there for link in links if (there := (page.parent / link).resolve()).suffix == ".md" and there.is_file()
        ]
    lost = {page for page in PAGES if page.is_relative_to(ROOT / "docs")} - reached
    assert not lost, f"no link leads to {sorted(str(page.relative_to(ROOT)) for page in lost)}"
