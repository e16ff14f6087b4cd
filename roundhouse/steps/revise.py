"""Optimistic read-change-write on a versioned store. Ports only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from roundhouse.errors import BadInput, ConditionFailed

R = TypeVar("R")
TRIES = 8


class Store(Protocol[R]):
    """A store whose `put` writes only over the version it was read at, and raises ConditionFailed otherwise."""

    def get(self, key: str, /) -> R | None: ...

    def put(self, record: R, /) -> R: ...


def revise(store: Store[R], key: str, change: Callable[[R], R]) -> R:
    """Apply `change` to the record `key`, again on the newer record when somebody was faster.

    A `change` that returns the very same object writes nothing. Raises BadInput when there is no such record,
    ConditionFailed after `TRIES` lost races (the caller's workflow retries that).
    """
    for _ in range(TRIES):
        record = store.get(key)
        if record is None:
            raise BadInput(f"no record {key!r}: it was never written, or the table was restored to before it was")
        changed = change(record)
        if changed is record:
            return record
        try:
            return store.put(changed)
        except ConditionFailed:
            continue
    raise ConditionFailed(f"record {key!r} is changing too fast: lost {TRIES} races in a row")
