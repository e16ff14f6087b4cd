"""What rehearsals left over: found by ledger and tags, deleted, told. For executions that were stopped. Ports only."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.ledger import LedgerEntry, LedgerState
from roundhouse.errors import Conflict, Refused
from roundhouse.ports import ClusterReader, ClusterWriter, Ledger, Outbox, RehearsalStore
from roundhouse.steps.rehearsal import claims, telling
from roundhouse.steps.rehearsal.end import DELETED_WITHIN, clear, end

LOOK_BACK = timedelta(days=14)
ABANDONED = "its execution ended without saying why: stopped, timed out or failed"


def tidy(
    *,
    reader: ClusterReader,
    writer: ClusterWriter,
    rehearsals: RehearsalStore,
    ledger: Ledger,
    outbox: Outbox,
    spec: ClusterSpec,
    now: datetime,
) -> dict[str, Any]:
    """End an abandoned rehearsal and clear what any older one left: `{cleared, left}` with names of clusters.

    Raises Conflict, so that an alarm goes off, when something still stands long after it was to be deleted.
    """
    shared: dict[str, Any] = {"reader": reader, "writer": writer, "ledger": ledger, "spec": spec, "now": now}
    newest = rehearsals.newest()
    living = newest.rehearsal_id if newest is not None and newest.under_way else None
    cleared: list[str] = []
    left: list[str] = []
    if newest is not None and newest.abandoned(now):
        done = end(newest.rehearsal_id, 0, ABANDONED, None, rehearsals=rehearsals, outbox=outbox, **shared)
        (cleared if done["status"] == "gone" else left).append(newest.cluster)
    late: list[str] = []
    for entry in ledger.of_cluster(spec.cluster, now - LOOK_BACK):
        if entry.kind != claims.CREATE or entry.state is LedgerState.FAILED or _of(entry) == living:
            continue
        deleted = claims.known(ledger, _of(entry), claims.DELETE, entry.subject)
        if deleted is not None and deleted.state is LedgerState.CONFIRMED:
            continue
        try:
            gone = clear(_of(entry), entry.subject, **shared)
        except Refused:
            continue  # another cluster stands there now
        (cleared if gone else left).append(entry.subject)
        if not gone and now - entry.claimed_at > DELETED_WITHIN + timedelta(seconds=spec.rehearsal.timeout_s):
            late.append(entry.subject)
            outbox.tell(telling.left_over(entry.subject, _of(entry), entry.claimed_at, now))
    if late:
        raise Conflict(f"throw-away clusters of rehearsals still stand and cost money: {', '.join(late)}; delete them")
    return {"cleared": cleared, "left": left}


def _of(entry: LedgerEntry) -> str:
    """The rehearsal that an entry is of: the scope of its action id."""
    return entry.action_id.removesuffix(f"/{entry.kind}/{entry.subject}/1")
