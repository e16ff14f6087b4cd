"""Writes down what one piece of our code leaves for another, as it is today: `python -m tests.contracts.record`.

A file is written once and never again: what has once been stored has to be read for ever. Only what is new gets a file.
Definitions and function answers of a release are written by `--release`, which replaces those of the release before.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import json
import re
import sys
import types
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from roundhouse import codec
from roundhouse.contracts.version import CONTRACT

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/data/contracts" / f"v{CONTRACT}"
RELEASED = ROOT / "tests/data/released"
AT = datetime(2026, 10, 2, 12, tzinfo=UTC)
_READERS = {"RecordTable": 3, "_read": 1, "from_json": 0, "from_plain": 0, "_document": 1}
"""Functions that read what is stored, and which argument is the class."""


def stored_kinds() -> dict[str, type[Any]]:
    """Every dataclass that some adapter or function reads from a store, a parameter or a queue, by its name."""
    found: dict[str, type[Any]] = {}
    for path in sorted([*(ROOT / "roundhouse/aws").glob("*.py"), *(ROOT / "functions").rglob("*.py")]):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for name in _read_in(path.read_text()):
            kind = getattr(importlib.import_module(module), name, None)
            if isinstance(kind, type) and dataclasses.is_dataclass(kind):
                found[name] = kind
    return found


def _read_in(source: str) -> Iterator[str]:
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        reader = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        position = _READERS.get(reader)
        argument = call.args[position] if position is not None and len(call.args) > position else None
        if isinstance(argument, ast.Name):
            yield argument.id


def sample(kind: Any) -> Any:
    """A value of a type hint, with every member set to something that is not its default."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return sample(next(each for each in inner if each is not type(None)))
    if origin is tuple:
        return (sample(inner[0]),) if inner[-1] is Ellipsis else tuple(sample(each) for each in inner)
    if origin in (dict, Mapping) or getattr(origin, "__name__", "") == "Mapping":
        return {sample(inner[0]): sample(inner[1])}
    if origin in (list, frozenset, set):
        return origin([sample(inner[0])])
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{member.name: sample(hints[member.name]) for member in dataclasses.fields(kind)})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)[-1]
    plain: dict[Any, Any] = {str: "text", bool: True, int: 7, float: 1.5, datetime: AT, object: [["any", 1]]}
    return plain[kind]


def enums_of(kind: Any) -> dict[str, list[str]]:
    """Values of every enum inside a type, by the enum's name."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {kind.__name__: sorted(str(each.value) for each in kind)}
    inner = get_type_hints(kind).values() if dataclasses.is_dataclass(kind) else get_args(kind)
    return {name: values for each in inner for name, values in enums_of(each).items()}


def document(kind: type[Any]) -> dict[str, Any]:
    """The fixture of one record: written with all members, with as few as possible, and what the few mean."""
    full = codec.to_plain(sample(kind))
    needed = [
        member.name
        for member in dataclasses.fields(kind)
        if member.default is dataclasses.MISSING and member.default_factory is dataclasses.MISSING
    ]
    brief = {name: full[name] for name in needed}
    means = codec.to_plain(codec.from_plain(kind, brief))
    return {"full": full, "brief": brief, "brief_means": means, "enums": enums_of(kind)}


def release() -> None:
    """The definitions of now, and the members of every answer that a function gives to them in `runs.py`."""
    from tests.contracts.runs import answers

    for path in sorted((ROOT / "statemachines").glob("*.asl.json")):
        (RELEASED / path.name).write_text(path.read_text())
    _write(RELEASED / "answers.json", answers())


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, sort_keys=True, default=str) + "\n")


def main() -> None:
    """Write what is missing; say what was written."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, kind in stored_kinds().items():
        if not (FOLDER / f"{name}.json").exists():
            _write(FOLDER / f"{name}.json", document(kind))
            sys.stderr.write(f"{name}: written\n")
    if "--release" in sys.argv[1:]:
        RELEASED.mkdir(parents=True, exist_ok=True)
        release()


def placeholders(definition: str) -> set[str]:
    """Names of the `${…}` in a definition's text."""
    return set(re.findall(r"\$\{(\w+)\}", definition))


if __name__ == "__main__":
    main()
