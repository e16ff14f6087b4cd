"""HyperPod's own repairs, as its event descriptions tell them. Pure; standard library only.

Source: description templates of HyperPod's cluster event reference; the wording may change, so the match is loose.
"""

from __future__ import annotations

import re
from enum import StrEnum


class Phase(StrEnum):
    SCHEDULED = "scheduled"  # of patching alone
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"


_KINDS = (
    ("replace", re.compile(r"instance replacement|replac(?:e|ing|ed)\b", re.I)),
    ("reboot", re.compile(r"reboot", re.I)),
)
_FAILED = re.compile(r"\bfail(?:ed|ure|s)?\b|could not|unable", re.I)
_DONE = re.compile(r"complet|success|finished", re.I)
_PATCH = re.compile(r"\bpatch(?:ing|ed|es)?\b|software update|root[- ]volume", re.I)
SHORTAGE = re.compile(r"(?:in)?sufficient (?:\w+ )?capacity|InsufficientInstanceCapacity|no capacity", re.I)


def repair_phase(description: str) -> tuple[str, Phase] | None:
    """(`replace` | `reboot`, phase) when the description tells of a repair of an instance, else None.

    >>> repair_phase("Instance i-0a is starting as part of instance replacement in Cluster c and IG workers")
    ('replace', <Phase.STARTED: 'started'>)
    """
    kind = next((name for name, pattern in _KINDS if pattern.search(description)), None)
    if kind is None or "please" in description.lower() or _PATCH.search(description):
        return None
    if _FAILED.search(description):
        return kind, Phase.FAILED
    return kind, Phase.COMPLETED if _DONE.search(description) else Phase.STARTED


def patch_phase(description: str) -> Phase | None:
    """How far patching is, when the description tells of it: a root volume that is replaced is no new instance.

    >>> patch_phase("Patching started for IG workers"), patch_phase("Instance replacement started")
    (<Phase.STARTED: 'started'>, None)
    """
    if not _PATCH.search(description):
        return None
    if _FAILED.search(description):
        return Phase.FAILED
    if re.search(r"schedul", description, re.I):
        return Phase.SCHEDULED
    return Phase.COMPLETED if re.search(r"complet|success|finished|\bpatched\b", description, re.I) else Phase.STARTED


def is_termination(description: str) -> bool:
    """True when the description tells that an instance is being terminated, or is.

    >>> is_termination("Instance i-0a is being terminated"), is_termination("Termination of i-0a failed")
    (True, False)
    """
    return re.search(r"\bterminat", description, re.I) is not None and _FAILED.search(description) is None


def is_shortage(text: str) -> bool:
    """True when a failure message says that there is no instance to be had."""
    return SHORTAGE.search(text) is not None
