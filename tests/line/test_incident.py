from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundhouse.codec import from_json, to_json
from roundhouse.line.event import LOST_READY, CauseClass, Event, Health, Source
from roundhouse.line.incident import (
    Attempt,
    Incident,
    IncidentState,
    IntakeVerdict,
    Outcome,
    admit,
    begin_step,
    close,
    end_step,
    incident_key,
    subject_of,
    target_instance,
    with_attempt,
    with_event,
    with_result,
)
from roundhouse.line.ladder import Rung
from roundhouse.line.state import Group, NodeStatus
from roundhouse.triage.hyperpod import read
from tests.line.build import CLUSTER, NOW, ago, case, cluster, event, iid, incident, node, policy

POLICY = policy()


def feed(events, live, now=NOW, known=()):
    """Admit events one after the other, as intake does; returns all incidents and the verdicts."""
    store: dict[str, Incident] = {i.incident_id: i for i in known}
    verdicts = []
    for one in events:
        intake = admit(one, list(store.values()), live, POLICY, now)
        verdicts.append(intake.verdict)
        for changed in (intake.incident, *intake.recovered):
            if changed is not None:
                store[changed.incident_id] = changed
    return store, verdicts


def needing_a_look(store):
    return sorted(
        i.instance_id for i in store.values() if i.state is not IncidentState.CLOSED and i.health == "unhealthy"
    )


# Case 405 --------------------------------------------------------------------------------------------------------
LIVE_405 = cluster(node(1, instance_id="i-0aaa0000000000001"), name="train-a")
NOW_405 = read(case(405, "delivery.jsonl")[0], NOW).source_time + timedelta(minutes=1)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (0, 2, 1), (1, 0, 2), (2, 1, 0)])
def test_duplicates_and_a_late_healthy_start_one_workflow_and_change_nothing(order):
    expected = case(405, "expected.json")
    deliveries = [read(case(405, "delivery.jsonl")[i], NOW_405) for i in order]
    store, verdicts = feed(deliveries, LIVE_405, NOW_405)
    assert verdicts.count(IntakeVerdict.OPEN) == expected["workflows_started"]
    assert needing_a_look(store) == ["i-0aaa0000000000001"]
    open_ones = [i for i in store.values() if i.state is not IncidentState.CLOSED]
    assert [(i.health, i.event_count) for i in open_ones] == [(expected["state"].lower(), 1)]


@pytest.mark.parametrize("known", [True, False])
def test_yesterdays_event_is_a_note_and_no_action(known):
    before = [read(one, NOW_405) for one in case(405, "delivery.jsonl")] if known else []
    store, _ = feed(before, LIVE_405, NOW_405)
    intake = admit(read(case(405, "late.json"), NOW_405), list(store.values()), LIVE_405, POLICY, NOW_405)
    assert (intake.verdict, intake.incident) == (IntakeVerdict.NOTE, None)


# Case 407 --------------------------------------------------------------------------------------------------------
def live_407(counts):
    described = case(407, counts)
    groups = {
        g["InstanceGroupName"]: Group(g["InstanceGroupName"], "t", g["CurrentCount"], g["TargetCount"])
        for g in described["InstanceGroups"]
    }
    return cluster(size=11, groups=groups, status=described["ClusterStatus"])


@pytest.mark.parametrize("variant", ["a", "b"])
def test_scaling_noise(variant):
    one = read(case(407, "event.json"), NOW)
    now = one.source_time + timedelta(seconds=30)
    intake = admit(one, [], live_407(f"{variant}-describe.json"), POLICY, now)
    assert (intake.verdict is IntakeVerdict.OPEN) is case(407, "expected.json")[variant]["incident"]
    if intake.incident:
        assert (intake.incident.cause, intake.incident.code) == (CauseClass.CLUSTER, LOST_READY)


