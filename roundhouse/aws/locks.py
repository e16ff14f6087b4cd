"""`ports.ScaleLocks` in the ledger's table. Touches DynamoDB only."""

from __future__ import annotations

from typing import Any

from roundhouse.aws.tables import RecordTable
from roundhouse.build.lock import ScaleLock
from roundhouse.contracts.names import LEDGER, TABLE_KEYS


class DynamoLocks:
    """`ports.ScaleLocks`: an item `lock/<cluster>` among the ledger's, without the attributes of its index.

    There, so that whoever may claim a call may take the lock for it, and nobody else.
    """

    def __init__(self, client: Any, table: str) -> None:
        self._records = RecordTable(
            client,
            table,
            TABLE_KEYS[LEDGER],
            ScaleLock,
            lambda lock: {"owner": lock.owner, "fence": lock.fence, "expires_at": lock.expires_at},
        )

    def get(self, cluster: str) -> ScaleLock:
        return self._records.get(f"lock/{cluster}") or ScaleLock(cluster)

    def put(self, lock: ScaleLock) -> ScaleLock:
        return self._records.put(f"lock/{lock.cluster}", lock)
