"""One look at the throw-away cluster: does it still run, and how did its scripts end. Ports only; changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.build.rehearsal import Judgement, Rehearsal, Result, judge
from roundhouse.build.scripts import differences
from roundhouse.build.spec import ClusterSpec
from roundhouse.errors import InvalidRequest, NotFound, TakenOver
from roundhouse.line.state import Cluster
from roundhouse.ports import ClusterEvent, ClusterReader, Ledger, RehearsalStore, Surroundings
from roundhouse.steps.look import read
from roundhouse.steps.rehearsal import claims


def owned(rehearsals: RehearsalStore, rehearsal_id: str) -> Rehearsal:
    """The rehearsal under way, if it is that one. Raises TakenOver when another has taken its place."""
    newest = rehearsals.newest()
    if newest is None or newest.rehearsal_id != rehearsal_id:
        by = newest.rehearsal_id if newest else "nobody"
        raise TakenOver(f"rehearsal {rehearsal_id} is not the newest one any more ({by} is): stopping")
    return newest


def look(
    rehearsal_id: str,
    *,
    reader: ClusterReader,
    surroundings: Surroundings,
    rehearsals: RehearsalStore,
    ledger: Ledger,
    spec: ClusterSpec,
    now: datetime,
) -> dict[str, Any]:
    """`{status: wait | over, wait_s, result, reason}`. A result once written stands.

    A pass counts only if the files are still those that the digest was made of: HyperPod reads them on its own, some
    time after.
    """
    rehearsal = owned(rehearsals, rehearsal_id)
    if rehearsal.result is None:
        cluster = read(reader, rehearsal.cluster)
        if cluster is not None:
            claims.check_ours(cluster, rehearsal_id, reader=reader, ledger=ledger, spec=spec)
        found = _judged(rehearsal, cluster, reader=reader, ledger=ledger, spec=spec, now=now)
        if found.result is Result.PASSED:
            found = _unchanged(found, rehearsal, surroundings)
        rehearsal = rehearsals.put(
            replace(
                rehearsal,
                looked_at=now,
                result=found.result,
                reason=found.reason,
                cluster_arn=cluster.arn if cluster else rehearsal.cluster_arn,
                log_stream=_stream(cluster, found) or rehearsal.log_stream,
            )
        )
    result = rehearsal.result.value if rehearsal.result else None
    return {
        "status": "over" if result else "wait",
        "wait_s": spec.waits.poll_s,
        "result": result,
        "reason": rehearsal.reason,
    }


def _judged(
    rehearsal: Rehearsal,
    cluster: Cluster | None,
    *,
    reader: ClusterReader,
    ledger: Ledger,
    spec: ClusterSpec,
    now: datetime,
) -> Judgement:
    if cluster is None:
        entry = claims.known(ledger, rehearsal.rehearsal_id, claims.CREATE, rehearsal.cluster)
        if entry is not None and now - entry.updated_at > claims.APPEARS_WITHIN:
            return Judgement(Result.INCONCLUSIVE, "the throw-away cluster is gone: somebody deleted it")
        return judge(rehearsal, None, (), now, spec.rehearsal.timeout_s)
    return judge(rehearsal, cluster, _events(reader, rehearsal), now, spec.rehearsal.timeout_s)


def _events(reader: ClusterReader, rehearsal: Rehearsal) -> Sequence[ClusterEvent] | None:
    """The cluster's events; None where the service keeps none: it refuses to list those of a legacy cluster."""
    try:
        return reader.events(rehearsal.cluster, rehearsal.started_at - timedelta(minutes=1))
    except InvalidRequest:
        return None
    except NotFound:
        return ()


def _unchanged(found: Judgement, rehearsal: Rehearsal, surroundings: Surroundings) -> Judgement:
    changed = differences(rehearsal.files, tuple(surroundings.lifecycle_files(rehearsal.scripts.s3_uri)))
    if not changed:
        return found
    return replace(
        found, result=Result.INCONCLUSIVE, reason=f"the files were changed while they were rehearsed: {changed}"
    )


def _stream(cluster: Cluster | None, found: Judgement) -> str:
    """The log stream of the scripts' output."""
    node = next(iter(cluster.nodes), None) if cluster else None
    instance = found.instance_id if found.instance_id and found.instance_id.startswith("i-") else None
    instance = instance or (node.instance_id if node else None)
    group = node.group if node else next(iter(cluster.groups), "") if cluster else ""
    return f"LifecycleConfig/{group}/{instance}" if instance and group else ""
