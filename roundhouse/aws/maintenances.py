"""`ports.MaintenanceStore` on a DynamoDB table (contracts/names.py). Touches DynamoDB only."""

from __future__ import annotations

from typing import Any

from roundhouse.aws.tables import RecordTable
from roundhouse.contracts.names import MAINTENANCES, TABLE_KEYS
from roundhouse.triage.maintenance import Maintenance


class DynamoMaintenances:
    """`ports.MaintenanceStore`."""

    def __init__(self, client: Any, table: str) -> None:
        self._records = RecordTable(
            client,
            table,
            TABLE_KEYS[MAINTENANCES],
            Maintenance,
            lambda m: {
                "cluster": m.cluster,
                "heard_at": m.heard_at,
                "event_arn": m.notices[-1].event_arn if m.notices else None,
                "status": m.notices[-1].status if m.notices else None,
            },
        )

    def get(self, key: str) -> Maintenance | None:
        return self._records.get(key)

    def put(self, record: Maintenance) -> Maintenance:
        return self._records.put(record.key, record)
