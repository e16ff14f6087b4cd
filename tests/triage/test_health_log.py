from __future__ import annotations

import copy
import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from roundhouse.errors import MalformedEvent
from roundhouse.line.event import CauseClass, Health, Source
from roundhouse.triage.health_log import MOST_BYTES, MOST_CODES, MOST_RECORDS, MOST_TEXT, pieces, read

DATA = Path(__file__).parent.parent / "data" / "events"
C, BAD = CauseClass, Health.UNHEALTHY
NOW = datetime(2026, 10, 3, tzinfo=UTC)
PAYLOAD = json.loads((DATA / "hma-cwlogs-subscription-decoded.json").read_text())


def records(*messages):
    events = [
        {"id": f"id-{n}", "timestamp": 1790981597000, "message": m if isinstance(m, str) else json.dumps(m)}
        for n, m in enumerate(messages)
    ]
    return PAYLOAD | {"logEvents": events}


def test_the_subscription_of_the_field_report():
    (event,) = read(PAYLOAD, NOW)
    assert (event.cluster, event.group, event.instance_id) == ("train-slurm-a", "workers", "i-0123456789abcdef0")
    assert (event.code, event.cause, event.health) == ("xid-79", C.HARDWARE, BAD)
    assert (event.source, event.source.trusted) == (Source.HEALTH_AGENT_LOG, False)
    assert event.event_id == "37000000000000000000000000000000000000000000000000000001"
    assert event.source_time == datetime(2026, 10, 2, 22, 53, 17, tzinfo=UTC)


def dcgm(number, condition="XID Error"):
    return {"ts": "2026-10-02T22:53:17Z", "condition: ": condition, "data: ": {"ErrNum": number}}


def npd(message, reason="XidHardwareFailure"):
    return {"details: ": {"timestamp": "2026-10-02T18:35:29Z", "reason": reason, "message": message}}


@pytest.mark.parametrize(
    ("record", "code", "cause", "health"),
    [
        ("hma-log-record.npd-xid-reboot", "NvidiaErrorReboot", C.HARDWARE, BAD),
        ("hma-log-record.slurm-dcgm-xid79", "xid-79", C.HARDWARE, BAD),
        (dcgm(13), "xid-13", C.UNKNOWN, Health.INFO),
        (dcgm(4711), "xid-4711", C.UNKNOWN, BAD),
        (dcgm(None, "PCIe Error GPU 3"), "PCIe_Error_GPU_3", C.HARDWARE, BAD),
        (npd("Node condition NvidiaErrorReboot is now: False"), "NvidiaErrorReboot", C.HARDWARE, Health.HEALTHY),
        (npd("NVRM: Xid (PCI:0000:b9:00): 48, pid=1"), "xid-48", C.HARDWARE, BAD),
        (npd("EFA link down", "EfaError"), "EfaError", C.NETWORK, BAD),
        (
            {"Event detail": {"Reason": "NvidiaGPUUnhealthy", "Message": "gone", "Action": "Replace"}},
            "NvidiaGPUUnhealthy",
            C.HARDWARE,
            BAD,
        ),
        ({"msg": "something new"}, "something_new", C.UNKNOWN, BAD),
        ('{"level": "info", "msg": "DCGM Pol', "unreadable_record", C.UNKNOWN, BAD),
    ],
)
def test_records(record, code, cause, health):
    if isinstance(record, str) and record.startswith("hma"):
        record = json.loads((DATA / f"{record}.json").read_text())
    (event,) = read(records(record), NOW)
    assert (event.code, event.cause, event.health) == (code, cause, health)
    assert event.source_time.tzinfo is UTC


def test_the_nodes_own_time_is_preferred():
    (event,) = read(records(npd("Node condition NvidiaErrorReboot is now: True")), NOW)
    assert event.source_time == datetime(2026, 10, 2, 18, 35, 29, tzinfo=UTC)


def test_each_record_is_an_event_of_its_own_and_others_are_left_out():
    other = {"HealthMonitoringAgentDetectionEvent": "Heartbeat"}
    assert [e.event_id for e in read(records(dcgm(79), other, dcgm(48)), NOW)] == ["id-0", "id-2"]
    assert read({"messageType": "CONTROL_MESSAGE"}, NOW) == []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"logGroup": "/aws/lambda/x"}, "logGroup"),
        ({"logStream": "LifecycleConfig/workers/i-0123456789abcdef0"}, "logStream"),
        ({"logStream": None}, "logStream"),
        ({"logEvents": None}, "logEvents"),
        ({"logEvents": [{"id": "x"}]}, "message"),
        ({"logEvents": [7]}, "logEvents"),
    ],
)
def test_malformed_payloads_are_named(change, where):
    with pytest.raises(MalformedEvent, match=where):
        read(PAYLOAD | change, NOW)


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000,
        '{"a":' * 900 + "1" + "}" * 900,
        json.dumps(npd("NVRM: Xid " + "1" * 5000)),
        json.dumps(npd("xid(" * 25_000)),
        json.dumps(npd("fault type x" * 8_000 + "\n\n")),
        json.dumps({"ts": "yesterday", "msg": "x"}),
        " ",
        "\x00\x07\u202e",
        json.dumps({"msg": "\ud800"}),
    ],
)
def test_no_line_hides_the_finding_beside_it(line):
    """Whoever has a shell on a node writes into this log: a line of theirs costs neither the payload nor minutes."""
    began = time.monotonic()
    events = read(records(dcgm(79), line), NOW)
    assert "xid-79" in {event.code for event in events}
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(
    "messages",
    [["x"] * 10_000, ["x" * 250_000] * 20, ["\x00" * 250_000] * 5, ["é" * 40_000, "x"], ["x"], []],
    ids=["many", "long", "control characters", "escaped", "one", "none"],
)
def test_a_payload_of_any_size_goes_into_a_queue_and_loses_no_record(messages):
    made = list(pieces(records(*messages)))
    assert all(
        len(json.dumps(piece)) < MOST_BYTES + 1_000 and len(piece["logEvents"]) <= MOST_RECORDS for piece in made
    )
    assert [one["message"] for piece in made for one in piece["logEvents"]] == [m[:MOST_TEXT] for m in messages]
    assert all(piece["logStream"] == PAYLOAD["logStream"] for piece in made)


def test_what_has_no_records_goes_on_as_it_is():
    odd = {"messageType": "CONTROL_MESSAGE", "logEvents": None}
    assert list(pieces(odd)) == [odd]


def test_a_flooded_log_is_few_events_and_the_newest_word_of_each_kind_stands():
    bad, good = (
        npd("Node condition NvidiaErrorReboot is now: True"),
        npd("Node condition NvidiaErrorReboot is now: False"),
    )
    for one, second in ((bad, 1), (good, 2), (bad, 3)):
        one["details: "]["timestamp"] = f"2026-10-02T18:35:{second:02}Z"
    events = read(records(*[copy.deepcopy(one) for one in (bad, good)] * 400, dcgm(79)), NOW)
    assert [(e.code, e.health, e.count) for e in events] == [
        ("NvidiaErrorReboot", Health.HEALTHY, 400),
        ("NvidiaErrorReboot", BAD, 400),
        ("xid-79", BAD, 1),
    ]
    assert len({e.event_id for e in events}) == 3
    made_up = read(records(*[dcgm(None, f"fault {n}") for n in range(900)], dcgm(79)), NOW)
    assert sum(e.count for e in made_up) == 901
    assert len(made_up) <= MOST_CODES + 3
    assert {C.UNKNOWN, C.HARDWARE} == {e.cause for e in made_up}
