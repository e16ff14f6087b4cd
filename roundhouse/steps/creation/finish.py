"""Finishing a run: what stands, what it costs an hour, and how it ended. Ports only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from roundhouse.build.cost import actual_usd_per_hour, expected_usd_per_hour
from roundhouse.build.records import Run
from roundhouse.build.spec import ClusterSpec, DiscountKind
from roundhouse.contracts.notices import NoticeKind
from roundhouse.errors import AwsFailure
from roundhouse.line.state import Cluster
from roundhouse.ports import ClusterReader, Outbox, RunStore
from roundhouse.steps import words
from roundhouse.steps.creation import own
from roundhouse.steps.creation.stage import capacity_counts, workers_running
from roundhouse.steps.look import read

ENDINGS = {
    "done": ("done", "is complete"),
    "rolled_back": ("rolled_back", "was rolled back"),
    "hold": ("held", "is on hold"),
    "gave_up": ("failed", "did not reach its contract"),
    "refused": ("failed", "cannot go on"),
    "error": ("failed", "stopped on an error"),
}


def finish(
    run_id: str,
    result: dict[str, Any],
    *,
    reader: ClusterReader,
    runs: RunStore,
    outbox: Outbox,
    spec: ClusterSpec,
    now: datetime,
) -> dict[str, Any]:
    """Write the end of the run and tell it: `{status, expected_usd_per_hour, actual_usd_per_hour, …}`."""
    status, words_of_end = ENDINGS.get(str(result.get("status")), ("failed", "ended in an unknown way"))
    run = own.owned(runs, spec.cluster, run_id)
    try:
        cluster = read(reader, spec.cluster)
    except AwsFailure:
        cluster = None
    capacity = capacity_counts(spec, cluster, run.sightings, run) if cluster else {}
    actual = _actual(spec, cluster, capacity)
    expected = expected_usd_per_hour(spec)
    why = words.cause(result.get("cause")) or str(result.get("reason") or result.get("why") or "")
    running = workers_running(spec, cluster) if cluster else 0

    def write(current: Run) -> Run:
        moved = own.at(current, now, running, why or words_of_end)
        return replace(
            moved,
            status=status,
            capacity=capacity,
            expected_usd_per_hour=expected,
            actual_usd_per_hour=actual,
            finished_at=now,
        )

    run = own.update(runs, spec.cluster, run_id, write)
    facts = {
        "Running workers": str(running),
        "Capacity": ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in sorted(capacity.items()))
        or "none",
        "Expected": f"{expected:,.2f} USD an hour when complete",
        "Actual": f"{actual:,.2f} USD an hour",
        "Took": words.duration(now - run.started_at),
    }
    kind = NoticeKind.RUN_FINISHED if status == "done" else NoticeKind.RUN_STOPPED
    outbox.tell(words.run_notice(run, kind, "end", f"{spec.cluster} {words_of_end}", why, facts))
    return {
        "status": status,
        "reason": why,
        "running": running,
        "capacity": capacity,
        "expected_usd_per_hour": expected,
        "actual_usd_per_hour": actual,
    }


def _actual(spec: ClusterSpec, cluster: Cluster | None, capacity: dict[str, int]) -> float:
    """USD an hour of what runs now; a node of a discounted group whose capacity no event told counts as on demand."""
    if cluster is None:
        return 0.0
    running = {group.name: cluster.running(group.name) for group in spec.groups}
    plain = sum(running[g.name] for g in spec.groups if g.discount.kind is DiscountKind.NONE)
    lost = capacity.get("on_demand", 0) + capacity.get("unknown", 0) - plain
    on_demand: dict[str, int] = {}
    for group in spec.groups:
        if group.discount.kind is not DiscountKind.NONE and lost > 0:
            on_demand[group.name] = min(lost, running[group.name])
            lost -= on_demand[group.name]
    return actual_usd_per_hour(spec, running, on_demand)
