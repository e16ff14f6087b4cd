"""Records of HyperPod's health agent, from a CloudWatch Logs subscription. Pure.

On Slurm this may be the only word about a fault. What is in a log was written on the node, and could be forged there:
these events are evidence, never enough to destroy an instance. Keys come with stray colons (`"condition: "`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from roundhouse.errors import MalformedEvent
from roundhouse.line.event import CauseClass, Event, Health, Source
from roundhouse.triage.causes import APPLICATION_XIDS, cause_of_fault, cause_of_xid, xid_of
from roundhouse.triage.payload import mapping, moment, optional_text, text

MOST_RECORDS = 1000  # in a piece
MOST_CODES = 20  # told apart in a piece: each event is read against all incidents, and a node may write anything
MOST_BYTES = 200_000  # of a piece's records as JSON: a queue's message has a limit
MOST_TEXT = 30_000  # characters of a record's message, which written as JSON may be six times as long

_GROUP = re.compile(r"/aws/sagemaker/Clusters/([^/]+)/[^/]+")
_STREAM = re.compile(r"SagemakerHealthMonitoringAgent/(.+)/(i-[0-9a-f]+)")
_CONDITION = re.compile(r"Node condition (\w+) is now: (\w+)")


def read(payload: Mapping[str, Any], ingest_time: datetime) -> list[Event]:
    """The events in a decoded subscription payload, oldest first; none for control messages and records of other kinds.
    Records that say the same are one event, of the newest one's time, that counts them.

    Cluster, group and instance come from the names of log group and stream. Raises MalformedEvent when these are not
    a health agent's.
    """
    payload = mapping(payload, "payload")
    if payload.get("messageType") == "CONTROL_MESSAGE":
        return []
    log_group, stream = text(payload, "logGroup", "payload"), text(payload, "logStream", "payload")
    in_group, in_stream = _GROUP.fullmatch(log_group), _STREAM.fullmatch(stream)
    if in_group is None:
        raise MalformedEvent(f"payload.logGroup: {log_group!r} is not a cluster's log group")
    if in_stream is None:
        raise MalformedEvent(f"payload.logStream: {stream!r} is not a health agent's stream")
    records = payload.get("logEvents")
    if not isinstance(records, list):
        raise MalformedEvent("payload.logEvents: expected a list")
    found = (_record(record, in_group[1], in_stream[1], in_stream[2], ingest_time) for record in records)
    return _merged(event for event in found if event is not None)


def _merged(events: Iterable[Event]) -> list[Event]:
    """One event for each thing that is said: a log that is flooded must not keep the queue from other nodes' news."""
    said: dict[tuple[str, CauseClass, Health], Event] = {}
    for event in events:
        same = (event.code, event.cause, event.health)
        if same not in said and len(said) >= MOST_CODES:
            same = ("", event.cause, event.health)
        known = said.get(same)
        newest = event if known is None or event.source_time >= known.source_time else known
        said[same] = replace(newest, count=event.count + (known.count if known else 0))
    return sorted(said.values(), key=lambda event: event.source_time)


def pieces(payload: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The payload in pieces that a queue takes, in order. A subscription may deliver thousands of records at once, of
    any length; one that is too long is cut, and then read as what it is: unreadable."""
    records = payload.get("logEvents")
    piece: list[object] = []
    size = 0
    for record in records if isinstance(records, list) else ():
        cut = _cut(record)
        length = len(json.dumps(cut))
        if piece and (len(piece) == MOST_RECORDS or size + length > MOST_BYTES):
            yield {**payload, "logEvents": piece}
            piece, size = [], 0
        piece.append(cut)
        size += length
    if piece or not isinstance(records, list):
        yield {**payload, **({"logEvents": piece} if piece else {})}


def _cut(record: object) -> object:
    message = record.get("message") if isinstance(record, dict) else None
    return (
        {**record, "message": message[:MOST_TEXT]} if isinstance(record, dict) and isinstance(message, str) else record
    )


def _record(raw: object, cluster: str, group: str, instance_id: str, ingest_time: datetime) -> Event | None:
    record = mapping(raw, "payload.logEvents[]")
    if record.get("message") and not str(record["message"]).strip():
        return None  # an empty line says nothing
    message = text(record, "message", "payload.logEvents[]")
    try:
        body = _tidy(json.loads(message))
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, Mapping):
        if body.get("HealthMonitoringAgentDetectionEvent") not in {None, "HealthEvent"}:
            return None
        code, cause, health, at = _finding(body)
    else:  # cut off, or not JSON: unknown, so shown to people
        code, cause, health, at = "unreadable_record", CauseClass.UNKNOWN, Health.UNHEALTHY, None
    return Event(
        event_id=text(record, "id", "payload.logEvents[]"),
        source=Source.HEALTH_AGENT_LOG,
        cluster=cluster,
        component="node",
        code=code,
        cause=cause,
        health=health,
        source_time=_time(at, record),
        ingest_time=ingest_time,
        evidence=message[:2000],
        instance_id=instance_id,
        group=group,
    )


def _time(said: str | None, record: Mapping[str, Any]) -> datetime:
    """When the record says that it happened; when it was logged, if that is not a time. Raises MalformedEvent."""
    with suppress(MalformedEvent):
        return moment(said, "ts")
    return moment(record.get("timestamp"), "payload.logEvents[].timestamp")


def _finding(body: Mapping[str, Any]) -> tuple[str, CauseClass, Health, str | None]:
    """(code, cause, health, time) of one record: DCGM policy violation, node problem detector, or event detail."""
    details, at = body.get("details"), optional_text(body, "ts")
    if isinstance(details, Mapping):
        said = optional_text(details, "message") or ""
        at = optional_text(details, "timestamp") or at
        condition = _CONDITION.search(said)
        if condition:
            code, cause = cause_of_fault(condition[1])
            return code, cause, Health.HEALTHY if condition[2] == "False" else Health.UNHEALTHY, at
        return *_fault(optional_text(details, "reason") or said or "unknown", said), at
    named = body.get("Event detail")
    if isinstance(named, Mapping):
        reason = optional_text(named, "Reason") or optional_text(named, "Type") or "unknown"
        return *_fault(reason, optional_text(named, "Message") or ""), at
    condition_name = optional_text(body, "condition")
    data = body.get("data")
    number = data.get("ErrNum") if isinstance(data, Mapping) else None
    if condition_name and "xid" in condition_name.lower() and isinstance(number, int):
        return *_xid(number), at
    return *_fault(condition_name or optional_text(body, "msg") or "unknown", ""), at


def _fault(name: str, said: str) -> tuple[str, CauseClass, Health]:
    xid = xid_of(said) or xid_of(name)
    if xid is not None:
        return _xid(xid)
    return *cause_of_fault(name), Health.UNHEALTHY


def _xid(number: int) -> tuple[str, CauseClass, Health]:
    """An Xid that speaks of the application is information; one that we do not know is held as unknown."""
    health = Health.INFO if number in APPLICATION_XIDS else Health.UNHEALTHY
    return f"xid-{number}", cause_of_xid(number), health


def _tidy(value: object) -> object:
    """The same JSON with keys freed of trailing colons and blanks."""
    if isinstance(value, dict):
        return {str(key).strip().rstrip(":").strip(): _tidy(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_tidy(child) for child in value]
    return value
