"""In-memory queues towards people: the outbox, and approvals to be settled."""

from __future__ import annotations

from roundhouse.contracts.notices import Notice


class FakeOutbox:
    """`ports.Outbox`: one notice per `notice_id`, in order."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []

    def tell(self, notice: Notice) -> None:
        if notice.notice_id not in {known.notice_id for known in self.notices}:
            self.notices.append(notice)


class FakeSettleQueue:
    """`ports.SettleQueue`."""

    def __init__(self) -> None:
        self.approval_ids: list[str] = []

    def settle(self, approval_id: str) -> None:
        self.approval_ids.append(approval_id)
