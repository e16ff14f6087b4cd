from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from roundhouse.errors import MalformedEvent
from roundhouse.line.event import CauseClass, Health, Source
from roundhouse.triage.slurm_snapshot import read

C = CauseClass
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def detail(*nodes, sequence=1, age=10, **changes):
    made = {
        "version": 1,
        "cluster": "train-a",
        "sequence": sequence,
        "taken_at": (NOW - timedelta(seconds=age)).isoformat(),
        "nodes": [{"name": n, "state": s, "reason": r, "jobs": []} for n, s, r in nodes],
    }
    return made | changes


def one(state, reason="", previous=None, sequence=1, age=10):
    return read(detail(("ip-10-1-2-3", state, reason), sequence=sequence, age=age), NOW, previous)


@pytest.mark.parametrize(
    ("state", "reason", "code", "cause"),
    [
        ("DOWN+NOT_RESPONDING", "Not responding [root@2026-11-30T02:56:11]", "slurm_not_responding", C.UNREACHABLE),
        ("down*", "", "slurm_not_responding", C.UNREACHABLE),
        ("idle*", "", "slurm_not_responding", C.UNREACHABLE),
        ("alloc*", "", "slurm_not_responding", C.UNREACHABLE),
        ("DOWN*", "admin: old note of last week", "slurm_not_responding", C.UNREACHABLE),
        ("DOWN", "Node unexpectedly rebooted", "slurm_down", C.UNREACHABLE),
        ("IDLE+DRAIN", "Kill task failed", "slurm_kill_task_failed", C.UNREACHABLE),
        ("DOWN+DRAIN+NOT_RESPONDING", "roundhouse: inc-1", "slurm_not_responding", C.UNREACHABLE),
        ("IDLE+FAIL", "Action: Replace", "slurm_fail_reason_ignored", C.UNKNOWN),
        ("fail", "action:reboot", "slurm_fail_reason_ignored", C.UNKNOWN),
        ("UNKNOWN+DRAIN+INVALID_REG", "gres/gpu count reported lower (4 < 8)", "slurm_gpu_count", C.HARDWARE),
        ("inval", "", "slurm_invalid_registration", C.UNKNOWN),
    ],
)
def test_nodes_in_trouble(state, reason, code, cause):
    (event,) = one(state, reason).events
    assert (event.code, event.cause, event.health) == (code, cause, Health.UNHEALTHY)
    assert (event.source, event.source.trusted, event.slurm_name) == (Source.SLURM, False, "ip-10-1-2-3")


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("IDLE", ""),
        ("MIXED+COMPLETING", ""),
        ("alloc+", ""),
        ("IDLE+DRAIN", "admin: broken fan, ticket 42 [root@2026-11-30T02:55:45]"),
        ("DOWN+DRAIN+NOT_RESPONDING", "hc drain on down"),
        ("DOWN", "admin: broken fan, ticket 42"),
        ("DOWN+CLOUD+POWERED_DOWN+NOT_RESPONDING", ""),
        ("down~", ""),
        ("idle~", ""),
        ("ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP", ""),
        ("idle%", "pd"),
        ("DOWN+REBOOT_ISSUED", "hp reboot : reboot issued"),
        ("IDLE+MAINTENANCE+RESERVED", ""),
        ("foo", ""),
        ("idle?", ""),
    ],
)
def test_nodes_that_are_nobodys_business(state, reason):
    reading = one(state, reason)
    assert reading.events == ()
    assert reading.snapshot.nodes["ip-10-1-2-3"].state == state


@pytest.mark.parametrize(
    ("reason", "action"), [("Action:Replace", "replace"), ("Action:Reboot [root@2026-11-30T02:55:49]", "reboot")]
)
def test_a_fail_that_hyperpod_obeys_is_a_repair_of_its_own(reason, action):
    (event,) = one("IDLE+FAIL", reason).events
    assert (event.health, event.proposed_action, event.repair_begun) == (Health.INFO, action, True)


