"""Staging: the next step of a creation, from live counts alone. Pure: no clock, no I/O.

Nothing here remembers what was called before. A stopped execution, a lost answer or a second run reads the live
TargetCount and goes on from there; amounts are stage target minus TargetCount, never minus Running, so that a node
that is still on its way is not ordered a second time.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from roundhouse.build.legacy import LEGACY
from roundhouse.build.records import Run
from roundhouse.build.settings import differences, group_settings
from roundhouse.build.spec import ClusterSpec, DiscountKind, GroupSpec
from roundhouse.line.state import Cluster

ADD_LIMIT = 50  # nodes of one BatchAddClusterNodes call (service model)
PASSED = {"VERIFIED", "ACCEPTED"}
NOTHING: Mapping[str, int] = MappingProxyType({})


class StepKind(StrEnum):
    """What comes next."""

    CREATE = "create"  # CreateCluster with `counts`
    WAIT_CONTROLLER = "wait_controller"
    ADD = "add"  # BatchAddClusterNodes, one call for each of `additions`, in order
    UPDATE = "update"  # UpdateCluster of `group` to the absolute count in `counts`: legacy provisioning
    DISCARD = "discard"  # a creation that HyperPod undid: nothing is left but the cluster's name
    WAIT_STAGE = "wait_stage"
    VERIFY = "verify"  # the stage is Running: judge its discount
    DONE = "done"
    REFUSE = "refuse"  # people must look; nothing is to be changed


@dataclass(frozen=True, slots=True)
class Addition:
    """One BatchAddClusterNodes call: 1 to 50 nodes, and the client token under which it may be repeated."""

    amount: int
    token: str


@dataclass(frozen=True, slots=True)
class Step:
    """The next step and why. `target` is the stage's cumulative target, `stage` its index from 0."""

    kind: StepKind
    reason: str
    group: str | None = None
    stage: int | None = None
    target: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    additions: tuple[Addition, ...] = ()

    @property
    def amount(self) -> int:
        """Nodes added by all calls of an ADD step."""
        return sum(addition.amount for addition in self.additions)

    @property
    def grows(self) -> bool:
        """True when it asks for nodes."""
        return self.kind in {StepKind.CREATE, StepKind.ADD} or bool(self.counts)


def stage_target(group: GroupSpec, stage: int) -> int:
    """Cumulative target of a stage."""
    return share_of(group.stages[stage], group.count)


def share_of(share: float, count: int) -> int:
    """ceil(share x count), at least 1 and at most `count`.

    Shares are decimals written by people: 0.6 x 65 must be 39, not the 40 that binary rounding makes of 39.0000001.
    """
    return max(1, min(count, math.ceil(round(share * count, 6))))


def first_counts(spec: ClusterSpec) -> dict[str, int]:
    """Counts of the CreateCluster call, per group: the first stage of each (controller and login groups have one)."""
    return {group.name: stage_target(group, 0) for group in spec.groups}


def stages(spec: ClusterSpec) -> list[tuple[GroupSpec, int, int]]:
    """(group, stage, target) in the order in which they are reached: by stage, discounted groups first."""
    order = sorted(spec.groups, key=lambda group: group.discount.kind is DiscountKind.NONE)
    longest = max((len(group.stages) for group in spec.groups), default=0)
    return [(g, stage, stage_target(g, stage)) for stage in range(longest) for g in order if stage < len(g.stages)]


def client_token(cluster_arn: str, group: str, live_target: int, target: int, cancellations: int = 0) -> str:
    """Client token of the call that takes `group` from `live_target` towards `target`; 43 characters.

    The same step seen twice gives the same token, so HyperPod replays its answer instead of adding again (for 8 hours).
    `cancellations` sets apart what is added after a cancellation: replaying a token whose nodes were deleted adds none.
    """
    text = f"{cluster_arn}\n{group}\n{live_target}\n{target}\n{cancellations}"
    return f"rh-{hashlib.sha256(text.encode()).hexdigest()[:40]}"


def additions(
    cluster_arn: str, group: str, *, live_target: int, target: int, amount: int, cancellations: int = 0
) -> tuple[Addition, ...]:
    """The calls that add `amount` nodes, at most 50 each.

    Each call's token is made from the target that it starts at, so a run that resumes between two calls, or reads a
    count from before the last one, comes to the same tokens.
    """
    calls = []
    for begun in range(0, amount, ADD_LIMIT):
        chunk = min(ADD_LIMIT, amount - begun)
        calls.append(Addition(chunk, client_token(cluster_arn, group, live_target + begun, target, cancellations)))
    return tuple(calls)


