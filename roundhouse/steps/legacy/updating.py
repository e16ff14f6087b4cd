"""Growing a stage of a legacy cluster: one UpdateCluster with the group's absolute count. Ports only.

HyperPod does all of it or nothing, and says which only by live state. So an update that was called is looked after
until it has ended, and what it came to is decided from the ledger: go on, try again, or people.
"""

from __future__ import annotations

from typing import Any

from roundhouse.build.legacy import Next, retry
from roundhouse.build.staging import Step
from roundhouse.contracts.names import log_group
from roundhouse.contracts.notices import NoticeKind
from roundhouse.line.state import Cluster
from roundhouse.ports import Run
from roundhouse.steps import words
from roundhouse.steps.creation.adding import begin_stage
from roundhouse.steps.creation.plan import answer
from roundhouse.steps.creation.site import Works
from roundhouse.steps.legacy.scaling import Busy, Called, Enough, Order, Refusal


def update(step: Step, run: Run, cluster: Cluster, works: Works) -> dict[str, Any]:
    """Settle what was called before, then grow the group, unless people must look first.

    Status `plan` (look again after `wait_s`) · `gave_up` (people) · `refused` (the cluster is not as the environment
    says).
    """
    scaler, spec = works.scaler(), works.spec
    held = scaler.settle(run.run_id)
    if isinstance(held, Busy):
        return _later(step, cluster, works, held.reason)
    if step.group is None or step.stage is None or not step.counts:
        scaler.release(held)
        return {**_later(step, cluster, works, step.reason), "wait_s": 1}
    scope, subject = cluster.arn, f"{step.group}:{step.target}"
    mine = [each for each in scaler.tries(scope, subject) if each.claimed_at >= run.started_at]
    after = retry(mine, spec.waits, works.now, log_group(spec.cluster, cluster.arn))
    if after.next is not Next.GO:
        scaler.release(held)
        if after.next is Next.STOP:
            return {**answer(step, cluster, spec), "status": "gave_up", "reason": after.reason}
        _tell_retry(step, run, works, after.reason)
        return {**_later(step, cluster, works, after.reason), "wait_s": max(after.wait_s, 1)}
    begin_stage(step, run, works)
    to = step.counts[step.group]
    order = Order(
        owner=run.run_id,
        scope=scope,
        subject=subject,
        group=step.group,
        wanted=lambda _: to,
        why=step.reason,
    )
    made = scaler.order(order)
    match made:
        case Busy(reason):
            return _later(step, cluster, works, reason)
        case Refusal(reason):
            return {**answer(step, cluster, spec), "status": "refused", "reason": reason}
        case Enough():
            return {**_later(step, cluster, works, step.reason), "wait_s": 1}
        case Called(entry):
            title = f"Stage {step.stage + 1} of {step.group}: {entry.count} more, {entry.to_count} in all"
            identity = f"update-{step.group}-{step.target}-{entry.action_id.rpartition('/')[2]}"
            works.outbox.tell(words.run_notice(run, NoticeKind.RUN_PROGRESS, identity, title, step.reason))
            return _later(step, cluster, works, step.reason)


def _later(step: Step, cluster: Cluster, works: Works, reason: str) -> dict[str, Any]:
    return {**answer(step, cluster, works.spec), "status": "plan", "reason": reason}


def _tell_retry(step: Step, run: Run, works: Works, reason: str) -> None:
    """Told once a stage: the same id each time."""
    title = f"Stage {(step.stage or 0) + 1} of {step.group}: HyperPod undid the update; it is tried again"
    identity = f"undone-{step.group}-{step.target}"
    works.outbox.tell(words.run_notice(run, NoticeKind.RUN_PROGRESS, identity, title, reason))
