"""Looks at the cluster and its groups: what no action on a node can mend, and what suspends it. Pure."""

from __future__ import annotations

from datetime import timedelta

from roundhouse.line.decision.facts import View
from roundhouse.line.decision.looks.hyperpod import grace
from roundhouse.line.decision.looks.made import close, human
from roundhouse.line.decision.verdict import Decision, Guard, Verdict
from roundhouse.line.event import LOST_READY, CauseClass, Health
from roundhouse.line.incident import Outcome
from roundhouse.line.state import NodeStatus

_SETTLED_BY_COUNTS = frozenset({LOST_READY, "cluster_failed", "cluster_rollingback"})

PATCHING = "patching"  # name of the step that runs while HyperPod patches
PATCHING_ADVICE = (
    "Look at the groups' SoftwareUpdateStatus, and at the cluster's events: describe-cluster, list-cluster-events.",
    "InProgress with nodes that come back one after the other: let it go on. A new signal opens a new incident.",
    "A rollback that failed (RollbackInProgress for hours, ClusterMaintenanceRollbackFailed): only Support can end it.",
)
CAPACITY_ADVICE = (
    "Do not replace running nodes of this group: none would come back.",
    "Compare the AZ id of the group's subnet with that of its training plan or reservation: they must be equal.",
    "Check the plan: status Active, window not over, AvailableInstanceCount above 0, its ARN in the group.",
    "If all of that is right, ask the AWS account team; HyperPod goes on trying by itself.",
)


def patching(view: View) -> Decision | None:
    """No repair while HyperPod patches the cluster, or the group of the node. It may take hours; then people must
    look."""
    policy, said = view.facts.policy, view.cluster.patching(view.group)
    if not said:
        return None
    since = view.running_step(PATCHING)
    hours = policy.patching_limit_s / 3600
    if since is not None and view.facts.now - since >= timedelta(seconds=policy.patching_limit_s):
        return human(Guard.PATCHING, f"{said} for more than {hours:g} h: patching seems stuck", PATCHING_ADVICE)
    reason = f"HyperPod is patching ({said}): repair is suspended until it is done, for {hours:g} h at most"
    return Decision(Verdict.HOLD, reason, guard=Guard.PATCHING, wait_s=policy.poll_s)


def busy_cluster(view: View) -> Decision | None:
    """No repair while HyperPod creates, changes, deletes or rolls back."""
    policy, status = view.facts.policy, view.cluster.status
    if status == "Failed":
        return human(Guard.CLUSTER_BUSY, "the cluster has Failed: node repair is refused, it must be made again")
    if status != "InService":
        reason = f"the cluster is {status}: HyperPod takes no repair now"
        return Decision(Verdict.HOLD, reason, guard=Guard.CLUSTER_BUSY, wait_s=policy.poll_s)
    return None


def concerns_many(view: View) -> Decision | None:
    """Causes that no action on a node can mend: a shortage, the cluster as a whole, launches of no known node."""
    incident = view.facts.incident
    subject = incident.instance_id
    of_a_node = not subject.startswith("group:") and subject != "cluster"
    if of_a_node and incident.cause not in {CauseClass.CAPACITY, CauseClass.CLUSTER}:
        return None
    groups = [g for g in view.cluster.groups.values() if subject in {f"group:{g.name}", "cluster"}]
    if incident.code == LOST_READY and any(g.current != g.target for g in groups):
        return close(Outcome.IGNORED, "nodes come and go while a group is being scaled")
    if incident.health == Health.HEALTHY:
        return close(Outcome.RECOVERED, "the newest news of it are good")
    full = all(view.cluster.running(g.name) >= g.target for g in groups) and bool(groups)
    counts = incident.cause is not CauseClass.CLUSTER or incident.code in _SETTLED_BY_COUNTS
    if full and counts and view.cluster.status == "InService":
        return close(Outcome.RECOVERED, "every node that was asked for is Running")
    if (waiting := grace(view)) is not None:
        return waiting
    missing = (
        ", ".join(f"{g.name} {view.cluster.running(g.name)} of {g.target} Running" for g in groups) or "no group known"
    )
    if incident.cause is CauseClass.CAPACITY:
        return human(
            Guard.CAPACITY, f"no capacity for more instances ({missing}): retrying does not help", CAPACITY_ADVICE
        )
    lame = [
        f"{n.instance_id or n.logical_id} {n.status}" for n in view.cluster.nodes if n.status is not NodeStatus.RUNNING
    ]
    detail = f"; not Running: {', '.join(lame[:10])}" if lame else ""
    return human(Guard.CLUSTER, f"{incident.code} concerns more than one node ({missing}){detail}: people must look")
