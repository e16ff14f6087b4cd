"""`env check` and `env show`: what an environment file says, before anything is deployed. Asks no AWS service."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from roundhouse import codec
from roundhouse.cli import wiring
from roundhouse.environment import cluster_spec, load, policy, sections
from roundhouse.environment.show import Table as Section
from roundhouse.environment.show import hints
from roundhouse.errors import BadInput, EnvironmentInvalid

SHORT = 15  # cells up to that many characters are never broken: a narrow terminal breaks headings and longer ones


def check(files: list[str], out: Console) -> int:
    """Check each file (a name or a path; all environments when none) and print every problem of every one.

    Exit code: 0 none has a problem, 1 some has. Raises BadInput when a name has no file, or there is nothing to check.
    """
    paths = [wiring.environment_file(name) for name in files] or _all_files()
    faulty = 0
    for path in paths:
        try:
            environment = load(path)
        except EnvironmentInvalid as error:
            faulty += 1
            out.print(Text(str(error), style="red"), soft_wrap=True)
            continue
        out.print(Text(f"{path} is good: {environment.cluster.name} in {environment.region}"), soft_wrap=True)
        for hint in (*_misnamed(path, environment.name), *hints(environment)):
            out.print(Text(f"  note: {hint}", style="dim"), soft_wrap=True)
    return 1 if faulty else 0


def show(name: str, as_json: bool, out: Console) -> None:
    """What the environment becomes: tables for people, or the two runtime documents as one JSON object.

    Raises BadInput when there is no such file, EnvironmentInvalid listing every problem of it.
    """
    environment = load(wiring.environment_file(name))
    if as_json:
        documents = {
            "environment": environment.name,
            "policy": codec.to_plain(policy(environment)),
            "cluster": codec.to_plain(cluster_spec(environment)),
        }
        out.print_json(json.dumps(documents))
        return
    for section in sections(environment):
        out.print(_drawn(section))
        out.print()
    for hint in hints(environment):
        out.print(Text(f"note: {hint}", style="dim"), soft_wrap=True)


def _misnamed(path: Path, name: str) -> list[str]:
    """A copied file that kept the name of its original deploys over it."""
    if path.stem == name:
        return []
    return [f"Its name is {name!r}, not {path.stem!r}: everything deployed is called by that, and replaces what is."]


def _all_files() -> list[Path]:
    found = sorted(wiring.ENVIRONMENTS.glob("*.toml"))
    if not found:
        raise BadInput(
            f"there is no environment file in {wiring.ENVIRONMENTS}/: name one, or go to the project's folder"
        )
    return found


def _drawn(section: Section) -> Table:
    """A section as a table; headings that are all empty are left out."""
    table = Table(
        title=section.title,
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        collapse_padding=True,
        show_header=any(section.headings),
    )
    for number, heading in enumerate(section.headings):
        texts = [*heading.split(), *(row[number] for row in section.rows)]
        widest = max((len(text) for text in texts), default=0)
        table.add_column(heading, overflow="fold", width=widest if widest <= SHORT else None)
    for row in section.rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
