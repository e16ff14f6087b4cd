"""Planning a stage: what comes next, decided on live counts. Ports only; calls nothing that changes a cluster."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.build.legacy import LEGACY
from roundhouse.build.lock import held_by_another
from roundhouse.build.spec import ClusterSpec
from roundhouse.build.staging import Step, StepKind, next_step
from roundhouse.contracts.ledger import LedgerState, action_id
from roundhouse.contracts.names import log_group
from roundhouse.line.state import Cluster
from roundhouse.ports import ControlStore, Ledger, Run
from roundhouse.steps.creation import own
from roundhouse.steps.creation.site import Site

CREATED_WITHIN = timedelta(days=14)  # a creation does not last longer
RESTORE_WINDOW = timedelta(days=2)  # a repair that has not restored its node by then is not under way any more
CREATING = "Creating"
APPEARS_WITHIN = timedelta(minutes=5)  # a new cluster is listed by then, and new nodes are counted
STATUS = {
    StepKind.CREATE: "create",
    StepKind.ADD: "add",
    StepKind.UPDATE: "add",
    StepKind.DISCARD: "discard",
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
    if cluster is not None and run.made_another(cluster.arn):
        reason = f"{name} is {cluster.arn} now, and this creation made {run.cluster_arn}: the other one is left alone"
        return Step(StepKind.REFUSE, reason), cluster
    if cluster is not None and site.spec.provisioning_mode == LEGACY:
        step = _legacy_first(run, cluster, site)
        if step is not None:
            return step, cluster
    return wanted(run, cluster, site), cluster


def _legacy_first(run: Run, cluster: Cluster, site: Site) -> Step | None:
    """What a legacy cluster asks for before its counts: an update of ours that ended is written down, and a creation
    that HyperPod undid is cleared away, if we made that very cluster and nothing of it is left."""
    if cluster.status == "Failed" and not run.proven and not cluster.nodes and _made_by_us(cluster, site):
        reason = f"the creation failed and HyperPod undid it: {cluster.failure or 'no reason is told'}"
        return Step(StepKind.DISCARD, f"{reason} (logs: {log_group(cluster.name, cluster.arn)})")
    held = site.locks.get(cluster.name)
    ours = held.owner == run.run_id or (held.action_id and not held_by_another(held, run.run_id, site.now))
    if cluster.status == "InService" and ours:
        return Step(StepKind.UPDATE, "what became of the last update is to be written down")
    return None


def _made_by_us(cluster: Cluster, site: Site) -> bool:
    """True when the ledger holds the answer that named this very cluster."""
    entries = site.ledger.of_cluster(cluster.name, site.now - CREATED_WITHIN)
    return any(entry.kind == "create_cluster" and entry.detail == cluster.arn for entry in entries)


def wanted(run: Run, cluster: Cluster | None, site: Site) -> Step:
    """The next step on these counts. Where a discount is known to be lost, it is judged again before more is added:
    a run that begins after people said hold, or that was stopped while they were asked, must not grow at that price.
    """
    step = next_step(site.spec, cluster, run, restoring(site.ledger, site.spec.cluster, site.now))
    if step.kind not in {StepKind.ADD, StepKind.UPDATE} or step.group is None or cluster is None or run.accepted_loss:
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
    if cluster is not None and run.stages and not run.cluster_arn:  # the answer that named it was lost
        arn = cluster.arn
        run = site.update(run_id, lambda r: replace(r, cluster_arn=r.cluster_arn or arn))
    switch = control.pause()
    if switch is not None and step.grows:
        step = Step(StepKind.WAIT_CONTROLLER, f"paused by {switch.by}: {switch.why}")
        result = {**answer(step, cluster, site.spec), "status": "wait"}
    elif step.kind is StepKind.WAIT_CONTROLLER and _waited_too_long(run, step, cluster, site):
        step = Step(StepKind.REFUSE, f"waited {site.spec.ready_timeout_s} s in vain: {step.reason}")
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
    return site.now - run.history[-1][0] > timedelta(seconds=site.spec.ready_timeout_s)


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
