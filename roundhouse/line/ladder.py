"""The action ladder: what may be done to a node, from gentle to hard, and which rung is next. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from roundhouse.contracts.ledger import LedgerEntry, LedgerState

if TYPE_CHECKING:
    from roundhouse.line.incident import Attempt
    from roundhouse.line.policy import Policy


class Rung(StrEnum):
    """Actions from gentle to hard. Their order in this class is the order of the ladder."""

    NONE = "none"
    RESTART_JOB = "restart_job"
    RESET_GPU = "reset_gpu"
    REBOOT = "reboot"
    REPLACE = "replace"
    DELETE_RESTORE = "delete_restore"
    HUMAN = "human"

    @property
    def height(self) -> int:
        """Position on the ladder, 0 for NONE."""
        return list(Rung).index(self)

    @property
    def destructive(self) -> bool:
        """True when the instance's disks or the instance itself are lost."""
        return self in {Rung.REPLACE, Rung.DELETE_RESTORE}

    @property
    def changes_hyperpod(self) -> bool:
        """True when the rung is a HyperPod call, and so counted by the breaker."""
        return self in {Rung.REBOOT, Rung.REPLACE, Rung.DELETE_RESTORE}

    @property
    def in_words(self) -> str:
        """What the rung does, as a verb phrase."""
        return _WORDS[self]


_WORDS = {
    Rung.NONE: "do nothing",
    Rung.RESTART_JOB: "restart the job",
    Rung.RESET_GPU: "reset the GPU",
    Rung.REBOOT: "reboot",
    Rung.REPLACE: "replace",
    Rung.DELETE_RESTORE: "delete and restore the count",
    Rung.HUMAN: "hand over to people",
}
HYPERPOD_RUNGS = frozenset({Rung.REBOOT, Rung.REPLACE, Rung.DELETE_RESTORE})
DAY = timedelta(hours=24)
_NO_TRY = frozenset({"in_hand", "refused", "retry"})  # results that did nothing to the node on our account


@dataclass(frozen=True, slots=True)
class History:
    """Ledger entries of the last day or more, and the questions that a decision asks of them.

    FAILED entries changed nothing and are left out; CLAIMED and UNKNOWN ones may have, and count. One decision asks
    so few questions that searching is cheaper than an index (benchmarks/decide.py); `indexed` is for many decisions.
    """

    entries: tuple[LedgerEntry, ...] = ()

    @staticmethod
    def of(entries: Iterable[LedgerEntry]) -> History:
        """The history of `entries`, in any order."""
        return History(tuple(entry for entry in entries if entry.state is not LedgerState.FAILED))

    @staticmethod
    def indexed(entries: Iterable[LedgerEntry]) -> History:
        """The same with an index, for deciding upon many incidents at once."""
        kept = History.of(entries).entries
        kinds: dict[str, list[LedgerEntry]] = defaultdict(list)
        nodes: dict[str, list[LedgerEntry]] = defaultdict(list)
        for entry in kept:
            kinds[entry.kind].append(entry)
            nodes[entry.subject].append(entry)
            if entry.logical_id and entry.logical_id != entry.subject:
                nodes[entry.logical_id].append(entry)
        return _Indexed(kept, dict(kinds), dict(nodes))

    def of_kind(self, kind: str, since: datetime) -> list[LedgerEntry]:
        """Actions of `kind` in the cluster since."""
        return [entry for entry in self.entries if entry.kind == kind and entry.claimed_at > since]

    def of_node(self, instance_id: str, logical_id: str | None) -> list[LedgerEntry]:
        """Actions on that instance, or on any instance that stood behind the logical id."""
        return [
            entry
            for entry in self.entries
            if entry.subject == instance_id or (logical_id is not None and entry.logical_id == logical_id)
        ]


