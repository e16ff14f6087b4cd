"""Checks: what must be true after an act, each with what was seen. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must be true. `seen` says what was found, whether or not it is right."""

    act: str
    must: str
    ok: bool
    seen: str


@dataclass
class Checks:
    """All checks so far, in order."""

    found: list[Check] = field(default_factory=list)

    def that(self, act: str, must: str, ok: bool, seen: object = "") -> bool:
        """Note a check; returns `ok`."""
        self.found.append(Check(act, must, bool(ok), str(seen)[:400]))
        return bool(ok)

    def equal(self, act: str, must: str, seen: object, wanted: object) -> bool:
        """Note that `seen` must be `wanted`."""
        return self.that(act, must, seen == wanted, f"{seen}" if seen == wanted else f"{seen}, not {wanted}")

    @property
    def failed(self) -> list[Check]:
        """Those that are not true."""
        return [check for check in self.found if not check.ok]
