"""Port to the lock on a legacy cluster's counts. A Protocol; the contract is in the docstring."""

from __future__ import annotations

from typing import Protocol

from roundhouse.build.lock import ScaleLock


class ScaleLocks(Protocol):
    """One record per cluster; `put` as in IncidentStore. Reads are consistent."""

    def get(self, cluster: str) -> ScaleLock:
        """The lock as last written; a free one at version 0 when there was never one."""

    def put(self, lock: ScaleLock) -> ScaleLock: ...
