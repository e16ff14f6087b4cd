"""Restoring the count after a delete: the node is added again, once, and only if nobody else did. Ports only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from roundhouse.build.legacy import Next, retry
from roundhouse.build.spec import ClusterSpec, GroupSpec
from roundhouse.contracts.ledger import LedgerEntry, LedgerState, action_id
from roundhouse.contracts.names import log_group
from roundhouse.errors import AwsFailure, BadInput, ConditionFailed, Refused
from roundhouse.line import action
from roundhouse.line.heir import launched_since, only_one
from roundhouse.line.incident import Attempt, Incident
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Policy
from roundhouse.line.state import Cluster, Node
from roundhouse.ports import ClusterReader, ClusterWriter, IncidentStore, Ledger, ScaleLocks
from roundhouse.steps.legacy.scaling import Busy, Called, Enough, Order, Refusal, Scaler
from roundhouse.steps.repair.act import LEDGER_BACK
from roundhouse.steps.revise import revise

_OPEN = {LedgerState.CLAIMED, LedgerState.UNKNOWN}


@dataclass(frozen=True, kw_only=True)
class Restorer:
    """The ports of a restored count."""

    reader: ClusterReader
    writer: ClusterWriter
    incidents: IncidentStore
    ledger: Ledger
    locks: ScaleLocks
    spec: ClusterSpec
    policy: Policy
    now: datetime

    def step(self, incident_id: str) -> dict[str, Any]:
        """Add the deleted node again: the delete lowered the group's target.

        Nothing is added above the contract: somebody else may have restored the count, and the ledger then says
        CONFIRMED of an addition that we did not make. A lost answer is raised; the next try uses the same client token,
        so HyperPod replays its answer, unless the count is whole by then. A legacy cluster has no such token: see
        `_legacy`.
        """
        incident = revise(self.incidents, incident_id, lambda same: same)
        if not incident.attempts:
            return self._said("restored", "the record was set back to before the delete: nothing is added by it")
        attempt = incident.attempts[-1]
        if incident.group not in {each.name for each in self.spec.groups}:
            raise BadInput(
                f"group {incident.group!r} of {attempt.instance_id} is not in the environment: restore its count"
            )
        group = self.spec.group(incident.group or "")
        cluster = self.reader.cluster(self.spec.cluster)
        if cluster.continuous:
            return self._add(incident, attempt, group, cluster)
        return self._legacy(incident, attempt, group, cluster)

    def _add(self, incident: Incident, attempt: Attempt, group: GroupSpec, cluster: Cluster) -> dict[str, Any]:
        identity = _added_id(incident, attempt)
        known = self.ledger.get(identity)
        whole = cluster.groups[group.name].target >= group.count
        if known is None and whole:
            reason = f"{group.name} has its contract's {group.count} again: somebody else restored it"
            confirm(self.ledger, entry_of(self.ledger, incident, attempt), reason, self.now)
            self.ledger.put(self._record(identity, "add_nodes", incident, attempt, reason))
            return self._said("restored", reason)
        entry = known or self.ledger.put(_claimed(self._record(identity, "add_nodes", incident, attempt)))
        if entry.state in _OPEN and whole:
            return self._whole(entry, incident, attempt, cluster)
        token = f"rh-{sha256(identity.encode()).hexdigest()[:40]}"
        try:
            logical_ids = self.writer.add(self.spec.cluster, group.name, 1, token)
        except AwsFailure as failure:
            self.ledger.put(replace(entry, state=LedgerState.UNKNOWN, updated_at=self.now, detail=str(failure)[:500]))
            raise
        return self._stands(entry, incident, attempt, logical_ids[0])

    def _stands(self, entry: LedgerEntry, incident: Incident, attempt: Attempt, logical_id: str) -> dict[str, Any]:
        said = f"logical id {logical_id}"
        called = replace(entry, state=LedgerState.CALLED, updated_at=self.now, detail=said, logical_id=logical_id)
        self.ledger.put(called)
        why = f"deleted, and {logical_id} added in its place"
        confirm(self.ledger, entry_of(self.ledger, incident, attempt), why, self.now)
        revise(self.incidents, incident.incident_id, lambda i: replace(i, logical_id=logical_id))
        return self._said("restored", f"{logical_id} added")

    def _whole(self, entry: LedgerEntry, incident: Incident, attempt: Attempt, cluster: Cluster) -> dict[str, Any]:
        """Nobody knows whether our call came through, and the count is whole: by it, or by somebody else meanwhile, and
        then the call would add one too many. Whoever did: the one node that came since is the one to be proved."""
        entries = self.ledger.of_cluster(incident.cluster, incident.opened_at - LEDGER_BACK)
        others = {e.logical_id for e in entries if e.incident_id != incident.incident_id} | {None}
        fresh = [
            n for n in launched_since(cluster, incident.group, entry.claimed_at, None) if n.logical_id not in others
        ]
        node, why = only_one(fresh, attempt.instance_id)
        if node is not None and node.logical_id:
            return self._stands(entry, incident, attempt, node.logical_id)
        if not fresh:
            return self._said("busy", why)
        self.ledger.put(replace(entry, state=LedgerState.CONFIRMED, updated_at=self.now, detail=why[:500]))
        confirm(self.ledger, entry_of(self.ledger, incident, attempt), why, self.now)
        return self._said("restored", why)

    def _legacy(self, incident: Incident, attempt: Attempt, group: GroupSpec, cluster: Cluster) -> dict[str, Any]:
        """UpdateCluster to the live count and one, under the cluster's lock; called again only after the update before
        it is seen to have ended without effect, and as often as `build.legacy.retry` allows. Raises Refused when
        people must look.

        The count before the delete is in the ledger. When it is reached again by whomever, nothing is added.
        """
        scaler = Scaler(self.reader, self.writer, self.ledger, self.locks, self.spec, self.now)
        scope, subject = incident.incident_id, _subject(incident, attempt)
        if (done := _confirmed(scaler.tries(scope, subject))) is not None:
            scaler.give_back(incident.incident_id)
            return self._restored(incident, attempt, done.detail)
        held = scaler.settle(incident.incident_id)
        if isinstance(held, Busy):
            return self._said("busy", held.reason)
        tries = scaler.tries(scope, subject)
        if (done := _confirmed(tries)) is not None:
            scaler.release(held)
            return self._restored(incident, attempt, done.detail)
        after = retry(tries, self.spec.waits, self.now, log_group(cluster.name, cluster.arn))
        if after.next is not Next.GO:
            scaler.release(held)
            if after.next is Next.STOP:
                raise Refused(f"the count of {group.name} could not be restored: {after.reason}")
            return self._said("busy", after.reason)
        deleted = entry_of(self.ledger, incident, attempt)
        before = deleted.from_count if deleted is not None else None
        full = min(group.count, before) if before is not None else group.count
        order = Order(
            owner=incident.incident_id,
            scope=scope,
            subject=subject,
            group=group.name,
            wanted=lambda live: live + 1 if live < full else None,
            why=f"restores the count after deleting {attempt.instance_id}",
            incident_id=incident.incident_id,
        )
        made = scaler.order(order)
        match made:
            case Busy(reason):
                return self._said("busy", reason)
            case Refusal(reason):
                raise Refused(f"the count of {group.name} is not restored by itself: {reason}")
            case Enough(count):
                reason = f"{group.name} has {count} nodes again: somebody else restored it"
                identity = action_id(scope, "update_cluster", subject, len(tries) + 1)
                self.ledger.put(self._record(identity, "update_cluster", incident, attempt, reason))
                return self._restored(incident, attempt, reason)
            case Called(entry):
                return self._said("restoring", entry.detail)

    def _restored(self, incident: Incident, attempt: Attempt, reason: str) -> dict[str, Any]:
        confirm(self.ledger, entry_of(self.ledger, incident, attempt), reason, self.now)
        return self._said("restored", reason)

    def _said(self, status: str, reason: str) -> dict[str, Any]:
        return {"status": status, "reason": reason, "wait_s": self.policy.poll_s}

    def _record(
        self, identity: str, kind: str, incident: Incident, attempt: Attempt, restored: str = ""
    ) -> LedgerEntry:
        """The entry of an addition; with `restored`, of one that somebody else made."""
        return LedgerEntry(
            action_id=identity,
            cluster=incident.cluster,
            kind=kind,
            subject=_subject(incident, attempt),
            incident_id=incident.incident_id,
            state=LedgerState.CONFIRMED,
            claimed_at=self.now,
            updated_at=self.now,
            group=incident.group,
            detail=restored or f"restores the count after deleting {attempt.instance_id}",
        )


# What watching needs to know -------------------------------------------------------------------------------------
def addition_of(ledger: Ledger, incident: Incident, attempt: Attempt, cluster: Cluster) -> LedgerEntry | None:
    """The ledger's newest record of the node that is added for the deleted one; None for other rungs."""
    if attempt.rung is not Rung.DELETE_RESTORE:
        return None
    if cluster.continuous:
        return ledger.get(_added_id(incident, attempt))
    newest: LedgerEntry | None = None
    number = 1
    subject = _subject(incident, attempt)
    while entry := ledger.get(action_id(incident.incident_id, "update_cluster", subject, number)):
        newest, number = entry, number + 1
    return newest


