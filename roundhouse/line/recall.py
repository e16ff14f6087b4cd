"""Recall: what one record knows of our calls and another has lost: a table was restored, a write went missing. Pure.

The ledger and the incidents are two tables, and each may be set back by hours. Whichever of them still knows that a
node was touched is believed: nothing is done to it a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from roundhouse.contracts.ledger import LedgerEntry, LedgerState, action_id
from roundhouse.line.action import REPAIR, Effect, judge_lost
from roundhouse.line.drains import DRAIN
from roundhouse.line.incident import Attempt, Incident, IncidentState, begin_step, end_step
from roundhouse.line.ladder import HYPERPOD_RUNGS, Rung
from roundhouse.line.state import Cluster

_RUNGS = {rung.value: rung for rung in HYPERPOD_RUNGS}
_MADE = {LedgerState.CALLED, LedgerState.CONFIRMED}
_MAY_BE_MADE = {LedgerState.CLAIMED, LedgerState.UNKNOWN}
_MOST = 15  # an incident keeps its newest attempts alone: a long list is no sign of a loss


def forgotten(
    incident: Incident, entries: Iterable[LedgerEntry], cluster: Cluster | None, now: datetime, after_s: int
) -> list[LedgerEntry]:
    """Calls for this incident that the ledger knows and the incident does not, oldest first.

    A claim whose answer is not known counts once live state shows its effect. Entries from before the incident was
    opened belong to an earlier one of the same name, which a restored table has lost.
    """
    if incident.state is IncidentState.CLOSED or len(incident.attempts) >= _MOST:
        return []
    known: dict[tuple[Rung, str], int] = {}
    for attempt in _ours(incident):
        known[attempt.rung, attempt.instance_id] = known.get((attempt.rung, attempt.instance_id), 0) + 1
    missing: list[LedgerEntry] = []
    for entry in sorted(entries, key=lambda e: e.claimed_at):
        mine = entry.incident_id == incident.incident_id and entry.claimed_at >= incident.opened_at
        if not mine or entry.kind not in _RUNGS or not _took(entry, cluster, now, after_s):
            continue
        key = (_RUNGS[entry.kind], entry.subject)
        if known.get(key, 0):
            known[key] -= 1
        else:
            missing.append(entry)
    return missing


def recalled(
    incident: Incident, entries: Sequence[LedgerEntry], cluster: Cluster | None, now: datetime, after_s: int
) -> Incident:
    """The incident with the calls that it had lost. The newest is watched and proved from here; earlier ones are
    over. The very same object when nothing is missing."""
    missing = forgotten(incident, entries, cluster, now, after_s)
    if missing:
        lost = [Attempt(_RUNGS[e.kind], e.subject, e.claimed_at, "called") for e in missing]
        attempts = sorted((*incident.attempts, *lost), key=lambda a: a.at)
        over = [replace(a, result="failed") if a.result == "called" else a for a in attempts[:-1]]
        state = IncidentState.ACTING if attempts[-1].result == "called" else incident.state
        if attempts[-1] in lost:
            incident = _with_repair(incident, attempts[-1])
        incident = replace(incident, attempts=(*over, attempts[-1]), state=state)
    heir = _added(incident, entries)
    return replace(incident, logical_id=heir) if heir not in {None, incident.logical_id} else incident


def _with_repair(incident: Incident, lost: Attempt) -> Incident:
    """The steps as the call itself would have left them: the drain is over, and the repair runs since the claim."""
    drains = [step.started_at for step in incident.steps if step.name == DRAIN and step.ended_at is None]
    if drains:
        incident = end_step(incident, DRAIN, max(drains[-1], lost.at))
    what = f"{lost.rung.in_words} {lost.instance_id}: called, as the ledger and live state say"
    return begin_step(incident, REPAIR, lost.at, what)


def _added(incident: Incident, entries: Sequence[LedgerEntry]) -> str | None:
    """Logical id of the node that was added in the place of the one that the newest attempt has deleted."""
    last = incident.attempts[-1] if incident.attempts else None
    if incident.state is IncidentState.CLOSED or last is None or last.rung is not Rung.DELETE_RESTORE:
        return None
    mine = [e for e in entries if e.incident_id == incident.incident_id and e.kind == "add_nodes"]
    return next((e.logical_id for e in mine if e.logical_id and e.subject.endswith(f":{last.instance_id}")), None)


def lost_entry(incident: Incident, entries: Iterable[LedgerEntry]) -> LedgerEntry | None:
    """The ledger's entry of the call that is under way for the incident, made anew where the ledger has none."""
    last = incident.attempts[-1] if incident.attempts else None
    if incident.state is IncidentState.CLOSED or last is None or last.result != "called":
        return None
    mine = [
        e
        for e in entries
        if (e.incident_id, e.kind, e.subject) == (incident.incident_id, last.rung.value, last.instance_id)
    ]
    made = sum(a.rung is last.rung and a.instance_id == last.instance_id for a in _ours(incident))
    if sum(e.state is not LedgerState.FAILED for e in mine) >= made:
        return None
    return LedgerEntry(
        action_id=action_id(incident.incident_id, last.rung.value, last.instance_id, len(mine) + 1),
        cluster=incident.cluster,
        kind=last.rung.value,
        subject=last.instance_id,
        incident_id=incident.incident_id,
        state=LedgerState.CALLED,
        claimed_at=last.at,
        updated_at=last.at,
        group=incident.group,
        logical_id=incident.logical_id,
        detail="entered again: the incident knows this call, and the ledger had lost it",
    )


def _ours(incident: Incident) -> list[Attempt]:
    """The attempts that were calls of ours: where somebody else was at it, the ledger's entry has FAILED."""
    return [attempt for attempt in incident.attempts if attempt.result != "in_hand"]


def _took(entry: LedgerEntry, cluster: Cluster | None, now: datetime, after_s: int) -> bool:
    if entry.state in _MAY_BE_MADE:
        return judge_lost(entry, cluster, now, after_s)[0] is Effect.TOOK
    return entry.state in _MADE
