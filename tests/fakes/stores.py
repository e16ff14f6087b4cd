"""In-memory stores of what people are asked and where it is shown: approvals, task tokens, Slack threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from roundhouse.errors import ConditionFailed, StoreFailure
from roundhouse.line.approval import Approval


class FakeApprovals:
    """`ports.ApprovalStore`. `before_put` runs once, between somebody's read and write: that is where races are.
    `broken`: the table is away. `writes` are the records that were stored, in order."""

    def __init__(self, *approvals: Approval) -> None:
        self.records = {each.approval_id: each for each in approvals}
        self.before_put: Callable[[], None] | None = None
        self.broken = False
        self.writes: list[Approval] = []

    def get(self, approval_id: str) -> Approval | None:
        if self.broken:
            raise StoreFailure("the table is away")
        return self.records.get(approval_id)

    def put(self, approval: Approval) -> Approval:
        if self.before_put is not None:
            interruption, self.before_put = self.before_put, None
            interruption()
        held = self.records.get(approval.approval_id)
        stored = held.version if held else 0
        if stored != approval.version:
            raise ConditionFailed(f"{approval.approval_id} is at version {stored}, not {approval.version}")
        self.records[approval.approval_id] = replace(approval, version=stored + 1)
        self.writes.append(self.records[approval.approval_id])
        return self.records[approval.approval_id]

    def of_cluster(self, cluster: str, since: datetime) -> Sequence[Approval]:
        if self.broken:
            raise StoreFailure("the table is away")
        found = [a for a in self.records.values() if a.cluster == cluster and a.asked_at >= since]
        return sorted(found, key=lambda a: a.asked_at)


class FakeTokens:
    """`ports.TokenStore`."""

    def __init__(self) -> None:
        self.tokens: dict[str, str] = {}

    def keep(self, approval_id: str, token: str) -> None:
        self.tokens[approval_id] = token

    def token(self, approval_id: str) -> str | None:
        return self.tokens.get(approval_id)


class FakeThreads:
    """`ports.ThreadStore`: the first place of a key wins. `crash_after`: how many `keep` calls still succeed."""

    def __init__(self) -> None:
        self.places: dict[str, tuple[str, str]] = {}
        self.crash_after: int | None = None

    def place(self, key: str) -> tuple[str, str] | None:
        return self.places.get(key)

    def keep(self, key: str, channel: str, ts: str) -> None:
        if self.crash_after is not None:
            if self.crash_after == 0:
                raise StoreFailure("crashed")
            self.crash_after -= 1
        self.places.setdefault(key, (channel, ts))