def test_scaling_noise_is_judged_by_its_own_group_and_without_one_by_all():
    live = live_407("b-describe.json")
    scaling = replace(live, groups={**live.groups, "other": Group("other", "t", 3, 5)})
    one = replace(read(case(407, "event.json"), NOW), source_time=ago(10))
    assert admit(one, [], scaling, POLICY, NOW).verdict is IntakeVerdict.OPEN
    assert admit(replace(one, group=None), [], scaling, POLICY, NOW).verdict is IntakeVerdict.IGNORE


# Case 411, intake's part -----------------------------------------------------------------------------------------
def test_a_loop_of_failed_launches_is_one_incident_per_group():
    shortage = read(case(411, "a.json"), NOW)
    now = shortage.source_time + timedelta(hours=1)
    start = shortage.source_time
    retries = [
        replace(shortage, event_id=f"e-{n}", instance_id=iid(900 + n), source_time=start + timedelta(minutes=n))
        for n in range(40)
    ]
    store, verdicts = feed(retries, cluster(), now)
    assert verdicts == [IntakeVerdict.OPEN] + [IntakeVerdict.JOIN] * 39
    assert [i.instance_id for i in store.values()] == ["group:workers"]


def test_an_efa_failure_is_kept_by_node_since_every_retry_has_another_instance():
    failed = read(case(411, "b.json"), NOW)
    now = failed.source_time + timedelta(minutes=20)
    again = replace(failed, event_id="e-2", instance_id=iid(77), source_time=failed.source_time + timedelta(minutes=9))
    store, verdicts = feed([failed, again], cluster(), now)
    assert verdicts == [IntakeVerdict.OPEN, IntakeVerdict.JOIN]
    assert [i.instance_id for i in store.values()] == ["node:n-2"]


@pytest.mark.parametrize("first_has_node", [True, False])
def test_the_paired_events_of_one_failed_launch_are_one_incident(first_has_node):
    failed = replace(read(case(411, "b.json"), NOW), source_time=ago(60))
    twin = replace(failed, event_id="twin", logical_id=None, source_time=ago(59))
    store, verdicts = feed([failed, twin] if first_has_node else [twin, failed], cluster())
    assert verdicts == [IntakeVerdict.OPEN, IntakeVerdict.JOIN]
    assert len(store) == 1


# Their kind ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("one", "live", "verdict", "words"),
    [
        pytest.param(event(), cluster(), IntakeVerdict.OPEN, "hardware", id="a fault on a live node"),
        pytest.param(event(), None, IntakeVerdict.OPEN, "hardware", id="live state unknown: a look"),
        pytest.param(
            event(), cluster(nodes=()), IntakeVerdict.OPEN, "hardware", id="an empty list is unknown, not gone"
        ),
        pytest.param(event(99), cluster(), IntakeVerdict.IGNORE, "gone", id="an instance that is not there"),
        pytest.param(
            event(99, logical_id="n-1"),
            cluster(),
            IntakeVerdict.IGNORE,
            iid(1),
            id="replaced under the same logical id",
        ),
        pytest.param(event(cluster="other"), cluster(), IntakeVerdict.IGNORE, "other", id="another cluster"),
        pytest.param(event(source_time=ago(14401)), cluster(), IntakeVerdict.NOTE, "old", id="older than the limit"),
        pytest.param(event(source_time=ago(14399)), cluster(), IntakeVerdict.OPEN, "", id="not older than the limit"),
        pytest.param(event(health=Health.INFO), cluster(), IntakeVerdict.IGNORE, "information", id="information"),
        pytest.param(event(source=Source.REPLAY), cluster(), IntakeVerdict.NOTE, "recorded", id="replayed"),
        pytest.param(event(source=Source.REPLAY), None, IntakeVerdict.NOTE, "recorded", id="replayed, state unknown"),
        pytest.param(
            event(source=Source.REPLAY),
            cluster(node(1, NodeStatus.FAILURE)),
            IntakeVerdict.OPEN,
            "",
            id="replayed and true",
        ),
        pytest.param(
            event(instance_id=None, slurm_name="ip-10-1-2-1", source=Source.SLURM, cause=CauseClass.UNREACHABLE),
            cluster(),
            IntakeVerdict.OPEN,
            iid(1),
            id="found by its Slurm name",
        ),
        pytest.param(
            event(instance_id=None, slurm_name="ip-10-1-2-1", source=Source.SLURM, source_time=ago(600)),
            cluster(node(1, launched_at=ago(300))),
            IntakeVerdict.IGNORE,
            "took over the name",
            id="said of the former instance of that name",
        ),
        pytest.param(
            event(instance_id=None, slurm_name="ip-10-9-9-9", source=Source.SLURM),
            cluster(),
            IntakeVerdict.IGNORE,
            "gone",
            id="a name that no instance carries",
        ),
        pytest.param(
            event(instance_id="i-0ccc0000000000001"), cluster(), IntakeVerdict.OPEN, "", id="the controller, for people"
        ),
    ],
)
def test_what_one_event_means(one, live, verdict, words):
    intake = admit(one, [], live, POLICY, NOW)
    assert intake.verdict is verdict
    assert words in intake.reason


