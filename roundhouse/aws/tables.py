"""DynamoDB records with an optimistic lock. Touches DynamoDB only.

An item holds its key, `version` (N), `doc` (S: the record as codec JSON), `writer` (S: which write this was), and plain
attributes for the index and for people's eyes. What counts is `doc`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from botocore.exceptions import ClientError

from roundhouse import codec
from roundhouse.aws.errors import code_of, translated
from roundhouse.contracts.names import BY_CLUSTER
from roundhouse.errors import BadInput, ConditionFailed, NewerContract, StoreFailure

T = TypeVar("T")
Plain = Mapping[str, str | int | datetime | None]


class RecordTable(Generic[T]):
    """Versioned records of one type: `kind` has a `version` member; `plain` gives an item's plain attributes."""

    def __init__(self, client: Any, table: str, key: str, kind: type[T], plain: Callable[[T], Plain]) -> None:
        self._client = client
        self._table = table
        self._key = key
        self._kind = kind
        self._plain = plain

    def get(self, key: str) -> T | None:
        """The record as last written (a consistent read), or None. Raises StoreFailure if it is unreadable."""
        item = get_item(self._client, self._table, {self._key: {"S": key}})
        return self._record(item) if item else None

    def put(self, key: str, record: T) -> T:
        """Write when the stored version is `record.version` (0: no record yet); returns what is stored now.

        Raises ConditionFailed when somebody else wrote first.
        """
        held: int = record.version  # type: ignore[attr-defined]
        stored: T = replace(record, version=held + 1)  # type: ignore[type-var]
        item = {self._key: key, "version": held + 1, "doc": codec.to_record(stored), **self._plain(stored)}
        if held == 0:
            condition: dict[str, Any] = {
                "ConditionExpression": "attribute_not_exists(#key)",
                "ExpressionAttributeNames": {"#key": self._key},
            }
        else:
            condition = {
                "ConditionExpression": "#version = :held",
                "ExpressionAttributeNames": {"#version": "version"},
                "ExpressionAttributeValues": {":held": {"N": str(held)}},
            }
        if not put_item(self._client, self._table, item, condition):
            raise ConditionFailed(
                f"{self._table}: {key} is no longer at version {held}: somebody else wrote it; read it and decide again"
            )
        return stored

    def of_cluster(self, cluster: str, time_attribute: str, since: datetime) -> Sequence[T]:
        """Records of `cluster` whose `time_attribute` is at or after `since`, oldest first.

        The index follows its table within about a second, so a record just written may be missing: no lock is built
        on this. The index must project all attributes.
        """
        query: dict[str, Any] = {
            "TableName": self._table,
            "IndexName": BY_CLUSTER,
            "KeyConditionExpression": "#cluster = :cluster AND #time >= :since",
            "ExpressionAttributeNames": {"#cluster": "cluster", "#time": time_attribute},
            "ExpressionAttributeValues": {":cluster": {"S": cluster}, ":since": {"S": sortable(since)}},
            "ScanIndexForward": True,
        }
        records: list[T] = []
        while True:
            with translated("Query"):
                page = self._client.query(**query)
            records += [self._record(item) for item in page["Items"]]
            if not page.get("LastEvaluatedKey"):
                return records
            query["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _record(self, item: Mapping[str, Any]) -> T:
        key = item[self._key]["S"]
        try:
            return codec.from_json(self._kind, item["doc"]["S"])
        except NewerContract as error:
            raise NewerContract(f"{self._table}: {key}: {error}") from error
        except (BadInput, KeyError) as error:
            raise StoreFailure(f"{self._table}: {key} cannot be read: {error}; look at its doc attribute") from error


def get_item(client: Any, table: str, key: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The item under `key` as last written, in DynamoDB's typed form; None when there is none."""
    with translated("GetItem"):
        item: Mapping[str, Any] | None = client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
    return item or None


def put_item(client: Any, table: str, item: Plain, condition: Mapping[str, Any]) -> bool:
    """Write `item` if `condition` holds; False when it does not.

    A write whose answer was lost is repeated by the client, and then fails on its own result. Each write carries its
    own `writer` mark, so a failed condition over our own mark is known as the success that it was.
    """
    writer = uuid.uuid4().hex
    with translated("PutItem"):
        try:
            client.put_item(
                TableName=table,
                Item=typed({**item, "writer": writer}),
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **condition,
            )
        except ClientError as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise
            found: Any = error.response.get("Item", {})
            return bool(found.get("writer", {}).get("S") == writer)
    return True


def typed(item: Plain) -> dict[str, dict[str, str]]:
    """`item` in DynamoDB's typed form: numbers as N, the rest as S, None left out."""
    out: dict[str, dict[str, str]] = {}
    for name, value in item.items():
        if isinstance(value, int):
            out[name] = {"N": str(value)}
        elif value is not None:
            out[name] = {"S": sortable(value) if isinstance(value, datetime) else str(value)}
    return out


def sortable(time: datetime) -> str:
    """`time` as text whose order is the order of time: UTC, always with microseconds."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")
