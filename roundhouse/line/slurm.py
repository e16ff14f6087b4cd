"""Slurm's words about a node: compound states, suffixes, reasons. Pure; imports contracts.commands for our own prefix.

Sources: `node_state_string` of Slurm 22.05 to 24.11 (one suffix is shown, by precedence; `+` joins base and flags), and
HyperPod's guide for the two reasons that it obeys.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from roundhouse.contracts.commands import REASON_PREFIX

_SUFFIXES = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "%": "POWERING_DOWN",
    "!": "POWER_DOWN",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "$": "MAINTENANCE",
    "-": "PLANNED",
    "+": "COMPLETING",
}
_SHORT = {
    "ALLOC": "ALLOCATED", "BLOCK": "BLOCKED", "BOOT": "REBOOT", "COMP": "COMPLETING", "DRAIN": "DRAINED",
    "DRNG": "DRAINING", "FAILG": "FAILING", "MIX": "MIXED", "PLND": "PLANNED", "RESV": "RESERVED", "UNK": "UNKNOWN",
}  # fmt: skip
_BASES = frozenset(_SHORT.values()) | {"DOWN", "IDLE", "FAIL", "MAINT", "INVAL", "ERROR", "FUTURE"}
_WORKING = frozenset({"IDLE", "ALLOCATED", "MIXED", "PLANNED"})
_BLOCKING = frozenset(
    {
        "DRAIN", "FAIL", "DOWN", "NOT_RESPONDING", "POWERED_DOWN", "POWER_DOWN", "POWERING_DOWN", "POWERING_UP",
        "MAINTENANCE", "RESERVED", "INVALID_REG", "REBOOT_REQUESTED", "REBOOT_ISSUED", "BLOCKED",
    }
)  # fmt: skip

# What Slurm itself writes as a reason; anything else was set by a person, a health check or us.
_AUTOMATIC = re.compile(
    r"not responding|node unexpectedly rebooted|kill task failed|prolog error|epilog error|duplicate job|"
    r"batch job complete failure|low (realmemory|tmpdisk|socket|core|thread|cpu)|gres/\S+ count|none|reboot asap",
    re.IGNORECASE,
)
HYPERPOD_REASONS = {"Action:Reboot": "reboot", "Action:Replace": "replace"}  # exactly these; any slip is ignored


@dataclass(frozen=True, slots=True)
class SlurmState:
    """A state taken apart. `base` is UNKNOWN and `known` False for words that Slurm does not use."""

    base: str
    flags: frozenset[str]
    known: bool

    @property
    def usable(self) -> bool:
        """True when the node runs work, or could take some now."""
        return self.known and self.base in _WORKING and not self.flags & _BLOCKING

    @property
    def not_responding(self) -> bool:
        return "NOT_RESPONDING" in self.flags

    @property
    def down(self) -> bool:
        return self.base == "DOWN" or "DOWN" in self.flags

    @property
    def failing(self) -> bool:
        """True for `fail`, which asks HyperPod to act if the reason says so exactly."""
        return self.base in {"FAIL", "FAILING"} or "FAIL" in self.flags

    @property
    def draining(self) -> bool:
        """True for drained and draining alike: nothing new is started there."""
        return self.base in {"DRAINED", "DRAINING"} or "DRAIN" in self.flags

    @property
    def invalid(self) -> bool:
        return self.base == "INVAL" or "INVALID_REG" in self.flags

    @property
    def powered_off(self) -> bool:
        """True when Slurm itself switched it off, or is about to: not broken, only off."""
        return bool(self.flags & {"POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN"})

    @property
    def in_transition(self) -> bool:
        """True while it is being powered up or rebooted by Slurm."""
        return self.base == "REBOOT" or bool(self.flags & {"POWERING_UP", "REBOOT_ISSUED"})


def parse_state(text: str) -> SlurmState:
    """`down*`, `MIXED+DRAIN`, `REBOOT*+DRAIN`, `alloc+` → base and flags.

    >>> parse_state("IDLE+DRAIN").usable, parse_state("mix-").usable
    (False, True)
    """
    parts = [part for part in text.strip().upper().split("+") if part]
    flags: set[str] = {"COMPLETING"} if text.strip().endswith("+") else set()
    words: list[str] = []
    known = bool(parts)
    for part in parts:
        match = re.fullmatch(r"([A-Z_]+)(\W?)", part)
        if match is None or (match[2] and match[2] not in _SUFFIXES):
            known = False
            continue
        words.append(match[1])
        if match[2]:
            flags.add(_SUFFIXES[match[2]])
    base = _SHORT.get(words[0], words[0]) if words else "UNKNOWN"
    flags.update(words[1:])
    if base not in _BASES:
        base, known = "UNKNOWN", False
    return SlurmState(base, frozenset(flags), known)


def bare_reason(reason: str | None) -> str:
    """A reason without Slurm's trailing ` [user@time]`; blanks inside are kept, they matter to HyperPod."""
    return re.sub(r" ?\[[^\[\]]+@[^\[\]]+\]\Z", "", reason or "")


def hyperpod_action(reason: str | None) -> str | None:
    """`reboot` or `replace` when HyperPod would obey this reason of a failing node, else None.

    The comparison is exact: HyperPod ignores any slip silently, and the node then hangs there for ever.
    """
    return HYPERPOD_REASONS.get(bare_reason(reason))


def meant_for_hyperpod(reason: str | None) -> str | None:
    """The exact text that somebody seems to have meant by a reason that HyperPod ignores; None for other reasons.

    >>> meant_for_hyperpod("action: replace"), meant_for_hyperpod("Action:Replace"), meant_for_hyperpod("fan broken")
    ('Action:Replace', None, None)
    """
    bare = bare_reason(reason)
    if bare in HYPERPOD_REASONS:
        return None
    exact = {re.sub(r"[^a-z]", "", text.lower()): text for text in HYPERPOD_REASONS}
    close = get_close_matches(re.sub(r"[^a-z]", "", bare.lower()), exact, n=1, cutoff=0.8)
    return exact[close[0]] if close else None


def set_by_people(reason: str | None) -> bool:
    """True when somebody else than Slurm, HyperPod or we gave this reason: never to be overwritten or cleared."""
    bare = bare_reason(reason).strip()
    ours = bare.startswith(REASON_PREFIX) or bare in HYPERPOD_REASONS
    return bool(bare) and not ours and _AUTOMATIC.match(bare) is None
