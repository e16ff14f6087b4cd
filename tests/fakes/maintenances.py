"""What Health has announced, in memory."""

from __future__ import annotations

from roundhouse.triage.maintenance import Maintenance
from tests.fakes.records import Memory


class FakeMaintenances(Memory[Maintenance]):
    """`ports.MaintenanceStore`."""

    def get(self, key: str) -> Maintenance | None:
        return self.read(key)

    def put(self, record: Maintenance) -> Maintenance:
        return self.write(record.key, record)