def next_step(
    spec: ClusterSpec, cluster: Cluster | None, run: Run | None, restoring: Mapping[str, int] = NOTHING
) -> Step:
    """The next step towards `spec`, decided from `cluster` as read just now (None: there is no such cluster).

    `run` says which stages were judged already. `restoring` counts, per group, nodes that a repair has deleted and is
    about to add again by itself: they are not missing.
    """
    refusal = _refusal(spec, cluster, run)
    if refusal:
        return Step(StepKind.REFUSE, refusal)
    if cluster is None:
        counts = first_counts(spec)
        words = ", ".join(f"{count} {name}" for name, count in counts.items())
        return Step(StepKind.CREATE, f"no cluster {spec.cluster} yet: create it with {words}", counts=counts)
    waiting = _not_ready(spec, cluster)
    if waiting:
        return Step(StepKind.WAIT_CONTROLLER, waiting)
    for group, stage, target in stages(spec):
        step = _stage_step(
            group, stage, target, spec=spec, cluster=cluster, run=run, restoring=restoring.get(group.name, 0)
        )
        if step:
            return step
    return Step(StepKind.DONE, "every group has its contract's count and every stage is passed")


def _stage_step(
    group: GroupSpec,
    stage: int,
    target: int,
    *,
    spec: ClusterSpec,
    cluster: Cluster,
    run: Run | None,
    restoring: int,
) -> Step | None:
    """What is left to do for one stage; None when it is passed."""
    live = cluster.groups[group.name].target
    missing = target - live - restoring
    if missing > 0 and spec.provisioning_mode == LEGACY:
        reason = f"stage {stage + 1} of {group.name}: target is {live}, {target} wanted, so update to {live + missing}"
        return Step(StepKind.UPDATE, reason, group.name, stage, target, counts={group.name: live + missing})
    if missing > 0:
        calls = additions(
            cluster.arn,
            group.name,
            live_target=live,
            target=target,
            amount=missing,
            cancellations=run.cancellations if run else 0,
        )
        reason = f"stage {stage + 1} of {group.name}: target is {live}, {target} wanted, so add {missing}"
        return Step(StepKind.ADD, reason, group.name, stage, target, additions=calls)
    if _passed(group, stage, target, run):
        return None
    running = cluster.running(group.name)
    if running < target:
        reason = f"stage {stage + 1} of {group.name}: {running} of {target} Running"
        return Step(StepKind.WAIT_STAGE, reason, group.name, stage, target)
    if group.discount.kind is DiscountKind.NONE:
        return None
    reason = f"stage {stage + 1} of {group.name}: {running} Running, the discount is not verified yet"
    return Step(StepKind.VERIFY, reason, group.name, stage, target)


def _passed(group: GroupSpec, stage: int, target: int, run: Run | None) -> bool:
    """True when this stage, or a later one of the group, was all Running once and its discount verified or accepted."""
    for later in range(stage, len(group.stages)):
        record = run.record(group.name, later) if run else None
        if record and record.target >= target and record.running_at is not None:
            verdict_wanted = group.discount.kind is not DiscountKind.NONE
            if not verdict_wanted or record.verdict in PASSED or (run and run.accepted_loss):
                return True
    return False


def _not_ready(spec: ClusterSpec, cluster: Cluster) -> str:
    """Why nothing can be added yet, or "". Workers never matter here: the controller comes first."""
    if cluster.status != "InService":
        return f"the cluster is {cluster.status}"
    for group in spec.groups:
        if group.role == "Controller" and cluster.running(group.name) < 1:
            return f"the cluster is InService but no node of {group.name} is Running"
    return ""


def _refusal(spec: ClusterSpec, cluster: Cluster | None, run: Run | None) -> str:
    """Why this creation must not go on without people, or ""."""
    if run and run.status in {"held", "rolled_back", "failed"}:
        return f"run {run.run_id} is {run.status}: start a new one when people have decided"
    if cluster is None:
        return ""
    if cluster.status == "Failed" or (cluster.status == "RollingBack" and spec.provisioning_mode != LEGACY):
        told = f" ({cluster.failure})" if cluster.failure else ""
        return f"the cluster is {cluster.status}{told}: it cannot be updated, delete it and create it again"
    if cluster.status == "Deleting":
        return "the cluster is being deleted: wait until it is gone, then start again"
    if cluster.continuous != (spec.provisioning_mode != LEGACY):
        live = "continuous" if cluster.continuous else LEGACY
        return f"the cluster has {live} provisioning, the environment says {spec.provisioning_mode}"
    return _differences(spec, cluster)


def _differences(spec: ClusterSpec, cluster: Cluster) -> str:
    """How the live groups differ from the environment's in what cannot be reached by adding nodes, or ""."""
    found = []
    wanted = {group.name: group for group in spec.groups}
    found += [f"group {name} is not in the cluster" for name in wanted if name not in cluster.groups]
    found += [f"group {name} is not in the environment" for name in cluster.groups if name not in wanted]
    for name in wanted.keys() & cluster.groups.keys():
        group, live = wanted[name], cluster.groups[name]
        if live.instance_type != group.instance_type:
            found.append(f"group {name} is of {live.instance_type}, not {group.instance_type}")
        if live.training_plan_arn != group.discount.training_plan_arn:
            found.append(f"group {name} has training plan {live.training_plan_arn or 'none'}, not the environment's")
        if spec.provisioning_mode == LEGACY:  # its settings are sent again with every count
            found += [f"group {name}: {each}" for each in differences(live.settings, group_settings(spec, group))]
        if live.target > group.count:
            found.append(f"group {name} has target {live.target}, above the contract's {group.count}")
    return "; ".join(sorted(found))
