"""VERIFIED, LOST or UNKNOWN: every kind of evidence alone, together, missing and contradictory."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundhouse.build.discount import DiscountFacts, DiscountVerdict, Verdict, began_at, verdict, verify_nodes
from roundhouse.build.records import BilledUsage, Capacity, Sighting
from roundhouse.build.sightings import collect
from roundhouse.build.spec import ClusterSpec
from roundhouse.line.state import Node, NodeStatus
from tests.build.samples import (
    BY_ACCOUNT,
    GPU,
    NO_DISCOUNT,
    T0,
    billed,
    cluster,
    found,
    group,
    minutes,
    nodes,
    not_found,
    passed,
    plan,
    run,
    sighted,
    spec,
)

BY_PLAN_SPEC = spec()
BY_ACCOUNT_SPEC = spec(group(discount=BY_ACCOUNT))
RESERVED, ON_DEMAND, UNUSED = "Cluster-Reserved", "Cluster", "Cluster-Reserved-Unused"
FULL = [billed(hour, RESERVED, 39, 8.0) for hour in (1, 2)]
RUNNING_SINCE = minutes(20)
SOON = minutes(30)
LATER = minutes(60 * 30)  # 30 hours: after the bill's lag and margin


def stage_facts(**changes: Any) -> DiscountFacts:
    made = DiscountFacts(
        began_at=T0,
        running_since=RUNNING_SINCE,
        sightings=sighted(39),
        plan=plan(39),
        plan_in_use_before=0,
        billed=(),
    )
    return replace(made, **changes)


def judged(of: ClusterSpec, now: datetime = SOON, running: int = 39, **changes: Any) -> Any:
    live = cluster(of, {"workers": running})
    return verdict(of, "workers", 39, cluster=live, facts=stage_facts(**changes), now=now)


@pytest.mark.parametrize(
    ("changes", "expected", "word"),
    [
        pytest.param({}, Verdict.VERIFIED, "InUse rose by 39", id="events and counters"),
        pytest.param(
            {"plan": plan(50), "plan_in_use_before": 11}, Verdict.VERIFIED, "39", id="others use the plan too"
        ),
        pytest.param({"plan": plan(50), "plan_in_use_before": 12}, Verdict.LOST, "rose by 38", id="one short"),
        pytest.param({"plan": plan(0)}, Verdict.LOST, "rose by 0", id="counter never moved"),
        pytest.param({"plan": None}, Verdict.UNKNOWN, "could not be read", id="no answer about the plan"),
        pytest.param({"plan": plan(39, arn="arn:other")}, Verdict.UNKNOWN, "could not be read", id="another plan"),
        pytest.param({"plan": plan(39, status="Expired")}, Verdict.UNKNOWN, "Expired", id="plan not active"),
        pytest.param({"plan_in_use_before": None}, Verdict.UNKNOWN, "before is not known", id="no baseline"),
        pytest.param({"sightings": ()}, Verdict.UNKNOWN, "39 of 39 nodes", id="no events at all"),
        pytest.param({"sightings": sighted(38)}, Verdict.UNKNOWN, "1 of 39", id="one node without event"),
        pytest.param({"sightings": sighted(38), "proven": ("i-workers-38",)}, Verdict.VERIFIED, "", id="proven before"),
        pytest.param(
            {"sightings": (*sighted(39), *sighted(1, Capacity.ON_DEMAND))},
            Verdict.LOST,
            "on-demand",
            id="one on demand",
        ),
        pytest.param({"billed": [billed(0, ON_DEMAND, 3, 16.0)]}, Verdict.LOST, "the bill", id="the bill disagrees"),
        pytest.param({"billed": [billed(1, RESERVED, 39, 8.0)]}, Verdict.VERIFIED, "", id="the bill agrees"),
        pytest.param({"billed": [billed(1, RESERVED, 39, 0.0)]}, Verdict.VERIFIED, "", id="plan paid up front"),
        pytest.param({"billed": [billed(1, RESERVED, 39, 12.0)]}, Verdict.UNKNOWN, "neither", id="odd price"),
    ],
)
def test_training_plan(changes: dict[str, Any], expected: Verdict, word: str) -> None:
    got = judged(BY_PLAN_SPEC, **changes)
    assert got.verdict is expected, got.reason
    assert word in got.reason


def test_a_counter_that_lags_is_waited_for_before_it_is_called_lost() -> None:
    early = judged(BY_PLAN_SPEC, now=minutes(22), plan=plan(30))
    assert (early.verdict, early.wait_until) == (Verdict.UNKNOWN, minutes(25))
    assert judged(BY_PLAN_SPEC, now=minutes(25), plan=plan(30)).verdict is Verdict.LOST


def test_events_that_are_missing_are_waited_for_and_then_people_are_asked() -> None:
    early = judged(BY_PLAN_SPEC, sightings=sighted(10))
    assert early.wait_until == RUNNING_SINCE + timedelta(hours=2)
    late = judged(BY_PLAN_SPEC, now=minutes(141), sightings=sighted(10))
    assert (late.verdict, late.wait_until) == (Verdict.UNKNOWN, None)


@pytest.mark.parametrize(
    ("changes", "now", "expected", "word"),
    [
        pytest.param({}, minutes(30), Verdict.UNKNOWN, "nothing of it yet", id="no bill yet"),
        pytest.param({}, LATER, Verdict.UNKNOWN, "was due by", id="bill never came"),
        pytest.param({"billed": FULL}, LATER, Verdict.VERIFIED, "billed as reserved", id="billed as reserved"),
        pytest.param({"billed": FULL[:1]}, minutes(130), Verdict.VERIFIED, "", id="one full hour is enough"),
        pytest.param({"billed": FULL[:1]}, minutes(110), Verdict.UNKNOWN, "", id="that hour is not over yet"),
        pytest.param({"billed": [billed(0, RESERVED, 39, 8.0)]}, LATER, Verdict.UNKNOWN, "", id="hour of the start"),
        pytest.param({"billed": [billed(1, RESERVED, 30, 8.0)]}, LATER, Verdict.UNKNOWN, "30.0 reserved", id="9 short"),
        pytest.param({"billed": [billed(1, ON_DEMAND, 39, 16.0)]}, LATER, Verdict.LOST, "39.00", id="first call latch"),
        pytest.param(
            {"billed": [*FULL, billed(2, ON_DEMAND, 1, 16.0)]},
            LATER,
            Verdict.LOST,
            "1.00 on-demand",
            id="one node of 39",
        ),
        pytest.param({"billed": [billed(1, RESERVED, 39, 16.0)]}, LATER, Verdict.LOST, "", id="reserved in name only"),
        pytest.param(
            {"billed": [billed(1, ON_DEMAND, 39, 8.0)]}, LATER, Verdict.UNKNOWN, "neither", id="contradiction"
        ),
        pytest.param(
            {"billed": [billed(1, "Host", 39, 8.0)]}, LATER, Verdict.VERIFIED, "", id="unknown name, price fits"
        ),
        pytest.param({"billed": [billed(1, "Host", 39, 16.0)]}, LATER, Verdict.LOST, "", id="unknown name, full price"),
        pytest.param(
            {"billed": [billed(1, UNUSED, 39, 8.0)]}, LATER, Verdict.UNKNOWN, "nothing", id="unused slots only"
        ),
        pytest.param(
            {"billed": [billed(1, RESERVED, 39, 8.0, "ml.p5.48xlarge")]},
            LATER,
            Verdict.UNKNOWN,
            "nothing",
            id="other type",
        ),
        pytest.param({"billed": FULL, "sightings": ()}, LATER, Verdict.UNKNOWN, "capacity event", id="bill, no events"),
        pytest.param(
            {"sightings": sighted(1, Capacity.ON_DEMAND)}, minutes(5), Verdict.LOST, "on-demand", id="on demand at once"
        ),
    ],
)
def test_account_reservation(changes: dict[str, Any], now: datetime, expected: Verdict, word: str) -> None:
    got = judged(BY_ACCOUNT_SPEC, now, **changes)
    assert got.verdict is expected, got.reason
    assert word in got.reason


def test_an_outstanding_bill_says_so_and_until_when_to_wait() -> None:
    got = judged(BY_ACCOUNT_SPEC)
    assert got.waits_for_bill
    assert got.wait_until == RUNNING_SINCE + timedelta(hours=28)
    assert judged(BY_ACCOUNT_SPEC, LATER).wait_until is None


def test_what_others_of_the_account_used_before_is_not_held_against_the_cluster() -> None:
    before = [billed(hour, ON_DEMAND, 4, 16.0) for hour in range(-24, 0)]
    during = [billed(hour, ON_DEMAND, 4, 16.0) for hour in (0, 1, 2)]
    assert judged(BY_ACCOUNT_SPEC, LATER, billed=[*before, *during, *FULL]).verdict is Verdict.VERIFIED
    one_more = [*before, billed(1, ON_DEMAND, 5, 16.0), *FULL]
    assert judged(BY_ACCOUNT_SPEC, LATER, billed=one_more).verdict is Verdict.LOST


def test_reserved_hours_of_others_do_not_prove_ours() -> None:
    others = [billed(hour, RESERVED, 39, 8.0) for hour in range(-24, 3)]
    assert judged(BY_ACCOUNT_SPEC, LATER, billed=others).verdict is Verdict.UNKNOWN


def test_a_group_of_the_same_type_without_discount_is_expected_on_the_bill() -> None:
    of = spec(group(discount=BY_ACCOUNT), group("spare", 2, (1.0,), NO_DISCOUNT))
    live = cluster(of, {"workers": 39, "spare": 2})

    def got(hours: float) -> Verdict:
        rows = [*FULL, billed(1, ON_DEMAND, hours, 16.0)]
        return verdict(of, "workers", 39, cluster=live, facts=stage_facts(billed=rows), now=LATER).verdict

    assert got(2) is Verdict.VERIFIED
    assert got(3) is Verdict.LOST


def test_two_groups_of_one_plan_are_counted_together() -> None:
    of = spec(group(), group("more", 10))
    live = cluster(of, {"workers": 39, "more": 6})
    assert (
        verdict(of, "workers", 39, cluster=live, facts=stage_facts(plan=plan(45)), now=LATER).verdict
        is Verdict.VERIFIED
    )
    assert verdict(of, "workers", 39, cluster=live, facts=stage_facts(plan=plan(39)), now=LATER).verdict is Verdict.LOST


def test_a_stage_that_is_not_full_is_unknown_but_lost_does_not_wait_for_it() -> None:
    assert judged(BY_PLAN_SPEC, running=38).verdict is Verdict.UNKNOWN
    assert judged(BY_PLAN_SPEC, running=3, sightings=sighted(1, Capacity.ON_DEMAND)).verdict is Verdict.LOST
    assert judged(BY_PLAN_SPEC, running=0, sightings=()).verdict is Verdict.UNKNOWN


def test_a_group_without_discount_has_nothing_to_lose() -> None:
    of = spec(group(discount=NO_DISCOUNT))
    assert judged(of, sightings=(), plan=None).verdict is Verdict.VERIFIED


def test_the_node_that_replaced_another_is_not_proved_by_its_predecessor() -> None:
    fresh = Node("i-new", "l-workers-0", "workers", NodeStatus.RUNNING, instance_type=GPU, launched_at=minutes(90))
    listed = [*nodes("controller", 1), fresh, *nodes("workers", 39)[1:]]
    live = cluster(BY_PLAN_SPEC, {"workers": 39}, listed=listed)
    old = verdict(BY_PLAN_SPEC, "workers", 39, cluster=live, facts=stage_facts(), now=minutes(100))
    assert old.verdict is Verdict.UNKNOWN
    assert "i-new" in old.reason
    seen = collect(sighted(39), [found(0, minutes(90))])
    new = verdict(BY_PLAN_SPEC, "workers", 39, cluster=live, facts=stage_facts(sightings=seen), now=minutes(100))
    assert new.verdict is Verdict.VERIFIED
    assert "i-new" in new.instances


def test_on_demand_sightings_of_another_group_do_not_matter_and_nameless_ones_do() -> None:
    other = sighted(1, Capacity.ON_DEMAND, "cpu")
    nameless = Sighting(Capacity.ON_DEMAND, T0, "e", "")
    assert judged(BY_PLAN_SPEC, sightings=(*sighted(39), *other)).verdict is Verdict.VERIFIED
    assert judged(BY_PLAN_SPEC, sightings=(*sighted(39), nameless)).verdict is Verdict.LOST


def test_a_reserved_event_that_names_no_node_proves_none() -> None:
    nameless = tuple(Sighting(Capacity.RESERVED, T0, f"n{i}", "workers") for i in range(39))
    assert judged(BY_PLAN_SPEC, sightings=nameless).verdict is Verdict.UNKNOWN


def test_a_creation_began_with_its_oldest_stage() -> None:
    assert began_at(run(started_at=minutes(60))) == minutes(60)
    assert began_at(run(passed("workers", 0, 39), started_at=minutes(60))) == T0


# Repairs ---------------------------------------------------------------------------------------------------------
REPAIRED_AT = minutes(600)
NEW = Node("i-new", "l-workers-0", "workers", NodeStatus.RUNNING, instance_type=GPU, launched_at=minutes(605))


def repaired(of: ClusterSpec, now: datetime, **changes: Any) -> Any:
    listed = [*nodes("controller", 1), NEW, *nodes("workers", 64)[1:]]
    live = cluster(of, {"workers": 64}, listed=listed)
    seen = collect((), [found(0, minutes(605))])
    made = stage_facts(began_at=REPAIRED_AT, running_since=minutes(615), sightings=seen, plan=plan(64))
    return verify_nodes(of, "workers", ["i-new"], cluster=live, facts=replace(made, **changes), now=now)


def day(reserved: float, on_demand: float = 0) -> list[BilledUsage]:
    before = [billed(hour, RESERVED, 64, 8.0) for hour in range(-10, 10)]
    after = [billed(hour, RESERVED, reserved, 8.0) for hour in range(11, 14)]
    return [*before, *after, *([billed(12, ON_DEMAND, on_demand, 16.0)] if on_demand else [])]


@pytest.mark.parametrize(
    ("of", "changes", "expected"),
    [
        pytest.param(BY_PLAN_SPEC, {}, Verdict.VERIFIED, id="plan: event and counter"),
        pytest.param(BY_PLAN_SPEC, {"plan": plan(63)}, Verdict.LOST, id="plan: counter one short"),
        pytest.param(BY_PLAN_SPEC, {"sightings": sighted(64)}, Verdict.UNKNOWN, id="only events of the old node"),
        pytest.param(
            BY_PLAN_SPEC, {"sightings": collect((), [not_found(0, minutes(605))])}, Verdict.LOST, id="on demand"
        ),
        pytest.param(
            BY_PLAN_SPEC,
            {"sightings": collect((), [found(0, minutes(605)), not_found(7, minutes(300))])},
            Verdict.VERIFIED,
            id="somebody else's on-demand launch, long ago",
        ),
        pytest.param(BY_ACCOUNT_SPEC, {}, Verdict.UNKNOWN, id="account: no bill yet"),
        pytest.param(BY_ACCOUNT_SPEC, {"billed": day(64)}, Verdict.VERIFIED, id="account: billed as reserved"),
        pytest.param(BY_ACCOUNT_SPEC, {"billed": day(63, 1)}, Verdict.LOST, id="account: billed on demand"),
        pytest.param(spec(group(discount=NO_DISCOUNT)), {"sightings": ()}, Verdict.VERIFIED, id="no discount"),
    ],
)
def test_repaired_nodes(of: ClusterSpec, changes: dict[str, Any], expected: Verdict) -> None:
    now = minutes(60 * 45) if changes.get("billed") else minutes(700)
    got = repaired(of, now, **changes)
    assert got.verdict is expected, got.reason
    assert got.waits_for_bill == (of is BY_ACCOUNT_SPEC and not changes)


def test_an_instance_that_is_not_there_is_unknown() -> None:
    live = cluster(BY_PLAN_SPEC, {"workers": 64})
    got = verify_nodes(BY_PLAN_SPEC, "workers", ["i-gone"], cluster=live, facts=stage_facts(), now=LATER)
    assert got.verdict is Verdict.UNKNOWN
    assert "i-gone" in got.reason
    empty = verify_nodes(BY_PLAN_SPEC, "workers", [], cluster=live, facts=stage_facts(), now=LATER)
    assert empty.verdict is Verdict.UNKNOWN


# Properties ------------------------------------------------------------------------------------------------------
Rows = st.lists(
    st.builds(
        billed,
        st.integers(-3, 6),
        st.sampled_from([RESERVED, ON_DEMAND, UNUSED, "Host"]),
        st.floats(0, 80),
        st.sampled_from([0.0, 8.0, 12.0, 16.0]),
    ),
    max_size=8,
)


@given(
    of=st.sampled_from([BY_PLAN_SPEC, BY_ACCOUNT_SPEC]),
    running=st.integers(0, 45),
    seen=st.integers(0, 45),
    on_demand=st.integers(0, 2),
    in_use=st.one_of(st.none(), st.integers(0, 64)),
    before=st.one_of(st.none(), st.integers(0, 64)),
    rows=Rows,
    hours=st.integers(0, 40),
)
def test_verified_never_rests_on_missing_evidence(
    of: ClusterSpec,
    running: int,
    seen: int,
    on_demand: int,
    in_use: int | None,
    before: int | None,
    rows: list[BilledUsage],
    hours: int,
) -> None:
    got = judged(
        of,
        T0 + timedelta(hours=hours),
        running,
        sightings=(*sighted(seen), *sighted(on_demand, Capacity.ON_DEMAND)),
        plan=None if in_use is None else plan(in_use),
        plan_in_use_before=before,
        billed=rows,
    )
    if on_demand:
        assert got.verdict is Verdict.LOST
    if got.verdict is Verdict.VERIFIED:
        assert running >= 39
        assert seen >= running
        assert got.billed_on_demand_hours == 0
        if of is BY_PLAN_SPEC:
            assert in_use is not None
            assert before is not None
            assert in_use - before >= running
        else:
            assert sum(row.hours for row in rows if row.hour >= T0 and "Unused" not in row.usage_type) >= running * 0.99


# Legacy: there are no events ---------------------------------------------------------------------------------------
def legacy_verdict(rise: int, at: datetime, **facts: Any) -> DiscountVerdict:
    of = spec(provisioning_mode="legacy")
    made = DiscountFacts(began_at=T0, running_since=T0, plan=plan(in_use=rise), plan_in_use_before=0, **facts)
    live = replace(cluster(of, {"workers": 39}), continuous=False)
    return verdict(of, "workers", 39, cluster=live, facts=made, now=at)


@pytest.mark.parametrize(
    ("rise", "at", "wanted"),
    [
        (39, 1, Verdict.VERIFIED),
        (38, 1, Verdict.UNKNOWN),
        (38, 10, Verdict.LOST),
        (0, 10, Verdict.LOST),
        (40, 10, Verdict.UNKNOWN),
    ],
)
def test_without_events_the_counters_must_rise_by_exactly_what_runs(rise: int, at: float, wanted: Verdict) -> None:
    assert legacy_verdict(rise, minutes(at)).verdict is wanted


def test_a_plan_that_others_use_too_waits_for_the_bill_and_goes_by_it() -> None:
    waiting = legacy_verdict(40, minutes(600))
    assert (waiting.verdict, waiting.waits_for_bill) == (Verdict.UNKNOWN, True)
    proof = legacy_verdict(40, minutes(600), billed=(billed(1, "Cluster-Reserved", 39.0, 8.0),))
    assert proof.verdict is Verdict.VERIFIED
    lost = legacy_verdict(40, minutes(600), billed=(billed(1, "Cluster", 39.0, 16.0),))
    assert lost.verdict is Verdict.LOST
