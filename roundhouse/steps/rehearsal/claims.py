"""The ledger's side of a rehearsal: what was claimed for which throw-away cluster. Ports only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from roundhouse.build.rehearsal import TAG, TAG_ID
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.ledger import LedgerEntry, LedgerState, action_id
from roundhouse.errors import ConditionFailed, Refused
from roundhouse.line.state import Cluster
from roundhouse.ports import ClusterReader, Ledger

CREATE, DELETE = "rehearse_create", "rehearse_delete"  # kinds of ledger entries; their subject is the cluster's name
APPEARS_WITHIN = timedelta(minutes=5)  # a cluster whose creation was called is listed by then


def known(ledger: Ledger, rehearsal_id: str, kind: str, name: str) -> LedgerEntry | None:
    """The entry of that rehearsal, if it was ever claimed."""
    return ledger.get(action_id(rehearsal_id, kind, name))


def claim(
    ledger: Ledger, rehearsal_id: str, kind: str, name: str, spec: ClusterSpec, now: datetime, detail: str = ""
) -> LedgerEntry:
    """The claimed entry, new or as it stands. It is listed under the environment's own cluster."""
    identity = action_id(rehearsal_id, kind, name)
    entry = LedgerEntry(
        action_id=identity,
        cluster=spec.cluster,
        kind=kind,
        subject=name,
        incident_id=None,
        state=LedgerState.CLAIMED,
        claimed_at=now,
        updated_at=now,
        detail=detail,
    )
    try:
        return ledger.put(entry)
    except ConditionFailed:
        standing = ledger.get(identity)
        if standing is None:
            raise
        return standing


def mark(ledger: Ledger, entry: LedgerEntry, state: LedgerState, now: datetime, detail: str) -> LedgerEntry:
    """Move the entry on; `detail` of a creation that was accepted is the cluster's ARN."""
    return ledger.put(replace(entry, state=state, updated_at=now, detail=detail[:500]))


def owner(reader: ClusterReader, cluster: Cluster, spec: ClusterSpec) -> str | None:
    """The rehearsal of this environment that a standing cluster says to be of, by its tags; None when of none."""
    tags = reader.tags(cluster.arn)
    return tags.get(TAG_ID) if tags.get(TAG) == spec.environment else None


def check_ours(
    cluster: Cluster, rehearsal_id: str, *, reader: ClusterReader, ledger: Ledger, spec: ClusterSpec
) -> LedgerEntry:
    """The claim that `cluster` was created under. Raises Refused unless name, ARN and tags are all those of the claim:
    what does not prove to be thrown away is never deleted."""
    entry = known(ledger, rehearsal_id, CREATE, cluster.name)
    if cluster.name == spec.cluster:
        raise Refused(f"{cluster.name} is the environment's own cluster: a rehearsal never touches it")
    if entry is None:
        raise Refused(f"rehearsal {rehearsal_id} never claimed a cluster called {cluster.name}: it is left alone")
    if entry.detail.startswith("arn:") and entry.detail != cluster.arn:
        made = f"rehearsal {rehearsal_id} made {entry.detail}"
        raise Refused(f"{cluster.name} is {cluster.arn}, {made}: it is left alone")
    if owner(reader, cluster, spec) != rehearsal_id:
        raise Refused(f"the tags of {cluster.arn} do not name rehearsal {rehearsal_id}: it is left alone")
    return entry
