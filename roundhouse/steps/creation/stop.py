"""Stopping a ramp and rolling it back: cancel what is pending, delete what was not verified. Ports only.

Deletions name nodes as read just now, are claimed in the ledger, and never touch a node of a verified stage, a group
without a discount, or storage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.build.cost import ask_timeout_s, excess_usd_per_hour
from roundhouse.build.legacy import BUSY
from roundhouse.build.records import Run
from roundhouse.build.spec import ClusterSpec, DiscountKind, GroupSpec
from roundhouse.build.staging import PASSED
from roundhouse.contracts.ledger import LedgerEntry, LedgerState, action_id
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import AwsFailure, ConditionFailed, Conflict, NotFound, Refused
from roundhouse.line.state import Cluster, Node, NodeStatus
from roundhouse.ports import BatchAnswer
from roundhouse.steps import words
from roundhouse.steps.creation import own
from roundhouse.steps.creation.site import Works
from roundhouse.steps.legacy.scaling import Busy

DELETE_LIMIT = 50  # ids of one BatchDeleteClusterNodes call
DELETE_TRIES = 30  # of one node, further and further apart
CANCELS_WITHIN = timedelta(minutes=30)  # what is in flight for longer than that does not keep people from being asked
KEPT = {NodeStatus.RUNNING, NodeStatus.SHUTTING_DOWN, NodeStatus.SYSTEM_UPDATING, NodeStatus.DEEP_HEALTH_CHECK}


def stop_ramp(run_id: str, reason: dict[str, Any], works: Works) -> dict[str, Any]:
    """Cancel every node that is not Running yet, until target equals what runs, then say what it costs.

    Status `wait` while something is still in flight, else the reason's own (`lost`, `unknown`, `gave_up`), with
    `approval_s`: how long people may take before silence rolls back, bounded by what the dollar cap still allows. What
    cannot be cancelled for `CANCELS_WITHIN` no longer keeps people from being asked, and is counted as if it ran.
    """
    spec, now = works.spec, works.now
    run = works.owned(run_id)
    cluster = works.made_by(run)
    group = spec.group(str(reason["group"]))
    began = datetime.fromisoformat(str(reason.get("stopping_since") or now.isoformat()))
    result = {**reason, "wait_s": spec.waits.poll_s, "stopping_since": began.isoformat()}
    in_flight = 0
    if cluster is not None and not cluster.continuous and cluster.status in BUSY:
        # All or nothing: nothing can be cancelled, and what HyperPod has begun ends by itself.
        return {**result, "status": "wait", "then": reason.get("then", reason["status"])}
    if cluster is not None:
        # A legacy cluster launches nothing between two updates: what is Pending there is repaired by somebody.
        launching = cluster.nodes if cluster.continuous else ()
        pending = [n for n in launching if n.group == group.name and n.status not in KEPT]
        if pending:
            works.update(run_id, lambda r: replace(r, cancellations=r.cancellations + 1))
            _delete(pending, "cancelled", run, cluster, works)
        in_flight = max(0, cluster.groups[group.name].target - cluster.running(group.name))
        if (pending or in_flight) and now - began < CANCELS_WITHIN:
            return {**result, "status": "wait", "then": reason.get("then", reason["status"])}
    status = reason.get("then", reason["status"])
    running = cluster.running(group.name) if cluster else 0
    unverified = _unverified(run, cluster, group)
    excess = excess_usd_per_hour(group, len(unverified) + in_flight)
    spent = _spent(run, group, unverified, now)
    timeout = ask_timeout_s(spec, excess if status != "gave_up" else 0.0, spent)
    works.update(run_id, lambda r: own.at(r, now, running, f"ramp stopped: {reason['reason']}"))
    why = "gave up" if status == "gave_up" else f"discount {reason.get('verdict', status)}"
    works.outbox.tell(
        words.run_notice(
            run,
            NoticeKind.RUN_STOPPED,
            f"stopped-{group.name}-{reason.get('stage')}-{status}",
            f"Ramp of {spec.cluster} stopped: {why}",
            str(reason["reason"]),
            {
                "Running": f"{running} of {group.count} {group.instance_type}",
                "Excess": f"up to {excess:,.2f} USD an hour above the contract, {spent:,.2f} USD so far",
                "Pending nodes": f"{in_flight} could not be cancelled yet" if in_flight else "cancelled",
            },
        )
    )
    return {**result, "status": status, "running": running, "excess_usd_per_hour": excess, "approval_s": timeout}


def _unverified(run: Run, cluster: Cluster | None, group: GroupSpec) -> list[Node]:
    """Running nodes of the group whose discount was never verified."""
    nodes = cluster.nodes if cluster else ()
    running = [n for n in nodes if n.group == group.name and n.status is NodeStatus.RUNNING]
    return [n for n in running if n.instance_id not in run.proven]


def _spent(run: Run, group: GroupSpec, nodes: Sequence[Node], now: datetime) -> float:
    """USD paid above the contract for these nodes so far, if all of them are billed on demand."""
    stages = [record.started_at for record in run.stages if record.group == group.name]
    since = max(stages, default=run.started_at)
    hours = sum(max(0.0, (now - (node.launched_at or since)) / timedelta(hours=1)) for node in nodes)
    return excess_usd_per_hour(group, 1) * hours


def roll_back(run_id: str, why: Mapping[str, Any], works: Works) -> dict[str, Any]:
    """Delete the unverified nodes of discounted groups; the whole cluster when no stage was ever verified.

    Nodes that stood when people accepted their price stay too. Status `wait` until the others are gone from live state,
    then `rolled_back`. File systems are never in its path. `why` is what led here: people's answer, this step's own
    last one, or the plan to discard a creation that HyperPod undid (status `gave_up` when that cluster is gone).
    """
    spec = works.spec
    run = works.owned(run_id)
    cluster = works.made_by(run)
    discarded = str(why.get("discarded") or (why.get("reason") if why.get("status") == "discard" else "") or "")
    if discarded:
        return _discard(run, cluster, discarded, works)
    if cluster is not None and not run.proven and not _accepted(run):
        if cluster.status != "Deleting":
            try:
                _delete_cluster(run, cluster, works)
            except Conflict as busy:
                return {"status": "wait", "wait_s": spec.waits.poll_s, "reason": str(busy)}
        return {"status": "wait", "wait_s": spec.waits.poll_s, "reason": "the cluster is being deleted"}
    if cluster is not None:
        doomed = _unproven(run, cluster, spec)
        if doomed:
            deletable = [n for n in doomed if n.status is not NodeStatus.SHUTTING_DOWN]
            held = works.scaler().settle(run_id) if deletable and not cluster.continuous else None
            if isinstance(held, Busy):  # BatchDelete is refused meanwhile, and a stale count would undo it
                return {"status": "wait", "wait_s": spec.waits.poll_s, "reason": held.reason}
            if deletable:
                works.update(run_id, lambda r: replace(r, cancellations=r.cancellations + 1))
                _delete(deletable, "rolled back", run, cluster, works)
            if held is not None:
                works.scaler().release(held)
            return {"status": "wait", "wait_s": spec.waits.poll_s, "reason": f"{len(doomed)} nodes are going"}

    def write(current: Run) -> Run:
        kept = tuple(r for r in current.stages if r.verdict in PASSED)
        return replace(current, stages=kept, sightings=(), capacity=None)

    works.update(run_id, write)
    left = f"{_workers_left(spec, cluster)} workers stay" if cluster is not None else "the cluster is gone"
    works.outbox.tell(
        words.run_notice(
            run,
            NoticeKind.RUN_PROGRESS,
            "rolled-back",
            f"Rolled back: {left}",
            "Reserved capacity stays billed until its contract ends, used or not: ask the account team. "
            "File systems were not touched.",
        )
    )
    return {"status": "rolled_back", "reason": left}


def _discard(run: Run, cluster: Cluster | None, reason: str, works: Works) -> dict[str, Any]:
    """Delete a cluster whose creation HyperPod has undone: its name is all that is left of it."""
    spec = works.spec
    carried = {"status": "wait", "wait_s": spec.waits.poll_s, "discarded": reason, "reason": reason}
    if cluster is not None and cluster.status == "Deleting":
        return carried
    if cluster is not None:
        if cluster.status != "Failed" or cluster.nodes:
            left = f"{reason}; it is {cluster.status} now and was left alone"
            return {"status": "gave_up", "reason": left}
        try:
            _delete_cluster(run, cluster, works)
        except Conflict as busy:
            return {**carried, "reason": str(busy)}
        return carried
    works.update(run.run_id, lambda r: replace(r, stages=(), sightings=(), capacity=None))
    title = "The creation failed and HyperPod undid it; the empty cluster was deleted"
    works.outbox.tell(words.run_notice(run, NoticeKind.RUN_PROGRESS, "discarded", title, reason))
    return {"status": "gave_up", "reason": f"{reason}; the empty cluster was deleted"}


def _workers_left(spec: ClusterSpec, cluster: Cluster) -> int:
    """Running nodes of the groups that have a discount."""
    return sum(cluster.running(group.name) for group in spec.groups if group.discount.kind is not DiscountKind.NONE)


def _accepted(run: Run) -> dict[str, datetime]:
    """Group → when its newest stage was Running whose price people have accepted."""
    found = [(r.running_at, r.group) for r in run.stages if r.verdict == "ACCEPTED" and r.running_at is not None]
    return {group: at for at, group in sorted(found)}


def _unproven(run: Run, cluster: Cluster, spec: ClusterSpec) -> list[Node]:
    discounted = {g.name for g in spec.groups if g.discount.kind is not DiscountKind.NONE}
    proven, accepted = set(run.proven), _accepted(run)

    def stays(node: Node) -> bool:
        at = accepted.get(node.group)
        return node.instance_id in proven or bool(at and node.launched_at and node.launched_at <= at)

    return [n for n in cluster.nodes if n.group in discounted and not stays(n)]


def _delete(nodes: Sequence[Node], why: str, run: Run, cluster: Cluster, works: Works) -> None:
    """Delete `nodes`, at most 50 a call, each claimed first. What HyperPod refuses is tried again at the next look."""
    claimed = [(node, entry) for node in nodes if (entry := _claim_node(node, why, run, cluster, works)) is not None]
    for start in range(0, len(claimed), DELETE_LIMIT):
        chunk = claimed[start : start + DELETE_LIMIT]
        instances = [node.instance_id for node, _ in chunk if node.instance_id]
        logical = [node.logical_id for node, _ in chunk if not node.instance_id and node.logical_id]
        try:
            answer = works.writer.delete_nodes(works.spec.cluster, instances, logical)
        except NotFound:
            answer = BatchAnswer((), {})
        except Conflict as busy:
            answer = BatchAnswer((), dict.fromkeys((*instances, *logical), ("Conflict", str(busy))))
        except AwsFailure as failure:
            for _, entry in chunk:
                works.ledger.put(
                    replace(entry, state=LedgerState.UNKNOWN, updated_at=works.now, detail=str(failure)[:500])
                )
            raise
        for _, entry in chunk:
            refused = answer.failed.get(entry.subject)
            state = LedgerState.FAILED if refused else LedgerState.CALLED
            detail = f"{refused[0]}: {refused[1]}" if refused else why
            works.ledger.put(replace(entry, state=state, updated_at=works.now, detail=detail[:500]))


def _claim_node(node: Node, why: str, run: Run, cluster: Cluster, works: Works) -> LedgerEntry | None:
    """A claim for deleting `node`; None while an earlier call for this very node may still work, or was refused only
    just now. Raises Refused when it cannot be deleted at all: people must look, since it costs money.
    """
    subject = node.instance_id or node.logical_id
    if subject is None:
        return None
    for attempt in range(1, DELETE_TRIES + 1):
        identity = action_id(cluster.arn, "delete_nodes", subject, attempt)
        known = works.ledger.get(identity)
        if known is None:
            entry = LedgerEntry(
                action_id=identity,
                cluster=works.spec.cluster,
                kind="delete_nodes",
                subject=subject,
                incident_id=None,
                state=LedgerState.CLAIMED,
                claimed_at=works.now,
                updated_at=works.now,
                group=node.group,
                logical_id=node.logical_id,
                detail=f"{why} by run {run.run_id}",
            )
            try:
                return works.ledger.put(entry)
            except ConditionFailed:
                return None
        if known.state is LedgerState.CLAIMED:
            return known
        pause = 10 if known.state is LedgerState.CALLED else attempt // 3
        if works.now - known.updated_at < timedelta(seconds=works.spec.waits.poll_s * pause):
            return None
    raise Refused(f"{subject} of {works.spec.cluster} could not be deleted in {DELETE_TRIES} tries; delete it by hand")


def _delete_cluster(run: Run, cluster: Cluster, works: Works) -> None:
    spec, now = works.spec, works.now
    identity = action_id(cluster.arn, "delete_cluster", spec.cluster)
    entry = works.ledger.get(identity) or works.ledger.put(
        LedgerEntry(
            action_id=identity,
            cluster=spec.cluster,
            kind="delete_cluster",
            subject=spec.cluster,
            incident_id=None,
            state=LedgerState.CLAIMED,
            claimed_at=now,
            updated_at=now,
            detail=f"rolled back by run {run.run_id}: no stage was ever verified",
        )
    )
    with suppress(NotFound):
        works.writer.delete_cluster(cluster.arn)  # by ARN: the name may have come to mean another cluster
    works.ledger.put(replace(entry, state=LedgerState.CALLED, updated_at=now))
