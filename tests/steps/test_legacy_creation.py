"""Creations of clusters without continuous provisioning: absolute counts, roll-backs, others at the same cluster."""

from __future__ import annotations

from tests.steps.legacy import empty_account, legacy_of
from tests.steps.test_creation import record, verdicts


def test_plain_creation_grows_in_stages_by_absolute_counts() -> None:
    world = empty_account()
    execution = world.create()
    world.run()
    assert execution.output["status"] == "done", (execution.visited, execution.errors, execution.output)
    assert legacy_of(world).updates == [("workers", 3, 4), ("workers", 4, 5)]
    assert verdicts(world) == ["VERIFIED"] * 3
    assert len(record(world).proven) == 5
    assert set(world.outbox.sent.values()) == {1}
    assert world.locks.get("train").owner == ""
