"""Reading an environment file: TOML, shapes and rules, all problems at once. Imports pydantic; reads files."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from roundhouse.build.problem import Problem, listing
from roundhouse.environment.catalog import Catalog, load_catalog
from roundhouse.environment.model import Environment
from roundhouse.environment.model.base import TOLERANT
from roundhouse.environment.problems import from_pydantic
from roundhouse.environment.rules import broken_rules
from roundhouse.errors import EnvironmentInvalid


def load(path: Path | str, catalog: Catalog | None = None) -> Environment:
    """The environment in the TOML file at `path`. Raises EnvironmentInvalid listing every problem."""
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise _invalid(
            str(path), [Problem(str(path), "", f"cannot be read: {error}", "Name a readable file")]
        ) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        remedy = "Correct the syntax; nothing else could be checked"
        raise _invalid(str(path), [Problem(str(path), "", f"is not TOML: {error}", remedy)]) from error
    return parse(table, origin=str(path), catalog=catalog)


def parse(table: dict[str, Any], *, origin: str = "environment", catalog: Catalog | None = None) -> Environment:
    """The environment that decoded TOML describes. Raises EnvironmentInvalid listing every problem."""
    environment, problems = examine(table, catalog)
    if environment is None or problems:
        raise _invalid(origin, problems)
    return environment


def examine(table: dict[str, Any], catalog: Catalog | None = None) -> tuple[Environment | None, list[Problem]]:
    """(environment or None, every problem). A value that does not validate hides only the rules that look at it."""
    catalog = catalog or load_catalog()
    try:
        environment = Environment.model_validate(table)
    except ValidationError as error:
        problems = from_pydantic(error, Environment)
        rest = Environment.model_validate(table, context=TOLERANT) if isinstance(table, dict) else None
        if rest is not None:
            problems += broken_rules(rest, catalog, whole=False)
        return None, problems
    return environment, broken_rules(environment, catalog)


def _invalid(origin: str, problems: list[Problem]) -> EnvironmentInvalid:
    count = f"{len(problems)} problem{'' if len(problems) == 1 else 's'}"
    return EnvironmentInvalid(listing(f"{origin} has {count}:", problems))
