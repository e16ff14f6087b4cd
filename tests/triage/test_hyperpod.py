from __future__ import annotations

import contextlib
import copy
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.errors import MalformedEvent
from roundhouse.line.event import LOST_READY, CauseClass, Health, Source
from roundhouse.line.state import ClusterEvent
from roundhouse.triage.hyperpod import enrich, read

DATA = Path(__file__).parent.parent / "data"
NOW = datetime(2026, 10, 3, tzinfo=UTC)
AT = datetime(2026, 10, 2, 16, 53, 20, tzinfo=UTC)


def load(name):
    return json.loads((DATA / "events" / f"{name}.json").read_text())


def case(number, name):
    return json.loads((DATA / "cases" / str(number) / f"{name}.json").read_text())


H, C = Health, CauseClass


@pytest.mark.parametrize(
    ("name", "code", "cause", "health", "lookup", "begun"),
    [
        ("node-health.unhealthy.repair-none", "NvidiaErrorTerminate", C.HARDWARE, H.UNHEALTHY, False, False),
        ("node-health.unhealthy.repair-replace", "NvidiaGPUUnhealthy", C.HARDWARE, H.UNHEALTHY, False, True),
        ("cluster-event.hma-synthetic-custom-source", "xid-79", C.HARDWARE, H.UNHEALTHY, False, True),
        ("cluster-event.instance-capacity-error", "insufficient_capacity", C.CAPACITY, H.UNHEALTHY, False, False),
        (
            "cluster-event.instance-capacity-error.eventbridge-null-metadata",
            "launch_failed",
            C.UNKNOWN,
            H.UNHEALTHY,
            True,
            False,
        ),
        ("cluster-event.instance-capacity-error.paired-twin", "launch_failed", C.UNKNOWN, H.UNHEALTHY, True, False),
        ("cluster-event.lifecycle-script-failed", "lifecycle_failed", C.LIFECYCLE, H.UNHEALTHY, False, False),
        ("cluster-event.lifecycle-script-started.no-eventlevel", "info", C.UNKNOWN, H.INFO, False, False),
        ("cluster-event.scale-progress-noise.warn", LOST_READY, C.CLUSTER, H.UNHEALTHY, False, False),
        ("cluster-event.capacity-reservation-found", "info", C.UNKNOWN, H.INFO, False, False),
        ("cluster-event.capacity-reservation-not-found.on-demand-fallback", "info", C.UNKNOWN, H.INFO, False, False),
        ("cluster-event.slurm-rollback-completed", "cluster_operation_failed", C.CLUSTER, H.UNHEALTHY, None, False),
        ("cluster-event.instance-group-scaling-started", "info", C.UNKNOWN, H.INFO, False, False),
        ("cluster-event.instance-replacement-started", "replace_started", C.UNKNOWN, H.INFO, False, True),
        ("cluster-event.instance-replacement-completed", "replace_completed", C.UNKNOWN, H.INFO, False, False),
        ("cluster-state-change.failed", "cluster_failed", C.CLUSTER, H.UNHEALTHY, False, False),
        ("cluster-state-change.inservice", "cluster_inservice", C.CLUSTER, H.INFO, False, False),
    ],
)
def test_documented_events(name, code, cause, health, lookup, begun):
    event = read(load(name), NOW)
    assert (event.code, event.cause, event.health, event.repair_begun) == (code, cause, health, begun)
    assert lookup is None or event.needs_lookup is lookup
    assert event.cluster == "train-slurm-a"
    assert event.source_time.tzinfo is UTC
    assert len(event.evidence) <= 2000
    assert event.source.trusted is (load(name)["source"] == "aws.sagemaker")


def test_ids_and_names_of_a_cluster_event():
    event = read(load("cluster-event.lifecycle-script-failed"), NOW)
    assert event.event_id == "a307fae0-6937-40f9-af2f-16eb873d340b"  # not the envelope's id: that differs by copy
    assert (event.instance_id, event.logical_id, event.group) == (
        "i-0391f86fa0fe0d465",
        "df268d19-f035-4f28-9b80-b956b92ae21e",
        "workers",
    )
    assert event.source_time == AT


