"""Launching a stage: the step is decided again on live counts, and its call made. Ports only."""

from __future__ import annotations

from typing import Any

from roundhouse.build.staging import StepKind
from roundhouse.errors import Conflict
from roundhouse.steps.creation.adding import add
from roundhouse.steps.creation.creating import create
from roundhouse.steps.creation.plan import answer, step_now
from roundhouse.steps.creation.site import Works
from roundhouse.steps.legacy.updating import update


def launch(run_id: str, works: Works) -> dict[str, Any]:
    """Read live counts again and make the call that they ask for, whatever was planned a moment ago.

    Unavailable (a lost answer) is raised after the ledger says UNKNOWN: the next try reads live counts, and the same
    client token makes HyperPod replay its answer instead of adding twice.
    """
    run = works.owned(run_id)
    step, cluster = step_now(run, works)
    try:
        if step.kind is StepKind.CREATE:
            return create(step, run, works)
        if step.kind is StepKind.ADD and cluster is not None:
            return add(step, run, cluster, works)
        if step.kind is StepKind.UPDATE and cluster is not None:
            return update(step, run, cluster, works)
    except Conflict as busy:  # the cluster is busy with something else: nothing was changed, so plan again
        return {**answer(step, cluster, works.spec), "status": "plan", "reason": str(busy)}
    return {**answer(step, cluster, works.spec), "status": "plan"}
