"""Replaces a function in every module of moto's interpreter that imported it by name. Touches loaded modules only."""

import sys
from enum import StrEnum
from types import ModuleType
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


class _JobStatus(StrEnum):
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


def spare_batch() -> None:
    """Stand in for the one enum that the interpreter takes from moto's Batch.

    Importing the real one imports moto's EC2, which takes a second: a quarter of the start. Call it before anything
    imports the interpreter.
    """
    if "moto.batch" not in sys.modules:
        package, utils = ModuleType("moto.batch"), ModuleType("moto.batch.utils")
        package.__path__ = []
        utils.JobStatus = _JobStatus  # type: ignore[attr-defined]
        sys.modules.update({"moto.batch": package, "moto.batch.utils": utils})
