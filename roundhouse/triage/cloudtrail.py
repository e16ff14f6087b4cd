"""Calls of HyperPod's API by people and programs, as CloudTrail tells them over EventBridge. Pure.

Shapes: CloudTrail's record contents for management events; request parameters in lower camel case. HyperPod's own
repairs leave no such record. These events are information: they open nothing, and decide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from roundhouse.line.event import CauseClass, Event, Health, Source
from roundhouse.triage.payload import mapping, moment, optional_text, subtrees, text

# Call → what it does to the nodes that it names, or to all; None: it takes no node away.
CALLS: dict[str, str | None] = {
    "BatchReplaceClusterNodes": "replace",
    "BatchRebootClusterNodes": "reboot",
    "BatchDeleteClusterNodes": "delete",
    "BatchAddClusterNodes": None,
    "UpdateCluster": None,
    "UpdateClusterSoftware": "update",
    "DeleteCluster": "delete",
    "StartClusterHealthCheck": "check",
}
_OF_THE_WHOLE = {"UpdateClusterSoftware", "DeleteCluster", "BatchAddClusterNodes", "UpdateCluster"}
_SERVICE_ROLE = "AWSServiceRoleFor"
MOST_NODES = 200  # of one call: a delete may name more, and then it is about the whole cluster as well
_NAME = 80


def read(envelope: Mapping[str, Any], ingest_time: datetime, ours: str = "") -> tuple[Event, ...]:
    """One event for each node that the call names, or one for the whole cluster. None for calls that failed, that only
    read, that AWS's own services made, or that this deployment made: its roles and sessions begin with `ours`.

    Raises MalformedEvent when a call of ours to read lacks what CloudTrail promises.
    """
    detail = mapping(envelope.get("detail"), "detail")
    name = optional_text(detail, "eventName")
    if name not in CALLS or optional_text(detail, "eventSource") != "sagemaker.amazonaws.com":
        return ()
    if optional_text(detail, "errorCode") is not None:
        return ()
    identity = mapping(detail.get("userIdentity"), "detail.userIdentity")
    if _by_aws(identity) or (ours and _by_us(identity, ours)):
        return ()
    asked = mapping(detail.get("requestParameters"), "detail.requestParameters")
    event_id = text(detail, "eventID", "detail")
    at = moment(detail.get("eventTime"), "detail.eventTime")
    cluster, actor = text(asked, "clusterName", "detail.requestParameters"), who(identity)

    def made(key: str, instance_id: str | None, logical_id: str | None) -> Event:
        return Event(
            event_id=f"{event_id}{key}",
            source=Source.CLOUDTRAIL,
            cluster=cluster,
            component="api",
            code=name,
            cause=CauseClass.UNKNOWN,
            health=Health.INFO,
            source_time=at,
            ingest_time=ingest_time,
            evidence=f"{actor} called {name}",
            instance_id=instance_id,
            logical_id=logical_id,
            proposed_action=CALLS[name],
            actor=actor,
        )

    if name in _OF_THE_WHOLE:
        return (made("", None, None),)
    refused = set(_ids(detail.get("responseElements"), "nodeId", "nodeLogicalId"))
    instances = [i for i in _ids(asked, "nodeIds", "instanceIds") if i not in refused][:MOST_NODES]
    logical = [i for i in _ids(asked, "nodeLogicalIds") if i not in refused][:MOST_NODES]
    return (
        *(made(f":{one}", one, None) for one in dict.fromkeys(instances)),
        *(made(f":{one}", None, one) for one in dict.fromkeys(logical)),
    )


def who(identity: Mapping[str, Any]) -> str:
    """Who called, as people know him: the name of the session, which single sign-on makes of the person's, or the user.

    >>> who({"type": "AssumedRole", "arn": "arn:aws:sts::111122223333:assumed-role/Admin/kim"})
    'kim (Admin)'
    """
    arn = optional_text(identity, "arn") or ""
    kind, _, rest = arn.rpartition(":")[2].partition("/")
    if kind == "assumed-role":
        role, _, session = rest.partition("/")
        said = f"{session} ({role})" if session else role
    else:
        said = rest or optional_text(identity, "userName") or optional_text(identity, "type") or "somebody"
        said = "the root user" if optional_text(identity, "type") == "Root" else said
    return re.sub(r"[^\w.@+=,/() -]", "?", said)[:_NAME]


def _by_aws(identity: Mapping[str, Any]) -> bool:
    """True for HyperPod itself, through its service-linked role or as a service."""
    arn = optional_text(identity, "arn") or ""
    return optional_text(identity, "type") == "AWSService" or f"/{_SERVICE_ROLE}" in arn


def _by_us(identity: Mapping[str, Any], ours: str) -> bool:
    """True for a function of this deployment: role and session both carry its prefix. A session alone is a name that
    anybody may choose."""
    _, _, rest = (optional_text(identity, "arn") or "").rpartition(":")[2].partition("/")
    role, _, session = rest.partition("/")
    return role.lower().startswith(ours.lower()) and session.lower().startswith(ours.lower())


def _ids(value: object, *keys: str) -> Iterator[str]:
    """Every id under one of `keys`, a text or a list of texts, anywhere in `value`."""
    for tree in subtrees(value):
        for found in (tree.get(key) for key in keys):
            listed = found if isinstance(found, list) else [found]
            yield from (one for one in listed if isinstance(one, str))
