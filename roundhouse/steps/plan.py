"""Planning a stage: what comes next, decided on live counts. Ports only; calls nothing that changes a cluster."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from roundhouse.build.spec import ClusterSpec
from roundhouse.build.staging import Step, StepKind, next_step
from roundhouse.contracts.ledger import LedgerState, action_id
from roundhouse.line.state import Cluster
from roundhouse.ports import ControlStore, Ledger, Run
from roundhouse.steps import own
from roundhouse.steps.site import Site

RESTORE_WINDOW = timedelta(days=2)  # a repair that has not restored its node by then is not under way any more
CREATING = "Creating"
APPEARS_WITHIN = timedelta(minutes=5)  # a new cluster is listed by then, and new nodes are counted
STATUS = {
    StepKind.CREATE: "create",
    StepKind.ADD: "add",
    StepKind.WAIT_CONTROLLER: "wait_controller",
    StepKind.WAIT_STAGE: "watch",
    StepKind.VERIFY: "watch",
    StepKind.DONE: "done",
    StepKind.REFUSE: "refused",
}


def restoring(ledger: Ledger, cluster: str, now: datetime) -> dict[str, int]:
    """Nodes per group that a repair has deleted and is about to add again by itself."""
    open_: dict[str, int] = {}
    for entry in ledger.of_cluster(cluster, now - RESTORE_WINDOW):
        if entry.kind == "delete_restore" and entry.group and entry.state in {LedgerState.CALLED, LedgerState.UNKNOWN}:
            open_[entry.group] = open_.get(entry.group, 0) + 1
    return open_


def step_now(run: Run, site: Site) -> tuple[Step, Cluster | None]:
    """The next step on live counts, and the cluster that it was read from.

    A cluster that this run created and that is gone is not created again: somebody deleted it. One that is not ready
    (being patched, its controller away) is waited for as long as a controller is.
    """
    name, cluster = site.spec.cluster, site.cluster()
    if cluster is None and run.stages:
        entry = site.ledger.get(action_id(run.run_id, "create_cluster", name))
        if entry is not None and site.now - entry.updated_at < APPEARS_WITHIN:
            return Step(StepKind.WAIT_CONTROLLER, "the cluster was just created and is not listed yet"), None
        if entry is None or entry.state in {LedgerState.CALLED, LedgerState.CONFIRMED}:
            return Step(StepKind.REFUSE, f"{name} was created and is gone: somebody deleted it"), None
    return wanted(run, cluster, site), cluster


def wanted(run: Run, cluster: Cluster | None, site: Site) -> Step:
    """The next step on these counts. Where a discount is known to be lost, it is judged again before more is added:
    a run that begins after people said hold, or that was stopped while they were asked, must not grow at that price.
    """
    step = next_step(site.spec, cluster, run, restoring(site.ledger, site.spec.cluster, site.now))
    if step.kind is not StepKind.ADD or step.group is None or cluster is None or run.accepted_loss:
        return step
    newest = {record.stage: record for record in run.stages if record.group == step.group}
    lost = next((record for record in newest.values() if record.verdict == "LOST"), None)
    if lost is None:
        return step
    reason = f"the discount of {step.group} was lost ({lost.reason}): it is judged again before anything is added"
    return Step(StepKind.VERIFY, reason, step.group, lost.stage, cluster.groups[step.group].target)


def plan(run_id: str, site: Site, control: ControlStore) -> dict[str, Any]:
    """What comes next: `{status, reason, wait_s, group, stage, target}`. While people pause us, nothing is begun."""
    run = site.owned(run_id)
    step, cluster = step_now(run, site)
    switch = control.pause()
    if switch is not None and step.kind in {StepKind.CREATE, StepKind.ADD}:
        step = Step(StepKind.WAIT_CONTROLLER, f"paused by {switch.by}: {switch.why}")
        result = {**answer(step, cluster, site.spec), "status": "wait"}
    elif step.kind is StepKind.WAIT_CONTROLLER and _waited_too_long(run, step, cluster, site):
        step = Step(StepKind.REFUSE, f"waited {site.spec.waits.controller_timeout_s} s in vain: {step.reason}")
        result = answer(step, cluster, site.spec)
    else:
        result = answer(step, cluster, site.spec)
    if run.step != step.reason:
        compute = [group.name for group in site.spec.groups if group.role == "Compute"]
        running = sum(cluster.running(name) for name in compute) if cluster else 0
        site.update(run_id, lambda r: own.at(r, site.now, running, step.reason))
    return result


def _waited_too_long(run: Run, step: Step, cluster: Cluster | None, site: Site) -> bool:
    """True when the cluster has not been ready for this same reason for too long; the state machine itself counts how
    long a new one takes."""
    if cluster is None or cluster.status == CREATING or not run.history or run.history[-1][2] != step.reason:
        return False
    return site.now - run.history[-1][0] > timedelta(seconds=site.spec.waits.controller_timeout_s)


def answer(step: Step, cluster: Cluster | None, spec: ClusterSpec) -> dict[str, Any]:
    """A step as workflow data."""
    # Only a cluster that is being created has its status polled; any other is planned upon again a little later.
    waits = step.kind is StepKind.WAIT_CONTROLLER and (cluster is None or cluster.status != CREATING)
    return {
        "status": "wait" if waits else STATUS[step.kind],
        "reason": step.reason,
        "wait_s": spec.waits.poll_s,
        "group": step.group,
        "stage": step.stage,
        "target": step.target,
    }
