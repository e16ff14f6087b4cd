"""The stores of `roundhouse.ports` on DynamoDB tables (contracts/names.py). Touches DynamoDB only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from roundhouse import codec
from roundhouse.aws.errors import translated
from roundhouse.aws.tables import Plain, RecordTable, get_item, put_item, sortable, typed
from roundhouse.build.rehearsal import Rehearsal, Result
from roundhouse.contracts.ledger import LedgerEntry
from roundhouse.contracts.names import APPROVALS, INCIDENTS, LEDGER, RUNS, TABLE_KEYS
from roundhouse.errors import BadInput, NewerContract, StoreFailure
from roundhouse.line.approval import Approval
from roundhouse.line.breaker import BreakerState
from roundhouse.line.incident import Incident
from roundhouse.line.state import SlurmSnapshot
from roundhouse.ports import Pause, Run

T = TypeVar("T")


class DynamoIncidents:
    """`ports.IncidentStore`."""

    def __init__(self, client: Any, table: str) -> None:
        self._records = RecordTable(
            client,
            table,
            TABLE_KEYS[INCIDENTS],
            Incident,
            lambda i: {
                "cluster": i.cluster,
                "opened_at": i.opened_at,
                "instance_id": i.instance_id,
                "cause": i.cause,
                "state": i.state,
                "outcome": i.outcome,
            },
        )

    def get(self, incident_id: str) -> Incident | None:
        return self._records.get(incident_id)

    def put(self, incident: Incident) -> Incident:
        return self._records.put(incident.incident_id, incident)

    def of_cluster(self, cluster: str, since: datetime) -> Sequence[Incident]:
        return self._records.of_cluster(cluster, "opened_at", since)


class DynamoLedger:
    """`ports.Ledger`."""

    def __init__(self, client: Any, table: str) -> None:
        self._records = RecordTable(
            client,
            table,
            TABLE_KEYS[LEDGER],
            LedgerEntry,
            lambda e: {
                "cluster": e.cluster,
                "claimed_at": e.claimed_at,
                "kind": e.kind,
                "subject": e.subject,
                "state": e.state,
            },
        )

    def get(self, action_id: str) -> LedgerEntry | None:
        return self._records.get(action_id)

    def put(self, entry: LedgerEntry) -> LedgerEntry:
        return self._records.put(entry.action_id, entry)

    def of_cluster(self, cluster: str, since: datetime) -> Sequence[LedgerEntry]:
        return self._records.of_cluster(cluster, "claimed_at", since)


class DynamoApprovals:
    """`ports.ApprovalStore`."""

    def __init__(self, client: Any, table: str) -> None:
        self._records = RecordTable(
            client,
            table,
            TABLE_KEYS[APPROVALS],
            Approval,
            lambda a: {
                "cluster": a.cluster,
                "asked_at": a.asked_at,
                "subject": a.subject,
                "status": a.status,
                "choice": a.choice,
            },
        )

    def get(self, approval_id: str) -> Approval | None:
        return self._records.get(approval_id)

    def put(self, approval: Approval) -> Approval:
        return self._records.put(approval.approval_id, approval)

    def of_cluster(self, cluster: str, since: datetime) -> Sequence[Approval]:
        return self._records.of_cluster(cluster, "asked_at", since)


class DynamoRuns:
    """`ports.RunStore`."""

    def __init__(self, client: Any, table: str) -> None:
        self._records = RecordTable(
            client, table, TABLE_KEYS[RUNS], Run, lambda r: {"run_id": r.run_id, "status": r.status, "step": r.step}
        )

    def get(self, cluster: str) -> Run | None:
        return self._records.get(cluster)

    def put(self, run: Run) -> Run:
        return self._records.put(run.cluster, run)


class DynamoRehearsals:
    """`ports.RehearsalStore`, items of the control table: the newest one, and one for each digest."""

    def __init__(self, client: Any, table: str) -> None:
        self._records = RecordTable(
            client,
            table,
            "key",
            Rehearsal,
            lambda r: {"rehearsal_id": r.rehearsal_id, "result": r.result, "reason": r.reason, "since": r.started_at},
        )

    def newest(self) -> Rehearsal | None:
        return self._records.get("rehearsal")

    def put(self, rehearsal: Rehearsal) -> Rehearsal:
        return self._records.put("rehearsal", rehearsal)

    def of_digest(self, digest: str) -> Rehearsal | None:
        return self._records.get(f"rehearsal:{digest}")

    def keep(self, rehearsal: Rehearsal) -> None:
        known = self.of_digest(rehearsal.digest)
        conclusive = known is not None and known.result is not Result.INCONCLUSIVE
        if conclusive and rehearsal.result is Result.INCONCLUSIVE:
            return
        self._records.put(f"rehearsal:{rehearsal.digest}", replace(rehearsal, version=known.version if known else 0))


class DynamoBreaker:
    """`ports.BreakerStore`, one item of the control table per cluster."""

    def __init__(self, client: Any, table: str) -> None:
        self._records = RecordTable(
            client, table, "key", BreakerState, lambda s: {"status": s.status, "reason": s.reason, "since": s.since}
        )

    def load(self, cluster: str) -> BreakerState:
        """The breaker of `cluster`; a closed one at version 0 when none was ever saved."""
        return self._records.get(f"breaker:{cluster}") or BreakerState()

    def save(self, cluster: str, state: BreakerState) -> BreakerState:
        return self._records.put(f"breaker:{cluster}", state)


class DynamoControl:
    """`ports.ControlStore`."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def pause(self) -> Pause | None:
        return self._read("pause", Pause)

    def set_pause(self, pause: Pause | None) -> None:
        if pause is None:
            with translated("DeleteItem"):
                self._client.delete_item(TableName=self._table, Key={"key": {"S": "pause"}})
            return
        item: Plain = {"key": "pause", "doc": codec.to_record(pause), "by": pause.by, "since": pause.since}
        with translated("PutItem"):
            self._client.put_item(TableName=self._table, Item=typed(item))

    def snapshot(self, cluster: str) -> SlurmSnapshot | None:
        return self._read(f"snapshot:{cluster}", SlurmSnapshot)

    def keep_snapshot(self, cluster: str, snapshot: SlurmSnapshot) -> bool:
        item: Plain = {
            "key": f"snapshot:{cluster}",
            "doc": codec.to_record(snapshot),
            "sequence": snapshot.sequence,
            "taken_at": snapshot.taken_at,
        }
        condition = {
            "ConditionExpression": "attribute_not_exists(#key) OR #sequence < :sequence OR #taken_at < :taken_at",
            "ExpressionAttributeNames": {"#key": "key", "#sequence": "sequence", "#taken_at": "taken_at"},
            "ExpressionAttributeValues": {
                ":sequence": {"N": str(snapshot.sequence)},
                ":taken_at": {"S": sortable(snapshot.taken_at)},
            },
        }
        return put_item(self._client, self._table, item, condition)

    def _read(self, key: str, kind: type[T]) -> T | None:
        item = get_item(self._client, self._table, {"key": {"S": key}})
        if item is None:
            return None
        try:
            return codec.from_json(kind, item["doc"]["S"])
        except NewerContract as error:
            raise NewerContract(f"{self._table}: {key}: {error}") from error
        except (BadInput, KeyError) as error:
            raise StoreFailure(f"{self._table}: {key} cannot be read: {error}; look at its doc attribute") from error


class DynamoTokens:
    """`ports.TokenStore`. `keep` needs PutItem alone, `token` GetItem alone: the roles hold one of them each."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def keep(self, approval_id: str, token: str) -> None:
        with translated("PutItem"):
            self._client.put_item(TableName=self._table, Item=typed({"approval_id": approval_id, "token": token}))

    def token(self, approval_id: str) -> str | None:
        item = get_item(self._client, self._table, {"approval_id": {"S": approval_id}})
        return str(item["token"]["S"]) if item else None


class DynamoThreads:
    """`ports.ThreadStore`."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def place(self, key: str) -> tuple[str, str] | None:
        item = get_item(self._client, self._table, {"key": {"S": key}})
        return (item["channel"]["S"], item["ts"]["S"]) if item else None

    def keep(self, key: str, channel: str, ts: str) -> None:
        condition = {
            "ConditionExpression": "attribute_not_exists(#key)",
            "ExpressionAttributeNames": {"#key": "key"},
        }
        put_item(self._client, self._table, {"key": key, "channel": channel, "ts": ts}, condition)
