"""What Health has announced: one contract, held by DynamoDB's store and by the in-memory one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from roundhouse.aws.maintenances import DynamoMaintenances
from roundhouse.contracts.names import MAINTENANCES
from roundhouse.errors import ConditionFailed
from roundhouse.ports import MaintenanceStore
from roundhouse.triage.aws_health import read
from roundhouse.triage.maintenance import Maintenance, with_notice
from tests.cases.reading import case
from tests.fakes.maintenances import FakeMaintenances

EVENTS = case(413, "events.jsonl")


@pytest.fixture(params=["dynamodb", "memory"])
def store(request: pytest.FixtureRequest, aws: Callable[..., Any], tables: Callable[[str], str]) -> MaintenanceStore:
    if request.param == "memory":
        return FakeMaintenances()
    return DynamoMaintenances(aws("dynamodb"), tables(MAINTENANCES))


def record(*numbers: int) -> Maintenance:
    made = Maintenance("mnt-1", "train", datetime(2026, 10, 2, tzinfo=UTC))
    for number in numbers:
        notice = read(EVENTS[number])
        assert notice is not None
        made = with_notice(made, notice)
    return made


def test_a_record_comes_back_as_it_was_and_grows(store: MaintenanceStore) -> None:
    assert store.get("mnt-1") is None
    first = store.put(record(0))
    assert store.get("mnt-1") == first
    notice = read(EVENTS[2])
    assert notice is not None
    second = store.put(with_notice(first, notice))
    assert store.get("mnt-1") == second
    assert second.change == record(0, 2).change
    assert second.version == 2


def test_of_two_pages_at_once_the_slower_must_read_again(store: MaintenanceStore) -> None:
    store.put(record(0))
    with pytest.raises(ConditionFailed):
        store.put(record(2))


def test_a_record_without_a_message_can_be_stored(store: MaintenanceStore) -> None:
    assert store.put(record()).notices == ()
