"""HyperPod's EventBridge events, and replays of them, as the line's events. Pure.

Shapes: AWS's "Automating SageMaker with EventBridge" and the HyperPod cluster event reference; field reports say that
the bridge's copy of a cluster event often has null metadata, which is why an event may ask to be looked up first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from roundhouse.contracts import names
from roundhouse.errors import MalformedEvent
from roundhouse.line.event import LOST_READY, CauseClass, Event, Health, Source
from roundhouse.line.state import ClusterEvent
from roundhouse.line.theirs import Phase, is_termination, patch_phase, repair_phase
from roundhouse.triage.causes import cause_of_failed_launch, cause_of_fault, fault_in
from roundhouse.triage.payload import first_text, mapping, moment, optional_text, text

EVIDENCE = 2000
_LAUNCH = ("provision", "creation", "lifecycle", "launch", "network interface", "eni ")


def read(envelope: Mapping[str, Any], ingest_time: datetime) -> Event | None:
    """The event in an EventBridge envelope; None for detail-types that are none of ours.

    Raises MalformedEvent when one of ours lacks what its documentation promises.
    """
    envelope = mapping(envelope, "envelope")
    if envelope.get("source") == names.REPLAY_SOURCE:
        detail = mapping(envelope.get("detail"), "replay.detail")
        original = mapping(detail.get("original"), "replay.detail.original")
        if original.get("source") == names.REPLAY_SOURCE:
            raise MalformedEvent("replay.detail.original.source: a replay of a replay; send the original itself")
        event = read(original, ingest_time)
        return replace(event, source=Source.REPLAY) if event else None
    match envelope.get("detail-type"):
        case names.NODE_HEALTH:
            event = _node_health(envelope, ingest_time)
        case names.CLUSTER_EVENT:
            event = _cluster_event(envelope, ingest_time)
        case names.STATE_CHANGE:
            event = _state_change(envelope, ingest_time)
        case _:
            return None
    # Only AWS can send under its own name. Whatever borrows the shape under another is treated as a replay.
    return event if envelope.get("source") == names.HYPERPOD_SOURCE else replace(event, source=Source.REPLAY)


def enrich(event: Event, found: ClusterEvent) -> Event:
    """The event with what DescribeClusterEvent knows: ids, failure message, and so its cause."""
    code, cause, health = _judge(
        found.description, found.level, found.failure, found.lifecycle_state, found.resource_type, found.instance_id
    )
    phase = repair_phase(found.description)
    return replace(
        event,
        code=code,
        cause=cause,
        health=health,
        instance_id=found.instance_id or event.instance_id,
        logical_id=found.logical_id or event.logical_id,
        group=found.group or event.group,
        evidence=f"{found.description} | {found.failure}"[:EVIDENCE] if found.failure else event.evidence,
        repair_begun=event.repair_begun or (phase is not None and phase[1] is Phase.STARTED),
        needs_lookup=False,
    )


def _node_health(envelope: Mapping[str, Any], ingest_time: datetime) -> Event:
    detail = mapping(envelope.get("detail"), "detail")
    summary = mapping(detail.get("HealthSummary"), "detail.HealthSummary")
    status = text(summary, "HealthStatus", "detail.HealthSummary")
    reason = optional_text(summary, "HealthStatusReason") or ""
    health = Health.HEALTHY if status.lower() == "healthy" else Health.UNHEALTHY
    fault = fault_in(reason)
    code, cause = cause_of_fault(fault) if fault else (status.lower(), CauseClass.UNKNOWN)
    action = _action(optional_text(summary, "RepairAction"))
    return Event(
        event_id=text(envelope, "id", "envelope"),
        source=Source.NODE_HEALTH,
        cluster=text(detail, "ClusterName", "detail"),
        component="node",
        code=code,
        cause=cause,
        health=health,
        source_time=moment(envelope.get("time"), "envelope.time"),
        ingest_time=ingest_time,
        evidence=_excerpt(summary),
        instance_id=text(detail, "InstanceId", "detail"),
        proposed_action=action,
        repair_begun=health is Health.UNHEALTHY and action not in {None, "none"},
    )


def _cluster_event(envelope: Mapping[str, Any], ingest_time: datetime) -> Event:
    outer = mapping(envelope.get("detail"), "detail")
    detail = mapping(outer.get("EventDetails"), "detail.EventDetails")
    inner = detail.get("EventDetails")
    metadata = _metadata(
        inner.get("EventMetadata") if isinstance(inner, Mapping) else None, detail.get("EventMetadata")
    )
    description = optional_text(detail, "Description") or ""
    failure = first_text(metadata, "FailureMessage") or ""
    lifecycle_state = first_text(metadata, "LcsExecutionState")
    instance_id = optional_text(detail, "InstanceId")
    level = optional_text(detail, "EventLevel") or ""
    kind = optional_text(detail, "ResourceType") or ""
    told = " ".join((description, first_text(metadata, "HealthStatusReason") or ""))
    code, cause, health = _judge(told, level, failure, lifecycle_state, kind, instance_id, _daemon(metadata))
    phase = repair_phase(description)
    action = _action(first_text(metadata, "RepairAction")) or (phase[0] if phase else None)
    launch = any(word in description.lower() for word in _LAUNCH)
    return Event(
        event_id=optional_text(detail, "EventId") or text(envelope, "id", "envelope"),
        source=Source.CLUSTER_EVENT,
        cluster=text(detail, "ClusterName", "detail.EventDetails"),
        component=kind.lower() or "cluster",
        code=code,
        cause=cause,
        health=health,
        source_time=moment(detail.get("EventTime") or envelope.get("time"), "detail.EventDetails.EventTime"),
        ingest_time=ingest_time,
        evidence=_excerpt(detail),
        instance_id=instance_id,
        logical_id=first_text(metadata, "NodeLogicalId"),
        group=optional_text(detail, "InstanceGroupName"),
        proposed_action=action,
        repair_begun=bool(phase and phase[1] is Phase.STARTED) or (health is Health.UNHEALTHY and _announced(metadata)),
        needs_lookup=health is Health.UNHEALTHY and launch and not failure and not lifecycle_state,
    )


def _state_change(envelope: Mapping[str, Any], ingest_time: datetime) -> Event:
    detail = mapping(envelope.get("detail"), "detail")
    status = text(detail, "ClusterStatus", "detail")
    bad = status in {"Failed", "RollingBack"}
    return Event(
        event_id=text(envelope, "id", "envelope"),
        source=Source.STATE_CHANGE,
        cluster=text(detail, "ClusterName", "detail"),
        component="cluster",
        code=f"cluster_{status.lower()}",
        cause=CauseClass.CLUSTER,
        health=Health.UNHEALTHY if bad else Health.INFO,
        source_time=moment(envelope.get("time"), "envelope.time"),
        ingest_time=ingest_time,
        evidence=(optional_text(detail, "FailureMessage") or f"the cluster is {status}")[:EVIDENCE],
    )


def _judge(
    description: str,
    level: str,
    failure: str,
    lifecycle_state: str | None,
    resource_type: str,
    instance_id: str | None,
    daemon: tuple[str, Health] | None = None,
) -> tuple[str, CauseClass, Health]:
    """(code, cause, health) of a cluster event. Info says nothing bad; Warn only where we know what it warns of."""
    lower = description.lower()
    if daemon is not None:
        return daemon[0], CauseClass.CLUSTER, daemon[1]
    if "lost orchestration-ready" in lower:
        return LOST_READY, CauseClass.CLUSTER, Health.UNHEALTHY
    fault = fault_in(description)
    if fault and level != "Info":
        return *cause_of_fault(fault), Health.UNHEALTHY
    failed = level == "Error" or (level == "" and ("failed" in lower or bool(failure) or lifecycle_state == "Failed"))
    if not failed:
        strange = level == "Warn" and instance_id is not None and "capacityreservation" not in lower
        told = _told(description, instance_id)
        bad = strange and not told
        return (
            told or ("unknown_warning" if strange else "info"),
            CauseClass.UNKNOWN,
            (Health.UNHEALTHY if bad else Health.INFO),
        )
    if patch_phase(description) is not None:
        return "patching_failed", CauseClass.CLUSTER, Health.UNHEALTHY
    if any(word in lower for word in _LAUNCH) or failure or lifecycle_state == "Failed":
        if resource_type == "Cluster" and instance_id is None and "lifecycle" not in lower:
            return "cluster_operation_failed", CauseClass.CLUSTER, Health.UNHEALTHY
        return *cause_of_failed_launch(description, failure, lifecycle_state), Health.UNHEALTHY
    if resource_type in {"Cluster", "InstanceGroup"} and instance_id is None:
        return "cluster_operation_failed", CauseClass.CLUSTER, Health.UNHEALTHY
    phase = repair_phase(description)
    if phase:
        return f"{phase[0]}_failed", CauseClass.PROVISIONING, Health.UNHEALTHY
    return "unknown_error", CauseClass.UNKNOWN, Health.UNHEALTHY


def _told(description: str, instance_id: str | None) -> str:
    """The code of what HyperPod does by itself, or upon a call; "" for other information."""
    if (patch := patch_phase(description)) is not None:
        return f"patching_{patch}"
    if (phase := repair_phase(description)) is not None:
        return f"{phase[0]}_{phase[1]}"
    return "terminated" if instance_id is not None and is_termination(description) else ""


def _metadata(*places: object) -> object:
    """Metadata from the first place that has any; some bridges send it as JSON text."""
    found = next((place for place in places if place), None)
    if not isinstance(found, str):
        return found
    try:
        return json.loads(found)
    except (ValueError, RecursionError):
        return {"FailureMessage": found}


def _daemon(metadata: object) -> tuple[str, Health] | None:
    """Slurm's accounting daemon, as HyperPod watches it: (code, health)."""
    health = metadata.get("SlurmHealth") if isinstance(metadata, Mapping) else None
    if not isinstance(health, Mapping):
        return None
    component = (optional_text(health, "Component") or "slurm").lower()
    if (optional_text(health, "Status") or "").lower() == "healthy":
        return f"{component}_unhealthy", Health.HEALTHY
    return f"{component}_unhealthy", Health.UNHEALTHY


def _action(text_: str | None) -> str | None:
    return text_.strip().lower() if text_ else None


def _announced(metadata: object) -> bool:
    return _action(first_text(metadata, "RepairAction")) not in {None, "none"}


def _excerpt(value: Mapping[str, Any]) -> str:
    return json.dumps(value, default=str, separators=(",", ":"))[:EVIDENCE]
