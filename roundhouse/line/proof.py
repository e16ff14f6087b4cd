"""Proof: is a node that came back fit to serve? Pure. What was not seen is never a pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from roundhouse.line.event import Health, Source
from roundhouse.line.incident import Evidence
from roundhouse.line.slurm import parse_state
from roundhouse.line.state import Cluster, ClusterEvent, Node, NodeStatus


class Proof(StrEnum):
    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"  # something was not seen: people, never back in service
    WAIT = "wait"  # still coming, or not quiet for long enough


@dataclass(frozen=True, slots=True)
class Expected:
    """What must stand there: the node of `logical_id`, or `instance_id` itself where no logical id is known.

    `not_instance` is the instance that was to be replaced or deleted: finding it again is a failure.
    """

    logical_id: str | None
    instance_id: str | None
    not_instance: str | None = None


def judge(
    cluster: Cluster | None,
    expected: Expected,
    events: Sequence[ClusterEvent] | None,
    since: datetime,
    now: datetime,
    *,
    quiet_s: int,
    timeout_s: int,
) -> tuple[Proof, str]:
    """Pass only a node that is Running as expected, and quiet for `quiet_s` since `since`.

    `events` are HyperPod's since the repair was called (None: could not be read). `since` is when the node was first
    seen Running after its repair; a node that is not back `timeout_s` after it has failed.
    """
    if cluster is None or not cluster.nodes:
        return Proof.INCONCLUSIVE, "HyperPod could not be read: the node was not seen"
    if events is None:
        return Proof.INCONCLUSIVE, "HyperPod's events could not be read: a failure would not have been seen"
    if expected.logical_id:
        node = cluster.by_logical(expected.logical_id)
    elif expected.instance_id:
        node = cluster.by_instance(expected.instance_id)
    else:
        return Proof.INCONCLUSIVE, "neither logical id nor instance id of the node is known"
    if node is None or node.instance_id is None:
        if now - since > timedelta(seconds=timeout_s):
            return Proof.FAIL, f"no instance came up within {timeout_s // 60} min"
        return Proof.WAIT, "no instance stands there yet (between two attempts it is not listed)"
    if node.instance_id == expected.not_instance:
        return Proof.FAIL, f"{node.instance_id} is the very instance that was to go"
    if expected.instance_id and node.instance_id != expected.instance_id:
        return (
            Proof.INCONCLUSIVE,
            f"{node.instance_id} stands there, and not {expected.instance_id}: another node to test",
        )
    bad = [event for event in events if _about(event, node.instance_id, node.logical_id) and _speaks_against(event)]
    if bad:
        worst = max(bad, key=lambda event: event.at)
        return Proof.FAIL, f"{worst.at:%H:%M:%S} {worst.failure or worst.description}"
    return _standing(cluster, node, since, now, quiet_s=quiet_s, timeout_s=timeout_s)


def bad_news(said: Iterable[Evidence], since: datetime) -> Evidence | None:
    """Bad news of the node since, HyperPod's own first, unless good ones came after them: of the same source, or of
    HyperPod. News of its health come as messages, not in the lists."""
    news = [e for e in said if e.at >= since]
    good = [e for e in news if e.health == Health.HEALTHY]
    bad = sorted(
        (e for e in news if e.health == Health.UNHEALTHY), key=lambda e: (Source(e.source).trusted, e.at), reverse=True
    )
    return next((e for e in bad if not any(_outranks(other, e) for other in good)), None)


def _outranks(good: Evidence, bad: Evidence) -> bool:
    return good.at > bad.at and (good.source == bad.source or Source(good.source).trusted)


def _standing(
    cluster: Cluster, node: Node, since: datetime, now: datetime, *, quiet_s: int, timeout_s: int
) -> tuple[Proof, str]:
    missed = _missed_by_slurm(cluster, node)
    match node.status:
        case NodeStatus.RUNNING if missed:
            if now - since > timedelta(seconds=timeout_s):
                return Proof.FAIL, f"{node.instance_id} is Running, but {missed} after {timeout_s // 60} min"
            return Proof.WAIT, f"{node.instance_id} is Running, but {missed}"
        case NodeStatus.RUNNING:
            quiet = (now - since).total_seconds()
            if quiet < quiet_s:
                return (
                    Proof.WAIT,
                    f"{node.instance_id} is Running; {round(quiet_s - quiet)} s more of quiet to prove it",
                )
            return Proof.PASS, f"{node.instance_id} is Running and quiet for {round(quiet)} s"
        case NodeStatus.FAILURE:
            return Proof.FAIL, f"{node.instance_id} is in Failure: {node.message or 'no message'}"
        case NodeStatus.UNKNOWN | NodeStatus.NOT_FOUND:
            return Proof.INCONCLUSIVE, f"{node.instance_id} has a status that we do not know"
        case NodeStatus.PENDING | NodeStatus.DEEP_HEALTH_CHECK | NodeStatus.SHUTTING_DOWN | NodeStatus.SYSTEM_UPDATING:
            if now - since > timedelta(seconds=timeout_s):
                return Proof.FAIL, f"{node.instance_id} is still {node.status} after {timeout_s // 60} min"
            return Proof.WAIT, f"{node.instance_id} is {node.status}"


def _missed_by_slurm(cluster: Cluster, node: Node) -> str:
    """What Slurm says against the node, "" for nothing or not known. A snapshot from before the node was back counts
    too, until a newer one is there or it is too old to be known.

    Down alone says nothing: Slurm leaves a node down that it did not reboot itself, until our drain is taken back.
    """
    snapshot, name = cluster.slurm, (node.hostname or "").split(".")[0]
    if snapshot is None or name not in snapshot.nodes:
        return ""
    state = parse_state(snapshot.nodes[name].state)
    missed = (state.not_responding and not state.powered_off) or state.invalid
    return f"Slurm still has {name} {snapshot.nodes[name].state}" if missed else ""


def _about(event: ClusterEvent, instance_id: str, logical_id: str | None) -> bool:
    """An event of another instance, an earlier attempt of the same node say, does not count against this one."""
    if event.instance_id is not None:
        return event.instance_id == instance_id
    return logical_id is not None and event.logical_id == logical_id


def _speaks_against(event: ClusterEvent) -> bool:
    text = event.description.lower()
    return (
        event.level == "Error"
        or event.lifecycle_state == "Failed"
        or bool(event.failure)
        or ("unhealthy" in text and event.level != "Info")
    )
