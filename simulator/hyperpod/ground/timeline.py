"""Virtual time for a world: callbacks run in order at the time they were due. Standard library only."""

import heapq
import itertools
from collections.abc import Callable
from datetime import datetime, timedelta


class Timeline:
    """A queue of callbacks. During a callback `now` is the time it was due, so a late tick changes no timestamp."""

    def __init__(self, now: datetime) -> None:
        self.start = now
        self.now = now
        self._queue: list[tuple[datetime, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Run `action` `seconds` from now."""
        self.at(self.now + timedelta(seconds=max(0.0, seconds)), action)

    def at(self, when: datetime, action: Callable[[], None]) -> None:
        """Run `action` at `when`, or at once on the next advance if that has passed."""
        heapq.heappush(self._queue, (max(when, self.now), next(self._order), action))

    def advance(self, now: datetime) -> None:
        """Run everything due up to `now`; what those callbacks schedule before `now` runs too."""
        while self._queue and self._queue[0][0] <= now:
            when, _, action = heapq.heappop(self._queue)
            self.now = max(self.now, when)
            action()
        self.now = max(self.now, now)
