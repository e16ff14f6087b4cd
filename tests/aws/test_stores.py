"""The stores: one contract, held by DynamoDB's and by the in-memory ones; and what only DynamoDB can get wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from roundhouse.aws import stores
from roundhouse.aws.tables import sortable
from roundhouse.contracts.ledger import LedgerEntry, LedgerState
from roundhouse.contracts.names import (
    APPROVAL_TOKENS,
    APPROVALS,
    CONTROL,
    INCIDENTS,
    LEDGER,
    RUNS,
    THREADS,
)
from roundhouse.errors import ConditionFailed, NewerContract, NotFound, StoreFailure
from roundhouse.line.approval import Approval, ApprovalStatus, Option
from roundhouse.line.breaker import BreakerEntry, BreakerState, BreakerStatus
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Attempt, Evidence, Incident, IncidentState, Step
from roundhouse.line.ladder import Rung
from roundhouse.line.state import SlurmNode, SlurmSnapshot
from roundhouse.ports import Pause, Run, StageRecord
from tests.fakes.records import FakeBreaker, FakeControl, FakeIncidents, FakeLedger, FakeRuns

NOW = datetime(2026, 10, 2, 12, tzinfo=UTC)
Tables = Callable[[str], str]


def incident(number: int = 1, opened_at: datetime = NOW, cluster: str = "train") -> Incident:
    return Incident(
        incident_id=f"inc-{number}",
        cluster=cluster,
        instance_id="i-0123456789abcdef0",
        cause=CauseClass.HARDWARE,
        occurrence=1,
        opened_at=opened_at,
        last_event_at=opened_at,
        evidence=(Evidence("e1", "slurm", "down", "unhealthy", NOW, "it said so"),),
        steps=(Step("grace", NOW),),
        attempts=(Attempt(Rung.REBOOT, "i-0123456789abcdef0", NOW),),
    )


def entry(number: int = 1, claimed_at: datetime = NOW) -> LedgerEntry:
    return LedgerEntry(
        action_id=f"inc-1/replace/i-{number}/1",
        cluster="train",
        kind="replace",
        subject=f"i-{number}",
        incident_id="inc-1",
        state=LedgerState.CLAIMED,
        claimed_at=claimed_at,
        updated_at=claimed_at,
    )


def approval() -> Approval:
    return Approval(
        approval_id="ap-1",
        kind="repair",
        cluster="train",
        subject="inc-1",
        question="Replace?",
        options=(Option("approve", "Replace", "danger", "Sure?"), Option("deny", "Leave")),
        on_silence="deny",
        asked_at=NOW,
        expires_at=NOW + timedelta(hours=1),
        approvers=("U0123456789",),
    )


@pytest.fixture(params=["memory", "dynamodb"])
def make(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    """A store by name, in memory and on DynamoDB."""
    if request.param == "memory":
        fakes = {
            INCIDENTS: FakeIncidents,
            LEDGER: FakeLedger,
            RUNS: FakeRuns,
            "breaker": FakeBreaker,
            CONTROL: FakeControl,
        }
        return lambda name: fakes[name]()
    table: Tables = request.getfixturevalue("tables")
    client = request.getfixturevalue("aws")("dynamodb")
    real: dict[str, Any] = {
        INCIDENTS: stores.DynamoIncidents,
        LEDGER: stores.DynamoLedger,
        RUNS: stores.DynamoRuns,
        "breaker": stores.DynamoBreaker,
        CONTROL: stores.DynamoControl,
    }
    return lambda name: real[name](client, table(CONTROL if name == "breaker" else name))


class TestContract:
    @pytest.mark.parametrize(
        ("name", "key", "record", "change"),
        [
            (INCIDENTS, "inc-1", incident(), {"state": IncidentState.ACTING}),
            (LEDGER, "inc-1/replace/i-1/1", entry(), {"state": LedgerState.CALLED}),
            (RUNS, "train", Run("train", "run-1", NOW, stages=(StageRecord("w", 0, 3, NOW),)), {"step": "ramp"}),
        ],
    )
    def test_a_record_is_written_once_per_version(
        self, make: Callable[[str], Any], name: str, key: str, record: Any, change: dict[str, Any]
    ) -> None:
        store = make(name)
        assert store.get(key) is None
        first = store.put(record)
        assert first == replace(record, version=1)
        assert store.get(key) == first
        second = store.put(replace(first, **change))
        assert second == replace(record, **change, version=2)
        for stale in (record, first, replace(second, version=7)):
            with pytest.raises(ConditionFailed):
                store.put(stale)
        assert store.get(key) == second

    def test_incidents_of_a_cluster_come_oldest_first(self, make: Callable[[str], Any]) -> None:
        store = make(INCIDENTS)
        for number, minutes in ((1, 5), (2, 0), (3, -1)):
            store.put(incident(number, NOW + timedelta(minutes=minutes)))
        store.put(incident(4, NOW + timedelta(minutes=3, microseconds=1)))
        store.put(incident(5, cluster="another"))
        found = [each.incident_id for each in store.of_cluster("train", NOW)]
        assert found == ["inc-2", "inc-4", "inc-1"]

    def test_ledger_of_a_cluster(self, make: Callable[[str], Any]) -> None:
        store = make(LEDGER)
        written = [store.put(entry(number, NOW + timedelta(seconds=number))) for number in range(3)]
        assert list(store.of_cluster("train", NOW + timedelta(seconds=1))) == written[1:]
        assert list(store.of_cluster("nobody", NOW)) == []

    def test_a_breaker_never_saved_is_closed(self, make: Callable[[str], Any]) -> None:
        store = make("breaker")
        assert store.load("train") == BreakerState()
        state = BreakerState(
            BreakerStatus.OPEN, NOW, "4 in an hour", entries=(BreakerEntry(NOW, "replace", "i-1", "w", "hardware"),)
        )
        saved = store.save("train", state)
        assert store.load("train") == saved == replace(state, version=1)
        assert store.load("another") == BreakerState()
        with pytest.raises(ConditionFailed):
            store.save("train", state)

    def test_pause_and_resume(self, make: Callable[[str], Any]) -> None:
        store = make(CONTROL)
        assert store.pause() is None
        store.set_pause(Pause("ada", "maintenance", NOW))
        assert store.pause() == Pause("ada", "maintenance", NOW)
        store.set_pause(None)
        store.set_pause(None)
        assert store.pause() is None

    def test_only_a_newer_snapshot_is_kept(self, make: Callable[[str], Any]) -> None:
        store = make(CONTROL)

        def snapshot(sequence: int, state: str) -> SlurmSnapshot:
            return SlurmSnapshot(sequence, NOW, {"ip-1": SlurmNode("ip-1", state, jobs=(7,))})

        assert store.snapshot("train") is None
        assert store.keep_snapshot("train", snapshot(2, "IDLE"))
        assert not store.keep_snapshot("train", snapshot(2, "DOWN"))
        assert not store.keep_snapshot("train", snapshot(1, "DOWN"))
        assert store.keep_snapshot("train", snapshot(10, "MIXED"))
        assert store.snapshot("train") == snapshot(10, "MIXED")
        anew = SlurmSnapshot(1, NOW + timedelta(seconds=1))  # the agent began anew
        assert store.keep_snapshot("train", anew)
        assert not store.keep_snapshot("train", SlurmSnapshot(1, NOW))
        assert store.snapshot("train") == anew


def test_approvals(tables: Tables, aws: Callable[..., Any]) -> None:
    store = stores.DynamoApprovals(aws("dynamodb"), tables(APPROVALS))
    first = store.put(approval())
    decided = store.put(replace(first, status=ApprovalStatus.DECIDED, choice="approve", decided_by="U1"))
    assert store.get("ap-1") == decided
    with pytest.raises(ConditionFailed):
        store.put(replace(first, status=ApprovalStatus.EXPIRED))
    store.put(replace(approval(), approval_id="ap-2", asked_at=NOW + timedelta(hours=1)))
    assert [each.approval_id for each in store.of_cluster("train", NOW)] == ["ap-1", "ap-2"]
    assert [each.approval_id for each in store.of_cluster("train", NOW + timedelta(hours=1))] == ["ap-2"]
    assert store.of_cluster("another", NOW) == []


def test_the_newest_token_counts(tables: Tables, aws: Callable[..., Any]) -> None:
    store = stores.DynamoTokens(aws("dynamodb"), tables(APPROVAL_TOKENS))
    assert store.token("ap-1") is None
    store.keep("ap-1", "first")
    store.keep("ap-1", "second")
    assert store.token("ap-1") == "second"


def test_the_first_place_of_a_thread_counts(tables: Tables, aws: Callable[..., Any]) -> None:
    store = stores.DynamoThreads(aws("dynamodb"), tables(THREADS))
    assert store.place("run:1") is None
    store.keep("run:1", "C1", "1.1")
    store.keep("run:1", "C2", "2.2")
    assert store.place("run:1") == ("C1", "1.1")


def test_of_two_writers_one_wins(tables: Tables, aws: Callable[..., Any]) -> None:
    """Sixteen claims of one action at once: exactly one is told that it may act."""
    store = stores.DynamoLedger(aws("dynamodb"), tables(LEDGER))
    start = threading.Barrier(16)
    won: list[LedgerEntry] = []
    lost: list[ConditionFailed] = []

    def claim() -> None:
        start.wait()
        try:
            won.append(store.put(entry()))
        except ConditionFailed as error:
            lost.append(error)

    writers = [threading.Thread(target=claim) for _ in range(16)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (len(won), len(lost)) == (1, 15)
    assert store.get(entry().action_id) == won[0]


class _Lost:
    """Lets the first PutItem through and answers 500 in its place, as if its answer had been lost."""

    def __init__(self, client: Any) -> None:
        self.attempts = 0
        client.meta.events.register("before-send.dynamodb.PutItem", self.count)
        client.meta.events.register("needs-retry.dynamodb.PutItem", self.lose, unique_id="lose")

    def count(self, **_: Any) -> None:
        self.attempts += 1

    def lose(self, attempts: int, **_: Any) -> float | None:
        return 0 if attempts == 1 else None  # 0: send it again at once, whatever was answered


def test_a_write_whose_answer_was_lost_is_no_conflict(tables: Tables, aws: Callable[..., Any]) -> None:
    client = aws("dynamodb")
    table = tables(LEDGER)
    lost = _Lost(client)
    try:
        claimed = stores.DynamoLedger(client, table).put(entry())
        with pytest.raises(ConditionFailed):
            stores.DynamoLedger(client, table).put(entry())
        kept = stores.DynamoControl(client, tables(CONTROL)).keep_snapshot("train", SlurmSnapshot(1, NOW))
    finally:
        client.meta.events.unregister("before-send.dynamodb.PutItem", lost.count)
        client.meta.events.unregister("needs-retry.dynamodb.PutItem", unique_id="lose")
    assert lost.attempts == 6
    assert claimed.version == 1
    assert kept


def test_many_incidents_come_in_several_pages(tables: Tables, aws: Callable[..., Any]) -> None:
    store = stores.DynamoIncidents(aws("dynamodb"), tables(INCIDENTS))
    large = replace(incident(), decision="x" * 200_000)
    for number in range(12):  # a page ends at 1 MB
        store.put(replace(large, incident_id=f"inc-{number}", opened_at=NOW + timedelta(seconds=number)))
    assert [each.incident_id for each in store.of_cluster("train", NOW)] == [f"inc-{number}" for number in range(12)]


@pytest.mark.parametrize("doc", ['{"version": 1}', "not JSON", None])
def test_a_record_that_cannot_be_read_is_never_taken_for_absent(
    tables: Tables, aws: Callable[..., Any], doc: str | None
) -> None:
    item: dict[str, Any] = {"key": {"S": "breaker:train"}, "version": {"N": "1"}}
    if doc is not None:
        item["doc"] = {"S": doc.replace("1", '1, "shape": 2')}
    aws("dynamodb").put_item(TableName=tables(CONTROL), Item=item)
    with pytest.raises((StoreFailure, NewerContract), match="breaker:train"):
        stores.DynamoBreaker(aws("dynamodb"), tables(CONTROL)).load("train")


def test_a_missing_table_is_not_an_empty_one(aws: Callable[..., Any]) -> None:
    with pytest.raises(NotFound):
        stores.DynamoBreaker(aws("dynamodb"), "roundhouse-test-nothing").load("train")


def test_items_are_readable_for_people(tables: Tables, aws: Callable[..., Any]) -> None:
    stores.DynamoIncidents(aws("dynamodb"), tables(INCIDENTS)).put(incident())
    item = aws("dynamodb").get_item(TableName=tables(INCIDENTS), Key={"incident_id": {"S": "inc-1"}})["Item"]
    assert item["state"] == {"S": "open"}
    assert item["cause"] == {"S": "hardware"}
    assert item["opened_at"] == {"S": "2026-10-02T12:00:00.000000+00:00"}
    assert "outcome" not in item


def test_sortable_time_sorts_over_offsets_and_fractions() -> None:
    east = timezone(timedelta(hours=2))
    times = [NOW, NOW + timedelta(microseconds=1), (NOW + timedelta(seconds=1)).astimezone(east)]
    texts = [sortable(time) for time in times]
    assert texts == sorted(texts)
