"""The ledger's records: every action that changes anything is claimed here first. Standard library only.

CLAIMED (we are about to call) → CALLED (AWS accepted) → CONFIRMED (live state shows it), or → FAILED (AWS refused
and nothing changed) or → UNKNOWN (the answer was lost: only live state can tell).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class LedgerState(StrEnum):
    CLAIMED = "CLAIMED"
    CALLED = "CALLED"
    CONFIRMED = "CONFIRMED"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One action. `action_id` is deterministic (see `action_id`), so a second claim of the same action fails.

    `kind` is a rung (`reboot`, `replace`, `delete_restore`) or `create_cluster`, `add_nodes`, `delete_nodes`,
    `update_cluster`, `delete_cluster`, `rehearse_create`, `rehearse_delete`; `subject` is the instance id, the group
    for a stage, or the throw-away cluster's name. `logical_id` lets a count be restored. `from_count` and `to_count`
    are a group's target before and after an absolute update; of a node's deletion `from_count` alone is known.
    """

    action_id: str
    cluster: str
    kind: str
    subject: str
    incident_id: str | None
    state: LedgerState
    claimed_at: datetime
    updated_at: datetime
    group: str | None = None
    logical_id: str | None = None
    detail: str = ""
    count: int = 1
    version: int = 0
    from_count: int | None = None
    to_count: int | None = None

    @property
    def adds(self) -> bool:
        """True when it asks for nodes: by their number, or by the group's absolute count."""
        return self.kind in {"add_nodes", "update_cluster"}

    @property
    def of_others(self) -> bool:
        """True of an addition that somebody else made before we called."""
        ours = self.logical_id if self.kind == "add_nodes" else self.to_count
        return self.adds and self.state is LedgerState.CONFIRMED and ours is None


def action_id(scope: str, kind: str, subject: str, attempt: int = 1) -> str:
    """Deterministic id of an action: the same decision made twice gives the same id.

    `scope` is the incident id or the cluster's ARN; `attempt` only grows after the former attempt ended.

    >>> action_id("inc-1-1", "replace", "i-0123456789abcdef0")
    'inc-1-1/replace/i-0123456789abcdef0/1'
    """
    return f"{scope}/{kind}/{subject}/{attempt}"
