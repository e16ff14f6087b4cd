"""Beginning a rehearsal: one at a time, the files' digest first, then a claimed CreateCluster. Ports only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from roundhouse.build.rehearsal import Rehearsal, cluster_name, rehearsal_spec
from roundhouse.build.scripts import digest, scripts_of
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.ledger import LedgerState
from roundhouse.errors import AlreadyRunning, AwsFailure, InUse, Refused, Throttled, Unavailable
from roundhouse.ports import ClusterReader, ClusterWriter, ControlStore, Ledger, Outbox, RehearsalStore, Surroundings
from roundhouse.steps.look import read
from roundhouse.steps.rehearsal import claims, telling

DONE: dict[str, Any] = {"status": "done"}


def begin(
    rehearsal_id: str,
    turn: int,
    by: str,
    *,
    reader: ClusterReader,
    writer: ClusterWriter,
    surroundings: Surroundings,
    rehearsals: RehearsalStore,
    ledger: Ledger,
    control: ControlStore,
    outbox: Outbox,
    spec: ClusterSpec,
    now: datetime,
) -> dict[str, Any]:
    """Begin the `turn`-th (from 0) of the cluster's different scripts: `{status, wait_s, …}`.

    Status `watch`: its throw-away cluster is on its way. `clear`: what another rehearsal (`rehearsal_id`, `cluster`)
    has left over stands in the way. `wait`: something has its name by now, look again. `done`: there are no further
    scripts. Raises AlreadyRunning while another rehearsal lives, Refused while people pause us or a cluster of that
    name is not ours, BadInput for scripts that cannot be.
    """
    if turn >= len(scripts_of(spec)):
        return DONE
    newest = rehearsals.newest()
    if newest is not None and newest.under_way and newest.rehearsal_id != rehearsal_id:
        if newest.abandoned(now):
            return _clear(newest.rehearsal_id, newest.cluster)
        since = f"{newest.started_at:%Y-%m-%d %H:%M} UTC"
        raise AlreadyRunning(f"rehearsal {newest.rehearsal_id} is under way since {since}: wait for its end")
    switch = control.pause()
    if switch is not None:
        raise Refused(f"paused by {switch.by} since {switch.since:%Y-%m-%d %H:%M} UTC: {switch.why}")
    if newest is not None and newest.under_way:
        rehearsal = newest  # this step's earlier try
    else:
        rehearsal = rehearsals.put(_fresh(rehearsal_id, turn, newest, surroundings, spec, now))
    outbox.tell(telling.started(rehearsal, by))
    return _create(rehearsal, reader=reader, writer=writer, rehearsals=rehearsals, ledger=ledger, spec=spec, now=now)


def _fresh(
    rehearsal_id: str,
    turn: int,
    newest: Rehearsal | None,
    surroundings: Surroundings,
    spec: ClusterSpec,
    now: datetime,
) -> Rehearsal:
    scripts = scripts_of(spec)[turn]
    files = tuple(surroundings.lifecycle_files(scripts.s3_uri))
    known = digest(scripts, files)
    return Rehearsal(
        environment=spec.environment,
        rehearsal_id=rehearsal_id,
        scripts=scripts,
        digest=known,
        files=files,
        cluster=cluster_name(spec.cluster, known),
        instance_type=spec.rehearsal.instance_type,
        started_at=now,
        looked_at=now,
        version=newest.version if newest else 0,
    )


def _create(
    rehearsal: Rehearsal,
    *,
    reader: ClusterReader,
    writer: ClusterWriter,
    rehearsals: RehearsalStore,
    ledger: Ledger,
    spec: ClusterSpec,
    now: datetime,
) -> dict[str, Any]:
    """CreateCluster, claimed first; a lost answer is settled by what stands under the name."""
    name, watch = rehearsal.cluster, {"status": "watch", "wait_s": spec.waits.poll_s}
    entry = claims.known(ledger, rehearsal.rehearsal_id, claims.CREATE, name)
    cluster = read(reader, name)
    if cluster is not None:
        of = claims.owner(reader, cluster, spec)
        if of is not None and of != rehearsal.rehearsal_id:
            return _clear(of, name)
        ours = claims.check_ours(cluster, rehearsal.rehearsal_id, reader=reader, ledger=ledger, spec=spec)
        if ours.state is not LedgerState.CONFIRMED:
            claims.mark(ledger, ours, LedgerState.CONFIRMED, now, cluster.arn)
        return watch
    if entry is not None and entry.state in {LedgerState.CALLED, LedgerState.CONFIRMED}:
        return watch  # created, and not listed yet
    throw_away = rehearsal_spec(spec, rehearsal)
    entry = entry or claims.claim(ledger, rehearsal.rehearsal_id, claims.CREATE, name, spec, now)
    try:
        arn = writer.create(throw_away, {throw_away.groups[0].name: 1})
    except InUse as taken:  # an earlier call of ours whose answer was lost, or somebody else's: the next look tells
        claims.mark(ledger, entry, LedgerState.UNKNOWN, now, str(taken))
        return {"status": "wait", "wait_s": spec.waits.poll_s}
    except (Throttled, Unavailable) as failure:
        claims.mark(ledger, entry, LedgerState.UNKNOWN, now, str(failure))
        raise
    except AwsFailure as failure:
        claims.mark(ledger, entry, LedgerState.FAILED, now, str(failure))
        raise
    claims.mark(ledger, entry, LedgerState.CALLED, now, arn)
    rehearsals.put(replace(rehearsal, cluster_arn=arn, looked_at=now))
    return watch


def _clear(rehearsal_id: str, cluster: str) -> dict[str, Any]:
    return {"status": "clear", "rehearsal_id": rehearsal_id, "cluster": cluster}