@pytest.mark.parametrize(("name", "expected"), list(case(411, "expected").items()))
def test_kinds_of_failed_launch(name, expected):
    event = read(case(411, name), NOW)
    kinds = {C.CAPACITY: "NO_RETRY_ALERT", C.PROVISIONING: "RETRY_LIMITED"}
    assert ("DESCRIBE_FIRST" if event.needs_lookup else kinds[event.cause]) == expected


FAILURES = {
    "We currently do not have sufficient capacity to launch new ml.p5.48xlarge instances.": C.CAPACITY,
    "We currently do not have sufficient capacity in the Availability Zone you requested.": C.CAPACITY,
    "Insufficient capacity for ml.g6.48xlarge": C.CAPACITY,
    "InsufficientInstanceCapacity": C.CAPACITY,
    "EFA health checks did not run successfully. Ensure that your VPC is configured": C.PROVISIONING,
    "Failed to create network interface": C.PROVISIONING,
    "An internal error occurred": C.PROVISIONING,
}


@pytest.mark.parametrize(("failure", "cause"), FAILURES.items())
@pytest.mark.parametrize("place", ["Instance", "InstanceGroup", "InstanceMonitor", "deeper", "beside", "as text"])
def test_the_failure_is_found_wherever_it_is(failure, cause, place):
    envelope = case(411, "c")
    detail = envelope["detail"]["EventDetails"]
    told = {"FailureMessage": failure, "NodeLogicalId": "n-9"}
    if place == "deeper":
        detail["EventDetails"]["EventMetadata"]["InstanceHealth"] = {"New": {"Newer": told}}
    elif place == "beside":
        del detail["EventDetails"]
        detail["EventMetadata"] = {"Instance": told}
    elif place == "as text":
        del detail["EventDetails"]
        detail["EventMetadata"] = json.dumps({"Instance": told})
    else:
        detail["EventDetails"]["EventMetadata"][place] = told
    event = read(envelope, NOW)
    assert (event.cause, event.needs_lookup, event.logical_id) == (cause, False, "n-9")


def test_enriching_settles_the_cause():
    event = read(case(411, "c"), NOW)
    found = ClusterEvent(
        event.event_id,
        event.source_time,
        "Error",
        "Instance",
        "Failed to provision EC2 Instance in Cluster train-a and InstanceGroup workers",
        "workers",
        None,
        "n-3",
        "EFA health checks did not run successfully.",
    )
    told = enrich(event, found)
    assert (told.code, told.cause, told.logical_id, told.needs_lookup) == (
        "efa_check_failed",
        C.PROVISIONING,
        "n-3",
        False,
    )
    assert "EFA" in told.evidence
    assert told.event_id == event.event_id


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1790960000000, AT),
        (1790960000, AT),
        ("1790960000000", AT),
        ("2026-10-02T16:53:20Z", AT),
        ("2026-10-02T16:53:20.000+00:00", AT),
        ("2026-10-02T18:53:20+02:00", AT),
        ("2026-10-02T16:53:20", AT),
    ],
)
def test_times_in_every_form(value, expected):
    envelope = load("cluster-event.instance-capacity-error")
    envelope["detail"]["EventDetails"]["EventTime"] = value
    assert read(envelope, NOW).source_time == expected


@pytest.mark.parametrize(
    ("fault", "status", "code", "cause", "health"),
    [
        ("NvidiaErrorReboot", "Unhealthy", "NvidiaErrorReboot", C.HARDWARE, H.UNHEALTHY),
        ("EfaDeviceMissing", "Unhealthy", "EfaDeviceMissing", C.NETWORK, H.UNHEALTHY),
        ("XID Error (code=48)", "Unhealthy", "xid-48", C.HARDWARE, H.UNHEALTHY),
        ("XID Error (code=999)", "Unhealthy", "xid-999", C.UNKNOWN, H.UNHEALTHY),
        ("FluxCapacitor", "Degraded", "FluxCapacitor", C.UNKNOWN, H.UNHEALTHY),
        ("", "Unhealthy", "unhealthy", C.UNKNOWN, H.UNHEALTHY),
        (None, "Healthy", "healthy", C.UNKNOWN, H.HEALTHY),
    ],
)
def test_fault_types(fault, status, code, cause, health):
    envelope = load("node-health.unhealthy.repair-none")
    reason = fault and f"(HMA) has detected fault type {fault} on this node and is unhealthy."
    envelope["detail"]["HealthSummary"] |= {"HealthStatusReason": reason, "HealthStatus": status}
    event = read(envelope, NOW)
    assert (event.code, event.cause, event.health) == (code, cause, health)


