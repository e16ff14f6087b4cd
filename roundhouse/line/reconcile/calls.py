"""The ledger against incidents and live state: calls that one record has lost, and claims without an end. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from roundhouse.contracts.ledger import LedgerEntry, LedgerState
from roundhouse.line.action import SHOWS_EFFECT_S, Effect, judge_lost
from roundhouse.line.incident import IncidentState
from roundhouse.line.ladder import HYPERPOD_RUNGS, Rung
from roundhouse.line.recall import forgotten, lost_entry, recalled
from roundhouse.line.reconcile.facts import LAG, Difference, Facts, Kind, Remedy
from roundhouse.line.state import NodeStatus

_REPAIRS = {rung.value for rung in HYPERPOD_RUNGS}
_ENDED = {LedgerState.CONFIRMED, LedgerState.FAILED}
ADDITION = "add_nodes"


def forgotten_calls(facts: Facts) -> Iterator[Difference]:
    """Calls that the ledger knows and an open incident does not: the incidents were set back, or a write was lost."""
    for incident in facts.open:
        settled = [entry for entry in facts.ledger if facts.older(entry.updated_at, LAG)]
        if recalled(incident, settled, facts.live, facts.now, SHOWS_EFFECT_S) is incident:
            continue
        missing = forgotten(incident, settled, facts.live, facts.now, SHOWS_EFFECT_S)
        named = ", ".join(f"{e.kind} of {e.subject} at {e.claimed_at:%H:%M:%S} UTC" for e in missing)
        words = f"{incident.incident_id} does not know of {named or 'the node that was added for it'}"
        words += ": the call is watched to its end, not made again"
        yield Difference(Kind.FORGOTTEN_CALL, incident.incident_id, words, Remedy.REMEMBER)


def lost_entries(facts: Facts) -> Iterator[Difference]:
    """Calls that an open incident knows and the ledger does not: the ledger was set back."""
    for incident in facts.open:
        entry = lost_entry(incident, facts.ledger)
        if entry is not None and facts.older(entry.claimed_at, LAG):
            words = f"{incident.incident_id} has called {entry.kind} of {entry.subject}, and the ledger has lost it"
            yield Difference(Kind.LOST_ENTRY, incident.incident_id, words, Remedy.ENTER)


def open_entries(facts: Facts) -> Iterator[Difference]:
    """Claims and calls whose incident has ended, or is not on record: live state says how they ended."""
    for entry in facts.ledger:
        if entry.state in _ENDED or entry.incident_id is None or not facts.older(entry.updated_at, LAG):
            continue
        incident = facts.incident(entry.incident_id)
        if incident is None or incident.state is IncidentState.CLOSED:
            found = _repair(entry, facts) if entry.kind in _REPAIRS else _addition(entry, facts)
            if found is not None:
                yield found


def _repair(entry: LedgerEntry, facts: Facts) -> Difference | None:
    effect, why = judge_lost(entry, facts.live, facts.now, SHOWS_EFFECT_S)
    match effect:
        case Effect.TOOK:
            return Difference(Kind.OPEN_ENTRY, entry.action_id, why, Remedy.CONFIRM)
        case Effect.NOT_YET | Effect.UNKNOWN:
            return None
        case Effect.MAY_REPEAT if entry.state is not LedgerState.CALLED:
            return Difference(Kind.OPEN_ENTRY, entry.action_id, f"never came through: {why}", Remedy.FAIL)
        case Effect.MAY_REPEAT:
            return _unchanged(entry, facts, why)


def _unchanged(entry: LedgerEntry, facts: Facts, why: str) -> Difference:
    """HyperPod accepted it, and the same instance stands there. After a reboot that is as it should be."""
    node = facts.live.by_instance(entry.subject) if facts.live else None
    if entry.kind == Rung.REBOOT.value and node is not None and node.status is NodeStatus.RUNNING:
        return Difference(Kind.OPEN_ENTRY, entry.action_id, f"{entry.subject} is Running after it", Remedy.CONFIRM)
    words = f"{entry.kind} of {entry.subject} was accepted, and nothing came of it ({why})"
    return Difference(Kind.NO_EFFECT, entry.action_id, words, Remedy.FAIL)


def _addition(entry: LedgerEntry, facts: Facts) -> Difference | None:
    """A node added in the place of a deleted one: it stands there, or the group has its contract's count again."""
    if entry.kind != ADDITION or facts.live is None:
        return None
    node = facts.live.by_logical(entry.logical_id) if entry.logical_id else None
    if node is not None:
        words = f"{node.instance_id or node.logical_id} stands there ({node.status})"
        return Difference(Kind.OPEN_ENTRY, entry.action_id, words, Remedy.CONFIRM)
    group = facts.live.groups.get(entry.group or "")
    whole = group is not None and group.target >= facts.contract.get(group.name, group.target + 1)
    if group is not None and whole and facts.older(entry.updated_at, timedelta(seconds=SHOWS_EFFECT_S)):
        words = f"{group.name} has its contract's {group.target} nodes"
        return Difference(Kind.OPEN_ENTRY, entry.action_id, words, Remedy.CONFIRM)
    return None
