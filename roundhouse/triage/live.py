"""Signals of our own, made from what HyperPod itself lists: for when the message about it was lost. Pure.

They go straight to the intake queue, over no bus that others may write to, and intake believes them only while live
state still shows the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from roundhouse.contracts import names
from roundhouse.line.event import CONTROLLER_MISSING, CauseClass, Event, Health, Source
from roundhouse.line.state import Cluster, NodeStatus
from roundhouse.triage.causes import cause_of_failed_launch, cause_of_fault, fault_in
from roundhouse.triage.payload import mapping, moment, optional_text, text

_LAUNCH_CODES = {"lifecycle_failed", "insufficient_capacity", "efa_check_failed"}
_GPU = re.compile(r"nvidia|dcgm|gpu|nvlink|nvswitch|\becc\b", re.I)
IN_FAILURE = "node_in_failure"


def envelope(cluster: Cluster, subject: str, now: datetime) -> str | None:
    """The message about `subject` (an instance id, or the controller's group) as JSON text, of EventBridge's form.

    None when live state does not show it any more. One id an hour and subject, so that repetitions are known as such.
    """
    detail: dict[str, Any] = {"cluster": cluster.name}
    node = cluster.by_instance(subject)
    if node is not None and node.status is NodeStatus.FAILURE:
        detail |= {"instance_id": subject, "logical_id": node.logical_id, "group": node.group, "message": node.message}
    elif subject in cluster.groups and cluster.controllers() == []:
        detail |= {"group": subject}
    else:
        return None
    return json.dumps(
        {
            "id": f"live-{subject}-{now:%Y%m%dT%H}",
            "source": names.LIVE_SOURCE,
            "detail-type": names.LIVE_STATE,
            "time": now.isoformat(),
            "detail": detail,
        }
    )


def read(message: Mapping[str, Any], ingest_time: datetime) -> Event:
    """The event in a message of ours. Raises MalformedEvent."""
    detail = mapping(message.get("detail"), "detail")
    instance_id = optional_text(detail, "instance_id")
    said = optional_text(detail, "message") or ""
    group = text(detail, "group", "detail")
    code, cause = _judge(said) if instance_id else (CONTROLLER_MISSING, CauseClass.CLUSTER)
    evidence = f"HyperPod lists {instance_id} in Failure{': ' + said if said else ''}"
    return Event(
        event_id=text(message, "id", "envelope"),
        source=Source.LIVE,
        cluster=text(detail, "cluster", "detail"),
        component="node" if instance_id else "cluster",
        code=code,
        cause=cause,
        health=Health.UNHEALTHY,
        source_time=moment(message.get("time"), "envelope.time"),
        ingest_time=ingest_time,
        evidence=(evidence if instance_id else f"HyperPod lists no node of the controller's group {group}")[:2000],
        instance_id=instance_id,
        logical_id=optional_text(detail, "logical_id"),
        group=group,
    )


def _judge(message: str) -> tuple[str, CauseClass]:
    """(code, cause) by HyperPod's message on the node. What is not recognised is UNKNOWN: people look."""
    fault = fault_in(message)
    if fault:
        return cause_of_fault(fault)
    launch = cause_of_failed_launch(message, message, None)
    if launch[0] in _LAUNCH_CODES:
        return launch
    return IN_FAILURE, CauseClass.HARDWARE if _GPU.search(message) else CauseClass.UNKNOWN
