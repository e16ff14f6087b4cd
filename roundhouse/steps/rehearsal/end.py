"""Ending a rehearsal: its throw-away cluster is deleted, always, and nothing else ever is. Ports only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.build.rehearsal import Rehearsal, Result
from roundhouse.build.scripts import scripts_of
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.ledger import LedgerState
from roundhouse.errors import AwsFailure, Conflict, NotFound, Refused
from roundhouse.ports import ClusterReader, ClusterWriter, Ledger, Outbox, RehearsalStore
from roundhouse.steps import words
from roundhouse.steps.look import read
from roundhouse.steps.rehearsal import claims, telling

DELETED_WITHIN = timedelta(hours=2)  # a cluster of one node that still stands then wants people
AGAIN_AFTER = timedelta(minutes=10)  # a delete that was accepted and shows nothing is called again
NO_REASON = "it ended without a result"


def end(
    rehearsal_id: str,
    turn: int,
    cause: object,
    cluster: str | None,
    *,
    reader: ClusterReader,
    writer: ClusterWriter,
    rehearsals: RehearsalStore,
    ledger: Ledger,
    outbox: Outbox,
    spec: ClusterSpec,
    now: datetime,
) -> dict[str, Any]:
    """Delete what the rehearsal made, then keep and tell its result: `{status: wait | gone, wait_s, result, reason}`.

    `cause` is what went wrong in a step before; without a result yet it makes the rehearsal INCONCLUSIVE. `cluster`
    names what an older rehearsal, of which no record is kept any more, has left over.
    """
    newest = rehearsals.newest()
    why = words.cause(cause) or NO_REASON
    shared: dict[str, Any] = {"reader": reader, "writer": writer, "ledger": ledger, "spec": spec, "now": now}
    if newest is None or not _is(newest, rehearsal_id, turn, spec):
        if cluster is not None:
            return _answer("gone" if clear(rehearsal_id, cluster, **shared) else "wait", spec, None, "left over")
        return _never_begun(rehearsal_id, turn, why, newest, rehearsals=rehearsals, outbox=outbox, spec=spec, now=now)
    rehearsal = newest
    if rehearsal.under_way:
        if rehearsal.result is None:
            rehearsal = replace(rehearsal, result=Result.INCONCLUSIVE, reason=why)
        rehearsal = rehearsals.put(replace(rehearsal, looked_at=now))
        try:
            gone = clear(rehearsal_id, rehearsal.cluster, **shared)
        except Refused as not_ours:
            outbox.tell(telling.not_ours(rehearsal, str(not_ours)))
            gone = True
        if not gone:
            _complain(rehearsal, ledger, outbox, now)
            return _answer("wait", spec, rehearsal.result, rehearsal.reason)
        ended = replace(rehearsal, ended_at=now)
        rehearsals.keep(ended)  # first: once it has ended, nobody comes back for it
        rehearsal = rehearsals.put(ended)
    outbox.tell(telling.ended(rehearsal))
    return _answer("gone", spec, rehearsal.result, rehearsal.reason)


def _is(newest: Rehearsal, rehearsal_id: str, turn: int, spec: ClusterSpec) -> bool:
    """True when the newest record is of this turn; an ended one may be of the turn before."""
    scripts = scripts_of(spec)
    of_turn = newest.under_way or newest.scripts == scripts[min(turn, len(scripts) - 1)]
    return newest.rehearsal_id == rehearsal_id and of_turn


def clear(
    rehearsal_id: str,
    name: str,
    *,
    reader: ClusterReader,
    writer: ClusterWriter,
    ledger: Ledger,
    spec: ClusterSpec,
    now: datetime,
) -> bool:
    """True when no cluster of that rehearsal stands any more; else one step towards it. Raises Refused when what stands
    under the name is not provably that rehearsal's."""
    made = claims.known(ledger, rehearsal_id, claims.CREATE, name)
    cluster = read(reader, name)
    if cluster is None:
        if made is None:
            return True
        called = made.state in {LedgerState.CLAIMED, LedgerState.UNKNOWN, LedgerState.CALLED}
        if called and now - made.updated_at < claims.APPEARS_WITHIN:
            return False  # the call may still take effect
        deleted = claims.claim(ledger, rehearsal_id, claims.DELETE, name, spec, now)
        if deleted.state is not LedgerState.CONFIRMED:
            claims.mark(ledger, deleted, LedgerState.CONFIRMED, now, "it is gone")
        return True
    made = claims.check_ours(cluster, rehearsal_id, reader=reader, ledger=ledger, spec=spec)
    if made.state is not LedgerState.CONFIRMED or made.detail != cluster.arn:
        claims.mark(ledger, made, LedgerState.CONFIRMED, now, cluster.arn)
    if cluster.status == "Deleting":
        return False
    deleted = claims.claim(ledger, rehearsal_id, claims.DELETE, name, spec, now)
    if deleted.state is LedgerState.CALLED and now - deleted.updated_at < AGAIN_AFTER:
        return False
    try:
        writer.delete_cluster(cluster.arn)  # by ARN: a name may come to mean another cluster
    except NotFound:
        return False  # the next look confirms it
    except Conflict:
        return False  # busy: later
    except AwsFailure as failure:
        claims.mark(ledger, deleted, LedgerState.UNKNOWN, now, str(failure))
        raise
    claims.mark(ledger, deleted, LedgerState.CALLED, now, cluster.arn)
    return False


def _never_begun(
    rehearsal_id: str,
    turn: int,
    why: str,
    newest: Rehearsal | None,
    *,
    rehearsals: RehearsalStore,
    outbox: Outbox,
    spec: ClusterSpec,
    now: datetime,
) -> dict[str, Any]:
    """It made nothing. Its end is put down, unless the record belongs to one that lives."""
    scripts = scripts_of(spec)
    record = Rehearsal(
        environment=spec.environment,
        rehearsal_id=rehearsal_id,
        scripts=scripts[min(turn, len(scripts) - 1)],
        digest="",
        files=(),
        cluster="",
        instance_type=spec.rehearsal.instance_type,
        started_at=now,
        looked_at=now,
        result=Result.INCONCLUSIVE,
        reason=why,
        ended_at=now,
        version=newest.version if newest else 0,
    )
    if newest is None or not newest.under_way:
        rehearsals.put(record)
    outbox.tell(telling.ended(record))
    return _answer("gone", spec, record.result, why)


def _complain(rehearsal: Rehearsal, ledger: Ledger, outbox: Outbox, now: datetime) -> None:
    """Say once a day that the cluster still stands, long after it was to be deleted."""
    deleted = claims.known(ledger, rehearsal.rehearsal_id, claims.DELETE, rehearsal.cluster)
    if deleted is not None and now - deleted.claimed_at > DELETED_WITHIN:
        outbox.tell(telling.left_over(rehearsal.cluster, rehearsal.rehearsal_id, deleted.claimed_at, now))


def _answer(status: str, spec: ClusterSpec, result: Result | None, reason: str) -> dict[str, Any]:
    return {
        "status": status,
        "wait_s": spec.waits.poll_s,
        "result": result.value if result else None,
        "reason": reason,
    }
