"""Rules about what an environment becomes at run time."""

from __future__ import annotations

from collections.abc import Iterator

from roundhouse.build.problem import Problem
from roundhouse.environment.catalog import Catalog
from roundhouse.environment.model import Environment
from roundhouse.environment.render import parameters

PARAMETER_LIMIT = 8192  # bytes of an advanced SSM parameter


def parameters_fit(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for name, text in parameters(env, catalog).items():
        size = len(text.encode())
        if size > PARAMETER_LIMIT:
            reason = f"its runtime parameter would have {size} bytes, Systems Manager takes {PARAMETER_LIMIT}"
            yield Problem(name, "", reason, "Use fewer groups, protected nodes, tags or file systems")