def test_only_changes_are_told_and_recoveries_are():
    first = one("DOWN*")
    second = one("DOWN*", previous=first.snapshot, sequence=2, age=5)
    assert second.events == ()
    back = one("IDLE", previous=second.snapshot, sequence=3, age=1)
    assert [(e.code, e.cause, e.health) for e in back.events] == [
        ("slurm_not_responding", C.UNREACHABLE, Health.HEALTHY)
    ]


@pytest.mark.parametrize("state", ["DOWN+DRAIN+NOT_RESPONDING", "down~", "foo", "idle#"])
def test_what_is_not_seen_to_serve_is_no_recovery(state):
    first = one("DOWN*")
    assert one(state, "bob: hands off", previous=first.snapshot, sequence=2, age=5).events == ()


def test_drained_and_answering_is_back():
    back = one("IDLE+DRAIN", "bob: hands off", previous=one("DOWN*").snapshot, sequence=2, age=5)
    assert [e.health for e in back.events] == [Health.HEALTHY]


def test_another_instance_under_the_name_is_told_anew():
    def with_instance(instance, sequence, previous=None):
        nodes = [{"name": "ip-1", "state": "DOWN*", "jobs": [7], "instance_id": instance}]
        return read(detail(sequence=sequence, age=20 - sequence, nodes=nodes), NOW, previous)

    first = with_instance("i-0aaa0000000000001", 1)
    again = with_instance("i-0bbb0000000000002", 2, first.snapshot)
    assert [e.instance_id for e in again.events] == ["i-0bbb0000000000002"]
    assert first.snapshot.nodes["ip-1"].jobs == (7,)
    assert with_instance("i-0bbb0000000000002", 3, again.snapshot).events == ()


def test_an_empty_list_is_unknown_and_never_a_recovery():
    reading = read(detail(sequence=2, age=1), NOW, one("DOWN*").snapshot)
    assert reading.events == ()
    assert "unknown" in reading.unknown


def test_a_node_that_is_missing_is_no_recovery():
    first = read(detail(("ip-1", "DOWN*", ""), ("ip-2", "IDLE", "")), NOW)
    assert read(detail(("ip-2", "IDLE", ""), sequence=2, age=1), NOW, first.snapshot).events == ()


def test_old_and_repeated_snapshots_tell_nothing():
    kept = one("DOWN*", sequence=7, age=10).snapshot
    for sequence, age in ((7, 10), (6, 40)):
        stale = one("IDLE", previous=kept, sequence=sequence, age=age)
        assert (stale.events, stale.snapshot) == ((), None)
        assert stale.unknown


def test_a_clock_that_runs_ahead_makes_no_snapshot_that_never_ages():
    ahead = one("DOWN*", age=-3600)
    assert ahead.snapshot.taken_at == NOW
    assert ahead.events[0].source_time == NOW
    later = read(detail(("ip-10-1-2-3", "DOWN*", ""), age=-3600), NOW + timedelta(seconds=5))
    assert later.events[0].event_id == ahead.events[0].event_id  # the same message, delivered again


def test_a_reason_of_any_length_is_read_at_once_and_kept_in_part():
    reading = one("IDLE+DRAIN", "[" + "@" * 200_000)
    assert reading.events == ()
    assert len(reading.snapshot.nodes["ip-10-1-2-3"].reason) == 500


def test_event_ids_are_those_of_the_snapshot():
    assert one("DOWN*").events[0].event_id == one("DOWN*").events[0].event_id
    assert one("DOWN*").events[0].event_id != one("DOWN*", sequence=2).events[0].event_id


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"version": 2}, "detail.version"),
        ({"cluster": ""}, "detail.cluster"),
        ({"sequence": "7"}, "detail.sequence"),
        ({"nodes": None}, "detail.nodes"),
        ({"nodes": [{"name": "a"}]}, r"nodes\[0\].state"),
        ({"nodes": [7]}, r"nodes\[0\]"),
        ({"nodes": [{"name": "a", "state": "IDLE", "jobs": ["x"]}]}, "jobs"),
        ({"taken_at": "yesterday"}, "detail.taken_at"),
    ],
)
def test_malformed_snapshots_are_named(change, where):
    with pytest.raises(MalformedEvent, match=where):
        read(detail(("a", "IDLE", "")) | change, NOW)
