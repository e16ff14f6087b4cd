"""Checks: what must be true after an act, each with what was seen. Standard library only."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


class NotTrue(RuntimeError):
    """The play is to end with the first check that is not true, and here it is."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must be true. `seen` says what was found, whether or not it is right."""

    act: str
    must: str
    ok: bool
    seen: str


@dataclass
class Checks:
    """All checks so far, in order. `first`: the first that is not true ends the play, by raising NotTrue."""

    found: list[Check] = field(default_factory=list)
    first: bool = False

    def that(self, act: str, must: str, ok: bool, seen: object = "") -> bool:
        """Note a check; returns `ok`."""
        self.found.append(Check(act, must, bool(ok), str(seen)[:400]))
        if not ok and self.first:
            raise NotTrue(f"{act}: {must}")
        return bool(ok)

    def equal(self, act: str, must: str, seen: object, wanted: object) -> bool:
        """Note that `seen` must be `wanted`."""
        return self.that(act, must, seen == wanted, f"{seen}" if seen == wanted else f"{seen}, not {wanted}")

    @property
    def failed(self) -> list[Check]:
        """Those that are not true."""
        return [check for check in self.found if not check.ok]

    def write(self, path: Path) -> None:
        """All of them as JSON, for programs: a list of objects with the members of a Check."""
        path.write_text(json.dumps([asdict(check) for check in self.found], indent=1))