@pytest.mark.parametrize("status", ["Healthy", "Unhealthy"])
def test_slurms_accounting_daemon(status):
    envelope = case(411, "c")
    metadata = {"SlurmHealth": {"Component": "Slurmdbd", "Status": status, "Reason": "DaemonDown"}}
    envelope["detail"]["EventDetails"]["EventDetails"]["EventMetadata"] = metadata
    event = read(envelope, NOW)
    assert (event.code, event.cause, event.health) == ("slurmdbd_unhealthy", C.CLUSTER, Health(status.lower()))


def test_a_replay_keeps_the_originals_id_and_loses_its_trust():
    original = load("node-health.unhealthy.repair-none")
    replay = {"source": "roundhouse.replay", "detail-type": "x", "id": "r-1", "detail": {"original": original}}
    event = read(replay, NOW)
    assert (event.source, event.source.trusted) == (Source.REPLAY, False)
    assert event.event_id == read(original, NOW).event_id
    with pytest.raises(MalformedEvent, match="replay of a replay"):
        read({**replay, "detail": {"original": replay}}, NOW)


def test_a_borrowed_name_earns_no_trust():
    forged = load("node-health.unhealthy.repair-none") | {"source": "custom.node"}
    assert read(forged, NOW).source is Source.REPLAY


def test_others_are_not_ours():
    assert read({"source": "aws.sagemaker", "detail-type": "SageMaker Model State Change", "detail": {}}, NOW) is None


@pytest.mark.parametrize(
    ("name", "path", "where"),
    [
        ("node-health.unhealthy.repair-none", ("detail", "InstanceId"), "detail.InstanceId"),
        ("node-health.unhealthy.repair-none", ("detail", "ClusterName"), "detail.ClusterName"),
        ("node-health.unhealthy.repair-none", ("detail", "HealthSummary"), "detail.HealthSummary"),
        ("node-health.unhealthy.repair-none", ("detail", "HealthSummary", "HealthStatus"), "HealthStatus"),
        ("node-health.unhealthy.repair-none", ("id",), "envelope.id"),
        ("node-health.unhealthy.repair-none", ("time",), "envelope.time"),
        ("cluster-event.instance-capacity-error", ("detail", "EventDetails"), "detail.EventDetails"),
        ("cluster-event.instance-capacity-error", ("detail", "EventDetails", "ClusterName"), "ClusterName"),
        ("cluster-state-change.failed", ("detail", "ClusterStatus"), "detail.ClusterStatus"),
    ],
)
def test_missing_members_are_named(name, path, where):
    envelope = load(name)
    inner = envelope
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    with pytest.raises(MalformedEvent, match=where):
        read(envelope, NOW)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = [*sorted(path.stem for path in (DATA / "events").glob("c*.json")), "node-health.unhealthy.repair-none"]


def paths(value, at=()):
    if isinstance(value, dict):
        for key, child in value.items():
            yield (*at, key)
            yield from paths(child, (*at, key))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(NAMES), st.data())
def test_any_member_may_be_anything(name, data):
    """Whatever stands in a member, the answer is an event, None, or MalformedEvent with a place: never a crash."""
    envelope = copy.deepcopy(load(name))
    path = data.draw(st.sampled_from(list(paths(envelope))))
    inner = envelope
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = data.draw(JSON)
    inner["Unheard"] = data.draw(JSON)
    event = None
    with contextlib.suppress(MalformedEvent):
        event = read(envelope, NOW)
    assert event is None or event.source_time.tzinfo is UTC
