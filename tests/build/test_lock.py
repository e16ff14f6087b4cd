"""The lock on a legacy cluster's counts."""

from __future__ import annotations

from datetime import timedelta

from roundhouse.build import lock
from roundhouse.build.lock import LEAST_LEASE, ScaleLock
from tests.build.samples import T0, minutes

FREE = ScaleLock("train")
LEASE = timedelta(minutes=15)


def test_free_lock_is_taken_and_given_back() -> None:
    held = lock.taken(FREE, "run-1", T0, LEASE)
    assert (held.owner, held.fence, held.expires_at) == ("run-1", 1, minutes(15))
    back = lock.released(held)
    assert (back.owner, back.fence, back.action_id) == ("", 1, None)
    assert lock.held_by_another(back, "inc-1", T0) == ""


def test_lease_of_another_is_waited_for_to_its_end() -> None:
    held = lock.taken(FREE, "run-1", T0, LEASE)
    assert "run-1" in lock.held_by_another(held, "inc-1", minutes(14.9))
    assert lock.held_by_another(held, "run-1", minutes(1)) == ""
    assert lock.held_by_another(held, "inc-1", minutes(15)) == ""


def test_taking_over_raises_the_fence_and_keeps_what_was_called() -> None:
    held = lock.calling(lock.taken(FREE, "run-1", T0, LEASE), "arn/update_cluster/workers:52/1", minutes(1), LEASE)
    assert held.expires_at == minutes(16)
    over = lock.taken(held, "inc-1", minutes(20), LEASE)
    assert (over.owner, over.fence, over.action_id) == ("inc-1", 2, held.action_id)
    assert lock.renewed(over, minutes(25), LEASE).expires_at == minutes(40)


def test_same_owner_gets_a_new_fence_too() -> None:
    held = lock.taken(FREE, "run-1", T0, LEASE)
    assert lock.taken(held, "run-1", minutes(1), LEASE).fence == 2


def test_lease_outlasts_three_looks_and_any_lambda() -> None:
    assert lock.lease(60) == LEAST_LEASE
    assert lock.lease(3600) == timedelta(hours=3)
    assert timedelta(seconds=900) <= LEAST_LEASE
