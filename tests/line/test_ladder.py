from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roundhouse.contracts.ledger import LedgerEntry, LedgerState
from roundhouse.line.incident import Attempt
from roundhouse.line.ladder import History, Rung, next_rung
from roundhouse.line.policy import Budget
from tests.line.build import CLUSTER, NOW, ago, iid, policy

FULL = (Rung.REBOOT, Rung.REPLACE, Rung.DELETE_RESTORE, Rung.HUMAN)


def choose(ladder=FULL, attempts=(), entries=(), rules=None, tries=1):
    return next_rung(
        ladder, attempts, History.of(entries), rules or policy(), iid(1), "n-1", NOW, incident_id="inc-1-1", tries=tries
    )


def used(kind, number=1, age=60.0, state=LedgerState.CONFIRMED, incident_id="inc-9-1", logical="n-1"):
    return LedgerEntry(
        f"{kind}{number}{age}", CLUSTER, kind, iid(number), incident_id, state, ago(age), ago(age), None, logical
    )


def test_defaults_are_not_zero():
    assert Budget().per_day > 0
    assert Budget().cooldown_s > 0


def test_it_climbs_one_rung_after_the_other():
    attempts: tuple[Attempt, ...] = ()
    seen = []
    for _ in FULL:
        rung = choose(attempts=attempts).rung
        seen.append(rung)
        attempts = (*attempts, Attempt(rung, iid(1), NOW, "failed"))
    assert tuple(seen) == FULL


def test_a_gentler_rung_is_not_tried_after_a_harder_one():
    assert choose(attempts=(Attempt(Rung.REPLACE, iid(1), NOW, "failed"),)).rung is Rung.DELETE_RESTORE


def test_two_tries_where_a_retry_helps():
    once = Attempt(Rung.REPLACE, iid(1), NOW, "failed")
    ladder = (Rung.REPLACE, Rung.HUMAN)
    assert [choose(ladder, (once,) * n, tries=2).rung for n in range(3)] == [Rung.REPLACE, Rung.REPLACE, Rung.HUMAN]


def test_cooldown_follows_the_logical_id_and_spares_our_own_attempt():
    ladder = (Rung.REPLACE, Rung.HUMAN)
    assert choose(ladder, entries=[used("replace", 50)]).wait_s == 3540
    assert choose(ladder, entries=[used("replace", 50, logical="n-2")]).wait_s == 0
    assert choose(ladder, entries=[used("replace", 1, logical=None)]).wait_s == 3540
    assert choose(ladder, entries=[used("replace", 50, age=3600)]).wait_s == 0
    assert choose(ladder, entries=[used("replace", 1, incident_id="inc-1-1")]).wait_s == 0
    assert choose(ladder, entries=[used("replace", 50, state=LedgerState.FAILED)]).wait_s == 0
    assert choose(ladder, entries=[used("replace", 50, state=LedgerState.UNKNOWN)]).wait_s == 3540


def test_a_budget_is_of_the_cluster_and_of_one_day():
    rules = policy(budgets={Rung.REBOOT: Budget(2, 60)})
    day = [used("reboot", n, age=80000, logical=None) for n in (5, 6)]
    spent = choose(entries=day, rules=rules)
    assert (spent.rung, spent.guard) == (Rung.HUMAN, "budget")
    assert choose(entries=day[:1], rules=rules).rung is Rung.REBOOT
    assert choose(entries=[used("reboot", n, age=86401, logical=None) for n in (5, 6)], rules=rules).rung is Rung.REBOOT


def test_an_empty_ladder_is_for_people():
    assert choose(()).rung is Rung.HUMAN
    assert choose((Rung.NONE,)).rung is Rung.HUMAN


ENTRIES = st.lists(
    st.builds(
        used,
        st.sampled_from(["reboot", "replace", "delete_restore"]),
        st.integers(1, 9),
        st.floats(1, 90000),
        st.sampled_from(LedgerState),
        st.just("inc-9-1"),
        st.sampled_from(["n-1", "n-2", None]),
    ),
    max_size=30,
)


@given(st.lists(st.sampled_from(Rung), max_size=6), ENTRIES)
def test_it_never_leaves_the_ladder_nor_exceeds_a_budget(ladder, entries):
    choice = choose(tuple(ladder), entries=entries)
    assert choice.rung in {*ladder, Rung.HUMAN}
    assert choice.reason
    counted = sum(
        e.kind == choice.rung.value and e.claimed_at > ago(86400) and e.state is not LedgerState.FAILED for e in entries
    )
    assert choice.rung is Rung.HUMAN or counted < policy().budget(choice.rung).per_day


@given(ENTRIES, st.integers(1, 9), st.sampled_from(["n-1", "n-2", "n-3", None]), st.sampled_from(["reboot", "replace"]))
def test_the_index_answers_what_a_search_would(entries, number, logical, kind):
    searched, indexed = History.of(entries), History.indexed(entries)

    def ids(found):
        return sorted((e.action_id, e.claimed_at, e.state, e.logical_id or "") for e in found)

    assert ids(indexed.of_node(iid(number), logical)) == ids(searched.of_node(iid(number), logical))
    assert ids(indexed.of_kind(kind, ago(30000))) == ids(searched.of_kind(kind, ago(30000)))
    assert all(e.subject == iid(number) or e.logical_id == logical for e in searched.of_node(iid(number), logical))