def test_an_event_from_before_the_last_ending_is_nothing_and_a_later_one_a_new_occurrence():
    ended = close(incident(last_event_at=ago(900)), Outcome.REPAIRED, ago(300), "done")
    assert admit(event(source_time=ago(301)), [ended], cluster(), POLICY, NOW).verdict is IntakeVerdict.IGNORE
    again = admit(event(source_time=ago(299)), [ended], cluster(), POLICY, NOW)
    assert again.verdict is IntakeVerdict.OPEN
    assert again.incident.incident_id == incident_key(CLUSTER, iid(1), CauseClass.HARDWARE, 2)


@pytest.mark.parametrize(
    ("seconds_ago", "wanted"), [(501, IntakeVerdict.IGNORE), (500, IntakeVerdict.OPEN), (301, IntakeVerdict.OPEN)]
)
def test_bad_news_from_after_the_good_ones_are_not_lost_because_they_arrive_after_the_end(seconds_ago, wanted):
    healthy = event(health=Health.HEALTHY, event_id="good", source_time=ago(500))
    (well,) = admit(healthy, [incident(last_event_at=ago(900))], cluster(), POLICY, NOW).recovered
    ended = close(well, Outcome.RECOVERED, ago(300), "healthy again")
    late = event(event_id="late", source_time=ago(seconds_ago))
    assert admit(late, [ended], cluster(), POLICY, NOW).verdict is wanted


@pytest.mark.parametrize("outcome", list(Outcome))
def test_people_who_know_are_not_asked_again_within_the_hour(outcome):
    ended = close(incident(), outcome, ago(600), "done")
    intake = admit(event(), [ended], cluster(), POLICY, NOW)
    rests = outcome in {Outcome.DENIED, Outcome.ESCALATED, Outcome.OBSERVED}
    assert intake.verdict is (IntakeVerdict.NOTE if rests else IntakeVerdict.OPEN)
    long_ago = replace(ended, closed_at=ago(3601))
    assert admit(event(), [long_ago], cluster(), POLICY, NOW).verdict is IntakeVerdict.OPEN


def test_healthy_recovers_every_cause_when_hyperpod_says_it_and_only_its_own_otherwise():
    hard = incident(last_event_at=ago(500))
    lost = incident(incident_id="inc-2-1", cause=CauseClass.UNREACHABLE, last_event_at=ago(500), trusted=False)
    other = incident(2, incident_id="inc-3-1", last_event_at=ago(500))
    good = event(health=Health.HEALTHY, cause=CauseClass.UNKNOWN)
    intake = admit(good, [hard, lost, other], cluster(), POLICY, NOW)
    assert intake.verdict is IntakeVerdict.RECOVER
    assert {i.incident_id for i in intake.recovered} == {hard.incident_id, lost.incident_id}
    assert all(i.health == "healthy" for i in intake.recovered)
    slurm = replace(good, source=Source.SLURM, cause=CauseClass.UNREACHABLE)
    assert [i.incident_id for i in admit(slurm, [hard, lost], cluster(), POLICY, NOW).recovered] == ["inc-2-1"]


