"""In-memory queues towards people: the outbox, approvals to be settled, and the hold on a received message."""

from __future__ import annotations

from roundhouse.contracts.notices import Notice
from roundhouse.errors import NotFound, Unavailable


class FakeOutbox:
    """`ports.Outbox`: one notice per `notice_id`, in order. `broken`: the queue is away."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.broken = False

    def tell(self, notice: Notice) -> None:
        if self.broken:
            raise Unavailable("the outbox is away")
        if notice.notice_id not in {known.notice_id for known in self.notices}:
            self.notices.append(notice)


class FakeSettleQueue:
    """`ports.SettleQueue`. `broken`: the queue is away."""

    def __init__(self) -> None:
        self.approval_ids: list[str] = []
        self.broken = False

    def settle(self, approval_id: str) -> None:
        if self.broken:
            raise Unavailable("the settle queue is away")
        self.approval_ids.append(approval_id)


class FakeLease:
    """`ports.QueueLease`: seconds by receipt handle. `lost`: the messages are no longer held."""

    def __init__(self) -> None:
        self.held: dict[str, float] = {}
        self.lost = False

    def extend(self, receipt_handle: str, seconds: float) -> None:
        if self.lost:
            raise NotFound("message is no longer held")
        self.held[receipt_handle] = seconds
