"""Replaces a function in every module of moto's interpreter that imported it by name. Touches loaded modules only."""

import sys
from typing import Any

PREFIX = "moto.stepfunctions.parser"


def everywhere(old: Any, new: Any) -> int:
    """Rebind each module-level name that is `old` to `new`; returns how many, and raises if there is none."""
    count = 0
    for name, module in list(sys.modules.items()):
        if name.startswith(PREFIX):
            for attribute, value in list(vars(module).items()):
                if value is old:
                    setattr(module, attribute, new)
                    count += 1
    if not count:
        raise LookupError(f"{old!r} is not used in any module of {PREFIX}")
    return count