def test_a_replacement_that_reports_healthy_recovers_the_incident_of_its_node():
    moved = incident(current_instance_id=iid(2), last_event_at=ago(900))
    good = event(2, health=Health.HEALTHY, cause=CauseClass.UNKNOWN)
    assert admit(good, [moved], cluster(), POLICY, NOW).recovered[0].incident_id == moved.incident_id


def test_an_unhealthy_overtaken_by_a_healthy_that_came_first_is_nothing():
    good = event(event_id="e-good", health=Health.HEALTHY, cause=CauseClass.UNKNOWN, source_time=ago(10))
    store, verdicts = feed([good, event(source_time=ago(60))], cluster())
    assert verdicts == [IntakeVerdict.NOTE, IntakeVerdict.IGNORE]
    assert needing_a_look(store) == []


def test_a_clock_that_runs_ahead_does_not_outrank_later_news():
    store, _ = feed([event(source_time=NOW + timedelta(days=900))], cluster())
    good = event(
        event_id="e-2", health=Health.HEALTHY, cause=CauseClass.UNKNOWN, source_time=NOW + timedelta(seconds=30)
    )
    _, verdicts = feed([good], cluster(), NOW + timedelta(seconds=60), store.values())
    assert verdicts == [IntakeVerdict.RECOVER]


def test_hyperpods_start_of_a_repair_is_written_into_the_open_incident():
    started = event(event_id="e-2", health=Health.INFO, repair_begun=True, source=Source.CLUSTER_EVENT)
    intake = admit(started, [incident()], cluster(), POLICY, NOW)
    assert intake.verdict is IntakeVerdict.TOLD
    assert (intake.incident.repair_begun, intake.incident.health) == (True, "unhealthy")


def test_log_record_and_health_event_of_one_fault_are_one_incident():
    log = event(event_id="log-1", source=Source.HEALTH_AGENT_LOG, code="xid-79", source_time=ago(61))
    for pair in ([log, event()], [event(), log]):
        store, _ = feed(pair, cluster())
        assert [(i.trusted, i.event_count, i.code) for i in store.values()] == [(True, 2, "NvidiaErrorTerminate")]


