"""Signals of our own: made of what HyperPod lists, and read back as the line's events."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from roundhouse.errors import MalformedEvent
from roundhouse.line.event import CONTROLLER_MISSING, CauseClass, Health, Source
from roundhouse.line.state import NodeStatus
from roundhouse.triage import live, signals
from tests.line.build import CONTROLLER, NOW, cluster, iid, node

FAULT = "HMA has detected fault type {} on this node and is unhealthy."


@pytest.mark.parametrize(
    ("message", "code", "cause"),
    [
        (FAULT.format("NvidiaErrorTerminate"), "NvidiaErrorTerminate", CauseClass.HARDWARE),
        (FAULT.format("XID Error (code=79)"), "xid-79", CauseClass.HARDWARE),
        ("Lifecycle scripts did not run successfully.", "lifecycle_failed", CauseClass.LIFECYCLE),
        ("We currently do not have sufficient capacity.", "insufficient_capacity", CauseClass.CAPACITY),
        ("EFA health checks did not run successfully.", "efa_check_failed", CauseClass.PROVISIONING),
        ("GPU count mismatch", "node_in_failure", CauseClass.HARDWARE),
        ("something new", "node_in_failure", CauseClass.UNKNOWN),
        ("", "node_in_failure", CauseClass.UNKNOWN),
    ],
)
def test_a_node_in_failure_becomes_an_event_by_what_hyperpod_says_of_it(
    message: str, code: str, cause: CauseClass
) -> None:
    message_ = live.envelope(cluster(node(7, NodeStatus.FAILURE, message=message)), iid(7), NOW)
    assert message_ is not None
    [event] = signals.read(json.loads(message_), NOW).events
    assert (event.code, event.cause, event.health, event.source) == (code, cause, Health.UNHEALTHY, Source.LIVE)
    assert (event.instance_id, event.logical_id, event.group) == (iid(7), "n-7", "workers")
    assert event.source.trusted
    assert iid(7) in event.evidence


def test_a_controller_that_is_not_listed() -> None:
    without = replace(cluster(), nodes=tuple(n for n in cluster().nodes if n != CONTROLLER))
    message = live.envelope(without, "controller", NOW)
    assert message is not None
    [event] = signals.read(json.loads(message), NOW).events
    assert (event.code, event.cause, event.instance_id) == (CONTROLLER_MISSING, CauseClass.CLUSTER, None)


@pytest.mark.parametrize("subject", [iid(1), iid(999), "controller", "workers"])
def test_what_is_not_so_any_more_makes_no_message(subject: str) -> None:
    assert live.envelope(cluster(), subject, NOW) is None


def test_one_hour_is_one_event() -> None:
    failed = cluster(node(7, NodeStatus.FAILURE))
    first, again = (live.envelope(failed, iid(7), at) for at in (NOW, NOW.replace(minute=59)))
    assert first is not None
    assert again is not None
    assert json.loads(first)["id"] == json.loads(again)["id"]


@pytest.mark.parametrize("detail", [None, {}, {"group": "workers"}, {"cluster": "train-a"}])
def test_a_message_without_its_members_is_refused(detail: object) -> None:
    with pytest.raises(MalformedEvent):
        signals.read({"id": "x", "source": "roundhouse.live", "time": NOW.isoformat(), "detail": detail}, NOW)
