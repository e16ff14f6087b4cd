"""In-memory stores of what people are asked and where it is shown: approvals, task tokens, Slack threads."""

from __future__ import annotations

from dataclasses import replace

from roundhouse.errors import ConditionFailed
from roundhouse.line.approval import Approval


class FakeApprovals:
    """`ports.ApprovalStore`."""

    def __init__(self, *approvals: Approval) -> None:
        self.records = {each.approval_id: each for each in approvals}

    def get(self, approval_id: str) -> Approval | None:
        return self.records.get(approval_id)

    def put(self, approval: Approval) -> Approval:
        held = self.records.get(approval.approval_id)
        stored = held.version if held else 0
        if stored != approval.version:
            raise ConditionFailed(f"{approval.approval_id} is at version {stored}, not {approval.version}")
        self.records[approval.approval_id] = replace(approval, version=stored + 1)
        return self.records[approval.approval_id]


class FakeTokens:
    """`ports.TokenStore`."""

    def __init__(self, **tokens: str) -> None:
        self.tokens = dict(tokens)

    def keep(self, approval_id: str, token: str) -> None:
        self.tokens[approval_id] = token

    def token(self, approval_id: str) -> str | None:
        return self.tokens.get(approval_id)


class FakeThreads:
    """`ports.ThreadStore`."""

    def __init__(self) -> None:
        self.places: dict[str, tuple[str, str]] = {}

    def place(self, key: str) -> tuple[str, str] | None:
        return self.places.get(key)

    def keep(self, key: str, channel: str, ts: str) -> None:
        self.places.setdefault(key, (channel, ts))