def restore_wanted(incident: Incident, added: LedgerEntry | None, cluster: Cluster) -> bool:
    """True while the deleted node's place is still to be filled, or a legacy update to be seen to its end."""
    if not cluster.continuous:
        return added is None or added.state is not LedgerState.CONFIRMED
    stands = incident.logical_id is not None and cluster.by_logical(incident.logical_id) is not None
    return not stands and (added is None or added.state not in {LedgerState.CALLED, LedgerState.CONFIRMED})


def restored_elsewhere(added: LedgerEntry | None, cluster: Cluster) -> bool:
    """True when somebody else restored the count: the ledger says CONFIRMED of what we did not call."""
    if added is None or added.state is not LedgerState.CONFIRMED:
        return False
    ours = added.logical_id if cluster.continuous else added.to_count
    return ours is None


def restored_node(attempt: Attempt, added: LedgerEntry | None, cluster: Cluster) -> tuple[Node | None, str]:
    """The node that a legacy update brought for the deleted one: launched while we held the lock for it, so that no
    other update can have brought it."""
    if added is None or added.to_count is None:
        return None, f"{attempt.instance_id} is gone, and its count is not restored yet"
    if added.state is not LedgerState.CONFIRMED:
        return None, f"{added.group} is being updated to {added.to_count}"
    return only_one(
        launched_since(cluster, added.group, added.claimed_at, added.updated_at),
        attempt.instance_id,
    )


