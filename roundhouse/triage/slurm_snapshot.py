"""The controller agent's snapshot of Slurm's nodes (detail of our `roundhouse.slurm` event, version 1). Pure.

The snapshot says what Slurm thinks; events are made of what changed against the one before. Everything in it can be
forged by whoever controls a node or the controller, and is evidence only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from roundhouse.errors import MalformedEvent
from roundhouse.line.event import CauseClass, Event, Health, Source
from roundhouse.line.slurm import hyperpod_action, parse_state, set_by_people
from roundhouse.line.state import SlurmNode, SlurmSnapshot
from roundhouse.triage.payload import mapping, moment, optional_text, text

REASON = 500  # characters kept of a reason, which anybody may write who may drain a node


@dataclass(frozen=True, slots=True)
class Reading:
    """`snapshot` is to be kept once the events are admitted; None when it is not newer than the one before.

    `unknown` says why it tells nothing ("" when it does): no nodes in it means that Slurm did not answer, never that
    all is well.
    """

    snapshot: SlurmSnapshot | None
    events: tuple[Event, ...] = ()
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class _Finding:
    code: str
    cause: CauseClass
    health: Health
    action: str | None = None


def read(detail: Mapping[str, Any], ingest_time: datetime, previous: SlurmSnapshot | None = None) -> Reading:
    """Snapshot and events. Nodes that were bad in `previous` already give no event again, unless that was expected
    then (`untold`); recoveries do.

    Raises MalformedEvent when the detail is not a version 1 snapshot.
    """
    detail = mapping(detail, "detail")
    version = detail.get("version", 1)
    if version != 1:
        raise MalformedEvent(f"detail.version: {version!r}; this reader understands version 1")
    cluster = text(detail, "cluster", "detail")
    sequence, raw_nodes = detail.get("sequence"), detail.get("nodes")
    if not isinstance(sequence, int) or isinstance(sequence, bool):
        raise MalformedEvent(f"detail.sequence: expected a whole number, found {sequence!r}")
    if not isinstance(raw_nodes, list):
        raise MalformedEvent(f"detail.nodes: expected a list, found {type(raw_nodes).__name__}")
    said_at = moment(detail.get("taken_at"), "detail.taken_at")
    taken_at = min(said_at, ingest_time)  # a clock that runs ahead must not keep the snapshot young for ever
    if previous is not None and sequence <= previous.sequence and taken_at <= previous.taken_at:
        return Reading(None, unknown=f"snapshot {sequence} is not newer than {previous.sequence}")
    nodes = {node.name: node for node in (_node(raw, i) for i, raw in enumerate(raw_nodes))}
    snapshot = SlurmSnapshot(sequence, taken_at, nodes)
    if not nodes:
        return Reading(snapshot, unknown="Slurm listed no node at all: unknown, never all well")
    before = previous.nodes if previous is not None else {}
    events = []
    for node in nodes.values():
        finding, was = _judge(node), _judge(before[node.name]) if node.name in before else None
        if finding is None and was is not None and was.health is Health.UNHEALTHY and _serves(node):
            finding = _Finding(was.code, was.cause, Health.HEALTHY)
        elif finding is None or (was is not None and was.code == finding.code and _told_of(before[node.name], node)):
            continue
        event_id = f"slurm:{cluster}:{said_at.isoformat()}:{sequence}:{node.name}"
        events.append(_event(event_id, node, finding, cluster, snapshot, ingest_time))
    return Reading(snapshot, tuple(events))


def _node(raw: object, index: int) -> SlurmNode:
    where = f"detail.nodes[{index}]"
    node = mapping(raw, where)
    jobs = node.get("jobs") or []
    if not isinstance(jobs, list) or not all(isinstance(job, int) for job in jobs):
        raise MalformedEvent(f"{where}.jobs: expected job numbers, found {jobs!r}")
    return SlurmNode(
        name=text(node, "name", where),
        state=text(node, "state", where),
        reason=(optional_text(node, "reason") or "")[:REASON],
        jobs=tuple(jobs),
        instance_id=optional_text(node, "instance_id"),
    )


def _told_of(one: SlurmNode, other: SlurmNode) -> bool:
    """True when the event that `one` gave was of the same node, and was taken for news."""
    if one.untold:
        return False
    return one.instance_id == other.instance_id or one.instance_id is None or other.instance_id is None


def _serves(node: SlurmNode) -> bool:
    """True when Slurm talks to the node and finds nothing wrong: drained or not, it is back."""
    state = parse_state(node.state)
    off = state.powered_off or state.in_transition
    return state.known and not (off or state.down or state.not_responding or state.failing or state.invalid)


def _judge(node: SlurmNode) -> _Finding | None:
    """What is wrong with a node; None for one that works, is off, or that an admin has taken for himself."""
    state = parse_state(node.state)
    if not state.known or state.powered_off or state.in_transition or "MAINTENANCE" in state.flags:
        return None
    if state.failing:
        action = hyperpod_action(node.reason)
        if action:
            return _Finding(f"slurm_fail_{action}", CauseClass.UNREACHABLE, Health.INFO, action)
        # HyperPod ignores any other reason silently: the node would hang there for ever.
        return _Finding("slurm_fail_reason_ignored", CauseClass.UNKNOWN, Health.UNHEALTHY)
    if re.match(r"gres/\S+ count", node.reason, re.I):
        return _Finding("slurm_gpu_count", CauseClass.HARDWARE, Health.UNHEALTHY)
    if state.invalid:
        return _Finding("slurm_invalid_registration", CauseClass.UNKNOWN, Health.UNHEALTHY)
    admin = set_by_people(node.reason)
    if state.draining and admin:
        return None
    if re.match(r"kill task failed", node.reason, re.I) and (state.draining or state.down):
        return _Finding("slurm_kill_task_failed", CauseClass.UNREACHABLE, Health.UNHEALTHY)
    if state.not_responding:
        return _Finding("slurm_not_responding", CauseClass.UNREACHABLE, Health.UNHEALTHY)
    if state.down and not admin:
        return _Finding("slurm_down", CauseClass.UNREACHABLE, Health.UNHEALTHY)
    return None


def _event(
    event_id: str, node: SlurmNode, finding: _Finding, cluster: str, snapshot: SlurmSnapshot, ingest_time: datetime
) -> Event:
    return Event(
        event_id=event_id,
        source=Source.SLURM,
        cluster=cluster,
        component="slurmd",
        code=finding.code,
        cause=finding.cause,
        health=finding.health,
        source_time=snapshot.taken_at,
        ingest_time=ingest_time,
        evidence=f"{node.name} {node.state} {node.reason}".strip()[:2000],
        instance_id=node.instance_id,
        slurm_name=node.name,
        proposed_action=finding.action,
        repair_begun=finding.action is not None,
    )
