"""The lock on counts in use: who gets it, when it is taken over, and what a process does that was overtaken."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from roundhouse.build.lock import ScaleLock
from roundhouse.contracts.ledger import LedgerEntry, LedgerState
from roundhouse.errors import ConditionFailed
from roundhouse.ports import Ledger
from roundhouse.steps.legacy.scaling import Busy, Called, Enough, Order, Refusal, Scaler
from tests.steps.legacy import house, legacy_of
from tests.steps.world import World

SIZE = 20


def scaler(world: World, ledger: Ledger | None = None) -> Scaler:
    cluster = legacy_of(world)
    return Scaler(cluster, cluster, ledger or world.ledger, world.locks, world.spec, world.now)


def short(world: World, by: int = 2) -> None:
    """The group is settled below its contract."""
    for _ in range(by):
        legacy_of(world).somebody_deletes("workers")
        legacy_of(world).settle()


def order(owner: str, to: int | None = SIZE) -> Order:
    return Order(owner, "scope", f"{owner}:workers", "workers", lambda _: to, "because")


def test_call_keeps_the_lock_until_it_is_settled() -> None:
    world = house(SIZE)
    short(world)
    made = scaler(world).order(order("run-1"))
    assert isinstance(made, Called)
    assert (made.entry.from_count, made.entry.to_count, made.entry.state) == (18, 20, LedgerState.CALLED)
    held = world.locks.get("train")
    assert (held.owner, held.action_id) == ("run-1", made.entry.action_id)
    assert "run-1 changes the count" in _busy(scaler(world).order(order("inc-1")))
    assert "Updating" in _busy(scaler(world).settle("run-1"))
    legacy_of(world).settle()
    scaler(world).release(_held(scaler(world).settle("run-1")))
    assert world.ledger.records[made.entry.action_id].state is LedgerState.CONFIRMED
    assert world.locks.get("train").owner == ""


def test_lease_that_ran_out_is_not_enough_while_the_operation_runs() -> None:
    world = house(SIZE)
    short(world)
    made = scaler(world).order(order("run-1"))
    assert isinstance(made, Called)
    world.clock.advance(3600)
    assert "Updating" in _busy(scaler(world).order(order("inc-1")))
    assert world.locks.get("train").owner == "run-1"
    legacy_of(world).settle()
    assert isinstance(scaler(world).order(order("inc-1")), Enough)
    assert world.ledger.records[made.entry.action_id].state is LedgerState.CONFIRMED


def test_claim_that_may_have_been_called_is_waited_for_after_the_lease() -> None:
    """The process died between claim and call: nobody can know it before live state has had its time."""
    world = house(SIZE)
    short(world)
    world.cluster.fail_next(SystemExit())  # type: ignore[arg-type]
    with pytest.raises(SystemExit):
        scaler(world).order(order("run-1"))
    [entry] = world.ledger.records.values()
    assert entry.state is LedgerState.CLAIMED
    world.clock.advance(240)
    assert "may still show" in _busy(scaler(world).settle("run-1"))
    world.clock.advance(120)
    assert isinstance(scaler(world).order(order("run-1")), Called)
    assert [e.state for e in scaler(world).tries("scope", "run-1:workers")] == [LedgerState.FAILED, LedgerState.CALLED]
    assert len(legacy_of(world).updates) == 1


class Slow:
    """A ledger that lets somebody else act right before its first write."""

    def __init__(self, ledger: Ledger, meanwhile: Callable[[], object]) -> None:
        self._ledger, self._meanwhile = ledger, [meanwhile]

    def get(self, action_id: str) -> LedgerEntry | None:
        return self._ledger.get(action_id)

    def put(self, entry: LedgerEntry) -> LedgerEntry:
        if self._meanwhile:
            self._meanwhile.pop()()
        return self._ledger.put(entry)

    def of_cluster(self, cluster: str, since: object) -> list[LedgerEntry]:
        raise AssertionError("its index lags: no lock is built on it")


def test_process_that_was_overtaken_never_calls() -> None:
    world = house(SIZE)
    short(world)

    def twin() -> None:
        fast = scaler(world)
        fast.release(_held(fast.settle("run-1")))
        assert isinstance(fast.order(order("inc-1", 19)), Called)

    slow = scaler(world, Slow(world.ledger, twin))
    assert "taken over" in _busy(slow.order(order("run-1")))
    assert legacy_of(world).updates == [("workers", 18, 19)]
    assert world.locks.get("train").owner == "inc-1"


def test_twin_that_claims_first_leaves_the_other_nothing_to_call() -> None:
    world = house(SIZE)
    short(world)
    slow = scaler(world, Slow(world.ledger, lambda: scaler(world).order(order("run-1"))))
    with pytest.raises(ConditionFailed):
        slow.order(order("run-1"))
    assert legacy_of(world).updates == [("workers", 18, 20)]


@pytest.mark.parametrize("to", [None, 17, 18])
def test_nothing_is_called_for_a_count_that_is_there(to: int | None) -> None:
    world = house(SIZE)
    short(world)
    made = scaler(world).order(order("run-1", to))
    assert made == Enough(18)
    assert (legacy_of(world).updates, world.locks.get("train").owner) == ([], "")


def test_nothing_is_called_above_the_contract() -> None:
    world = house(SIZE)
    made = scaler(world).order(order("run-1", SIZE + 1))
    assert isinstance(made, Refusal)
    assert "above the contract" in made.reason
    assert legacy_of(world).updates == []


def test_lease_lasts_from_the_call() -> None:
    world = house(SIZE)
    short(world)
    scaler(world).order(order("run-1"))
    expires = world.locks.get("train").expires_at
    assert expires is not None
    assert expires - world.now >= timedelta(minutes=15)


def _busy(answer: object) -> str:
    assert isinstance(answer, Busy), answer
    return answer.reason


def _held(answer: object) -> ScaleLock:
    assert isinstance(answer, ScaleLock), answer
    return answer