def entry_of(ledger: Ledger, incident: Incident, attempt: Attempt) -> LedgerEntry | None:
    """The ledger's record of the attempt, the newest one of that rung and instance."""
    prefix = action_id(incident.incident_id, attempt.rung.value, attempt.instance_id, 0).removesuffix("0")
    found = [
        e
        for e in ledger.of_cluster(incident.cluster, incident.opened_at - LEDGER_BACK)
        if e.action_id.startswith(prefix)
    ]
    return max(found, key=lambda e: e.claimed_at, default=None)


def confirm(ledger: Ledger, entry: LedgerEntry | None, why: str, now: datetime) -> None:
    """Live state shows the effect; an entry that has ended stays as it is."""
    if entry is None or entry.state in {LedgerState.CONFIRMED, LedgerState.FAILED}:
        return
    try:
        ledger.put(action.confirmed(entry, why, now))
    except ConditionFailed:
        return  # a twin of this look was faster


def _confirmed(tries: list[LedgerEntry]) -> LedgerEntry | None:
    return tries[-1] if tries and tries[-1].state is LedgerState.CONFIRMED else None


def _claimed(entry: LedgerEntry) -> LedgerEntry:
    return replace(entry, state=LedgerState.CLAIMED)


def _added_id(incident: Incident, attempt: Attempt) -> str:
    return action_id(incident.incident_id, "add_nodes", attempt.instance_id)


def _subject(incident: Incident, attempt: Attempt) -> str:
    return f"{incident.group}:{attempt.instance_id}"
