"""Reads the inputs and expectations of a collected case: `tests/data/cases/<number>/<name>`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CASES = Path(__file__).parents[1] / "data" / "cases"


def case(number: int, name: str) -> Any:
    """A file of a case: JSON, a list for JSON lines, else its text without blanks around it."""
    text = (CASES / str(number) / name).read_text()
    match name.rpartition(".")[2]:
        case "json":
            return json.loads(text)
        case "jsonl":
            return [json.loads(line) for line in text.splitlines()]
        case _:
            return text.strip()
