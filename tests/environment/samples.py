"""A good environment as decoded TOML, and a way to change one value of it by path."""

from __future__ import annotations

import copy
import re
import tomllib
from pathlib import Path
from typing import Any

GONE = object()  # as a value: remove the key
GOOD: dict[str, Any] = tomllib.loads((Path(__file__).parents[1] / "data/environment/good.toml").read_text())


def changed(**changes: Any) -> dict[str, Any]:
    """GOOD with values set by path: `changed(**{"groups[1].discount.az_id": "usw2-az1"})`."""
    table = copy.deepcopy(GOOD)
    for path, value in changes.items():
        parts = [int(p) if p.isdigit() else p for p in re.findall(r"[^.\[\]]+", path)]
        place: Any = table
        for part in parts[:-1]:
            place = place.setdefault(part, {}) if isinstance(place, dict) else place[part]
        if value is GONE:
            del place[parts[-1]]
        elif isinstance(place, list) and parts[-1] == len(place):
            place.append(value)
        else:
            place[parts[-1]] = value
    return table
