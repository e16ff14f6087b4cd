"""An in-memory Messenger: a channel with messages, and answers that can get lost."""

from __future__ import annotations

from dataclasses import dataclass

from roundhouse.contracts.notices import Notice
from roundhouse.errors import SlackFailure, SlackUnavailable


@dataclass
class Shown:
    """One message: `notice_id` is the metadata it was posted with, `notice` what it shows now."""

    channel: str
    ts: str
    thread_ts: str | None
    notice_id: str
    notice: Notice


class FakeMessenger:
    """`fail` is raised by the next calls, in order (None: that call works). `lose_answers`: that many posts get
    through and still raise SlackUnavailable."""

    def __init__(self) -> None:
        self.messages: list[Shown] = []
        self.whispers: list[tuple[str, str]] = []
        self.fail: list[SlackFailure | None] = []
        self.fail_find: SlackFailure | None = None
        self.lose_answers = 0
        self.searches = 0

    def post(self, channel: str, notice: Notice, thread_ts: str | None) -> str:
        self._maybe_fail()
        shown = Shown(channel, f"{1000 + len(self.messages)}.000100", thread_ts, notice.notice_id, notice)
        self.messages.append(shown)
        if self.lose_answers:
            self.lose_answers -= 1
            raise SlackUnavailable("chat.postMessage: time-out after sending")
        return shown.ts

    def update(self, channel: str, ts: str, notice: Notice) -> None:
        self._maybe_fail()
        next(m for m in self.messages if (m.channel, m.ts) == (channel, ts)).notice = notice

    def find(self, channel: str, notice_id: str, thread_ts: str | None) -> str | None:
        self.searches += 1
        if self.fail_find is not None:
            raise self.fail_find
        for m in self.messages:
            where = m.thread_ts is None if thread_ts is None else thread_ts in (m.thread_ts, m.ts)
            if m.channel == channel and m.notice_id == notice_id and where:
                return m.ts
        return None

    def whisper(self, response_url: str, text: str) -> None:
        self.whispers.append((response_url, text))

    def _maybe_fail(self) -> None:
        failure = self.fail.pop(0) if self.fail else None
        if failure is not None:
            raise failure
