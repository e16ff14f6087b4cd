"""One look at the index for a batch, and none of it believed once somebody was faster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from roundhouse.errors import ConditionFailed, Unavailable
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState
from roundhouse.steps.signals.remembered import RememberedIncidents
from tests.fakes.records import FakeIncidents
from tests.steps.samples import health, house, worker

T0 = datetime(2026, 10, 2, 16, tzinfo=UTC)


class Asked(FakeIncidents):
    """Counts the looks at the index, and loses an answer when told to."""

    looks = 0
    loses = False

    def of_cluster(self, cluster: str, since: datetime) -> Sequence[Incident]:
        self.looks += 1
        return super().of_cluster(cluster, since)

    def put(self, incident: Incident) -> Incident:
        stored = super().put(incident)
        if self.loses:
            raise Unavailable("the answer was lost")
        return stored


def incident(number: int, minutes: int = 0) -> Incident:
    at = T0 + timedelta(minutes=minutes)
    return Incident(f"inc-{number}", "train", f"i-{number}", CauseClass.HARDWARE, 1, at, at)


def test_the_index_is_asked_once_and_own_writes_are_seen() -> None:
    store = Asked()
    remembered = RememberedIncidents(store)
    remembered.put(incident(2, minutes=5))
    for _ in range(3):
        assert [i.incident_id for i in remembered.of_cluster("train", T0)] == ["inc-2"]
    first = remembered.put(incident(1))
    remembered.put(replace(incident(3), cluster="other"))
    remembered.put(incident(4, minutes=-1))
    assert [i.incident_id for i in remembered.of_cluster("train", T0)] == ["inc-1", "inc-2"]
    closed = remembered.put(replace(first, state=IncidentState.CLOSED))
    assert remembered.of_cluster("train", T0)[0] == closed == remembered.get("inc-1")
    assert store.looks == 1
    assert next(i.incident_id for i in remembered.of_cluster("train", T0 - timedelta(hours=1))) == "inc-4"
    assert store.looks == 2


def test_a_lost_race_makes_it_look_again() -> None:
    store = Asked()
    remembered = RememberedIncidents(store)
    mine = remembered.put(incident(1))
    assert remembered.of_cluster("train", T0) == [mine]
    theirs = store.put(replace(mine, state=IncidentState.CLOSED))
    with pytest.raises(ConditionFailed):
        remembered.put(replace(mine, event_count=2))
    assert remembered.of_cluster("train", T0) == [theirs]


def test_a_lost_answer_makes_it_look_again() -> None:
    store = Asked()
    remembered = RememberedIncidents(store)
    assert remembered.of_cluster("train", T0) == []
    store.loses = True
    with pytest.raises(Unavailable):
        remembered.put(incident(1))
    assert [i.incident_id for i in remembered.of_cluster("train", T0)] == ["inc-1"]


def test_a_batch_of_ten_messages_asks_the_index_once() -> None:
    world = house()
    broken = [worker(world, number) for number in range(4)]
    batch = [health(world, each) for each in broken for _ in range(2)]
    before = len(world.gate.calls)
    assert world.take(*batch) == []
    calls = world.gate.calls[before:]
    assert calls.count("incidents.of_cluster") == 1, calls
    assert calls.count("reader.cluster") == 1
    assert len(world.incidents.records) == 4
