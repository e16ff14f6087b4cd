"""The lock on a cluster's counts, in the ledger's table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from roundhouse.aws.locks import DynamoLocks
from roundhouse.aws.stores import DynamoLedger
from roundhouse.build import lock
from roundhouse.build.lock import ScaleLock
from roundhouse.contracts.names import LEDGER
from roundhouse.errors import ConditionFailed
from tests.build.samples import T0

LEASE = timedelta(minutes=15)


def test_lock_is_free_until_taken_and_taken_once(aws: Callable[..., Any], tables: Callable[[str], str]) -> None:
    locks = DynamoLocks(aws("dynamodb"), tables(LEDGER))
    free = locks.get("train")
    assert free == ScaleLock("train")
    held = locks.put(lock.taken(free, "run-1", T0, LEASE))
    assert locks.get("train") == held
    with pytest.raises(ConditionFailed):
        locks.put(lock.taken(free, "inc-1", T0, LEASE))
    locks.put(lock.released(held))
    assert locks.get("train") == replace(ScaleLock("train"), fence=1, version=2)


def test_clusters_have_locks_of_their_own(aws: Callable[..., Any], tables: Callable[[str], str]) -> None:
    locks = DynamoLocks(aws("dynamodb"), tables(LEDGER))
    locks.put(lock.taken(locks.get("train"), "run-1", T0, LEASE))
    assert locks.get("other").owner == ""


def test_lock_is_no_entry_of_the_ledger(aws: Callable[..., Any], tables: Callable[[str], str]) -> None:
    locks = DynamoLocks(aws("dynamodb"), tables(LEDGER))
    locks.put(lock.taken(locks.get("train"), "run-1", T0, LEASE))
    assert DynamoLedger(aws("dynamodb"), tables(LEDGER)).of_cluster("train", T0 - timedelta(days=1)) == []