SMALL = cluster(size=4)
EVENTS = st.lists(
    st.builds(
        lambda n, bad, age, source, key: event(
            n,
            event_id=f"{n}-{key}",
            health=Health.UNHEALTHY if bad else Health.HEALTHY,
            cause=CauseClass.HARDWARE,
            source_time=ago(age),
            source=source,
        ),
        st.integers(1, 3),
        st.booleans(),
        st.integers(1, 3000),
        st.just(Source.NODE_HEALTH),
        st.integers(0, 40),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda e: e.event_id,
)


@settings(max_examples=200, deadline=None)
@given(EVENTS, st.randoms(use_true_random=False))
def test_order_and_repetition_of_events_do_not_matter(events, random):
    once, _ = feed(sorted(events, key=lambda e: e.source_time), SMALL)
    shuffled = [*events, *random.sample(events, len(events) // 2)]
    random.shuffle(shuffled)
    again, _ = feed(shuffled, SMALL)
    assert needing_a_look(again) == needing_a_look(once)
    newest = {
        e.instance_id: max((x.source_time, x.health == "unhealthy") for x in events if x.instance_id == e.instance_id)
        for e in events
    }
    assert needing_a_look(again) == sorted(i for i, (_, bad) in newest.items() if bad)
    for one in again.values():
        if one.instance_id in needing_a_look(again) and one.state is not IncidentState.CLOSED:
            assert one.last_event_at == newest[one.instance_id][0]


@given(st.text(min_size=1), st.text(min_size=1), st.sampled_from(CauseClass), st.integers(1, 99))
def test_incident_ids_are_stable_and_fit_an_execution_name(name, instance, cause, occurrence):
    key = incident_key(name, instance, cause, occurrence)
    assert key == incident_key(name, instance, cause, occurrence)
    assert len(key) <= 80
    assert all(c.isalnum() or c == "-" for c in key)
    assert key != incident_key(name, instance + "x", cause, occurrence)


# Evolution -------------------------------------------------------------------------------------------------------
def test_sizes_are_bounded_whatever_rains_on_an_incident():
    grown = incident()
    for n in range(300):
        grown = with_event(grown, event(event_id=f"e-{n}", evidence="x" * 2000, source_time=ago(300 - n)))
        grown = end_step(begin_step(grown, f"s-{n}", NOW, "y" * 2000), f"s-{n}", NOW)
        grown = with_attempt(grown, Attempt(Rung.REBOOT, iid(1), NOW))
    assert (len(grown.evidence), len(grown.steps), len(grown.attempts), grown.event_count) == (20, 60, 20, 301)
    assert grown.evidence[-1].event_id == "e-299"
    text = to_json(grown)
    assert len(text) < 100_000
    assert from_json(Incident, text) == grown


def test_steps_begin_once_and_end_with_a_detail():
    running = begin_step(begin_step(incident(), "held", ago(60), "breaker"), "held", NOW, "again")
    assert [(s.name, s.started_at, s.detail) for s in running.steps] == [("held", ago(60), "breaker")]
    ended = end_step(running, "held", NOW)
    assert [(s.ended_at, s.detail) for s in ended.steps] == [(NOW, "breaker")]
    assert end_step(incident(), "proof", NOW, "passed").steps[0].detail == "passed"


def test_results_and_endings():
    tried = with_result(with_attempt(incident(), Attempt(Rung.REBOOT, iid(1), NOW)), "failed")
    assert tried.attempts[-1].result == "failed"
    assert with_result(incident(), "failed") == incident()
    ended = close(begin_step(tried, "proof", ago(5)), Outcome.REPAIRED, NOW, "fine")
    assert (ended.state, ended.outcome, ended.closed_at, ended.steps[-1].ended_at) == (
        IncidentState.CLOSED,
        Outcome.REPAIRED,
        NOW,
        NOW,
    )
    assert close(ended, Outcome.DENIED, NOW, "no") is ended
    assert target_instance(replace(tried, current_instance_id=iid(5))) == iid(5)


@pytest.mark.parametrize(
    ("changes", "subject"),
    [
        ({}, iid(1)),
        ({"cause": CauseClass.CAPACITY, "group": "workers"}, "group:workers"),
        ({"cause": CauseClass.CAPACITY}, "cluster"),
        ({"cause": CauseClass.CLUSTER}, "cluster"),
        ({"cause": CauseClass.LIFECYCLE, "logical_id": "n-1"}, "node:n-1"),
        ({"cause": CauseClass.LIFECYCLE}, iid(1)),
        ({"instance_id": None, "logical_id": "n-1"}, "node:n-1"),
        ({"instance_id": None, "slurm_name": "ip-1"}, "name:ip-1"),
        ({"instance_id": None, "group": "workers"}, "group:workers"),
        ({"instance_id": None}, "cluster"),
    ],
)
def test_subjects(changes, subject):
    assert subject_of(replace(event(), **changes)) == subject


def test_an_event_with_bad_news_wins_a_tie():
    both = [event(event_id="a", source_time=ago(9)), event(event_id="b", health=Health.HEALTHY, source_time=ago(9))]
    for pair in (both, both[::-1]):
        first: Event = pair[0]
        grown = with_event(with_event(incident(last_event_at=ago(99)), first), pair[1])
        assert grown.health == "unhealthy"
