"""Claims of a creation's calls in the ledger, and what became of them. Ports only."""

from __future__ import annotations

from dataclasses import replace

from roundhouse.contracts.ledger import LedgerEntry, LedgerState, action_id
from roundhouse.errors import ConditionFailed
from roundhouse.steps.creation.site import Site


def claim(
    site: Site, kind: str, subject: str, scope: str, count: int, detail: str, group: str | None = None
) -> LedgerEntry:
    """The claimed entry, new or (after a crash between claim and call) the one that stands already."""
    identity = action_id(scope, kind, subject)
    entry = LedgerEntry(
        action_id=identity,
        cluster=site.spec.cluster,
        kind=kind,
        subject=subject,
        incident_id=None,
        state=LedgerState.CLAIMED,
        claimed_at=site.now,
        updated_at=site.now,
        group=group,
        count=count,
        detail=detail,
    )
    try:
        return site.ledger.put(entry)
    except ConditionFailed:
        known = site.ledger.get(identity)
        if known is None:
            raise
        return known


def mark(site: Site, entry: LedgerEntry, state: LedgerState, detail: str) -> LedgerEntry:
    """Write down how far the call is."""
    return site.ledger.put(replace(entry, state=state, updated_at=site.now, detail=detail[:500]))