@dataclass(frozen=True, slots=True)
class _Indexed(History):
    by_kind: dict[str, list[LedgerEntry]] = field(default_factory=dict)
    by_node: dict[str, list[LedgerEntry]] = field(default_factory=dict)

    def of_kind(self, kind: str, since: datetime) -> list[LedgerEntry]:
        return [entry for entry in self.by_kind.get(kind, ()) if entry.claimed_at > since]

    def of_node(self, instance_id: str, logical_id: str | None) -> list[LedgerEntry]:
        mine = [entry for entry in self.by_node.get(instance_id, ()) if entry.subject == instance_id]
        if logical_id is None:
            return mine
        behind = self.by_node.get(logical_id, ())
        return mine + [e for e in behind if e.logical_id == logical_id and e.subject != instance_id]


@dataclass(frozen=True, slots=True)
class Choice:
    """The next rung, why it and not a gentler one, and how long to wait for it (0: it is free now)."""

    rung: Rung
    reason: str
    wait_s: int = 0
    guard: str | None = None


def next_rung(
    ladder: Sequence[Rung],
    attempts: Sequence[Attempt],
    history: History,
    policy: Policy,
    instance_id: str,
    logical_id: str | None,
    now: datetime,
    *,
    incident_id: str,
    available: frozenset[Rung] = HYPERPOD_RUNGS,
    tries: int = 1,
) -> Choice:
    """The gentlest rung that is left.

    A rung is used up after `tries` attempts of this incident. A rung used on this node for another incident within
    its cooldown did not last: a gentle one is passed over for the next, one that loses the instance is waited for.
    A spent budget never leads to a harder rung: people decide then.
    """
    passed: list[str] = []
    climbed = -1
    for attempt in attempts:
        if attempt.result not in _NO_TRY and attempt.rung in ladder and _tried(attempts, attempt.rung) >= tries:
            climbed = max(climbed, attempt.rung.height)
    for rung in ladder:
        if rung is Rung.NONE:
            continue
        if rung is Rung.HUMAN:
            break
        if rung.height <= climbed:
            tried = _tried(attempts, rung) > 0
            passed.append(
                f"{rung.in_words} {'was tried and did not help' if tried else 'is gentler than what was tried'}"
            )
            continue
        if rung not in available:
            passed.append(f"{rung.in_words} needs a controller agent that can do it")
            continue
        budget = policy.budget(rung)
        if len(history.of_kind(rung.value, now - DAY)) >= budget.per_day:
            why = f"the day's budget of {budget.per_day} x {rung.in_words} is used up; nothing harder is done instead"
            return Choice(Rung.HUMAN, _because(passed, why), guard="budget")
        left = _cooldown(history, rung, instance_id, logical_id, incident_id, budget.cooldown_s, now)
        if left and not rung.destructive:
            passed.append(
                f"{rung.in_words} was done to this node less than {budget.cooldown_s // 60} min ago and did not last"
            )
            continue
        why = f"{rung.in_words} is the next rung"
        if left:
            return Choice(rung, _because(passed, f"{why}, but this node had it a short while ago"), left, "cooldown")
        return Choice(rung, _because(passed, why))
    return Choice(Rung.HUMAN, _because(passed, "the ladder ends here: people must look"))


def _tried(attempts: Sequence[Attempt], rung: Rung) -> int:
    return sum(attempt.rung is rung and attempt.result not in _NO_TRY for attempt in attempts)


def _cooldown(
    history: History,
    rung: Rung,
    instance_id: str,
    logical_id: str | None,
    incident_id: str,
    cooldown_s: int,
    now: datetime,
) -> int:
    """Seconds until `rung` may be used on the node again; this incident's own attempts are counted elsewhere."""
    ends = [
        entry.claimed_at + timedelta(seconds=cooldown_s)
        for entry in history.of_node(instance_id, logical_id)
        if entry.kind == rung.value and entry.incident_id != incident_id
    ]
    return max(0, round((max(ends) - now).total_seconds())) if ends else 0


def _because(passed: Sequence[str], why: str) -> str:
    return "; ".join((*passed, why))
