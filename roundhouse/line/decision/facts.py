"""Everything that a decision depends on, and the view of it that the rules share. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from roundhouse.line.breaker import BreakerState
from roundhouse.line.incident import Incident, target_instance
from roundhouse.line.ladder import HYPERPOD_RUNGS, History, Rung
from roundhouse.line.policy import Policy, Rule
from roundhouse.line.slurm import SlurmState, parse_state
from roundhouse.line.state import Cluster, ClusterEvent, Node, NodeStatus, Pause, SlurmNode


@dataclass(frozen=True, slots=True)
class Facts:
    """Read just now. `cluster` or `breaker` None: could not be read, and that stops action.

    `cluster.slurm` is None when the agent's snapshot is missing or too old. `events` are HyperPod's events of the
    incident's group since it was opened (more do no harm). `available` are the rungs that somebody can carry out.
    """

    incident: Incident
    cluster: Cluster | None
    history: History
    breaker: BreakerState | None
    policy: Policy
    now: datetime
    pause: Pause | None = None
    events: Sequence[ClusterEvent] = ()
    available: frozenset[Rung] = HYPERPOD_RUNGS
    worked_upon: str = ""  # id of the incident for whose maintenance AWS works on the node right now


@dataclass(frozen=True, slots=True)
class View:
    """The facts joined: the live node of the incident, if any, its group, Slurm's word on it, the rule that applies."""

    facts: Facts
    cluster: Cluster
    node: Node | None
    instance: str  # the instance to act on; "" while none stands there
    group: str | None
    role: str
    rule: Rule
    slurm_node: SlurmNode | None
    slurm: SlurmState | None

    @property
    def corroborated(self) -> bool:
        """True when HyperPod itself speaks against the node: what runs on a node can be forged there."""
        failed = self.node is not None and self.node.status is NodeStatus.FAILURE
        return self.facts.incident.trusted or failed

    @property
    def slurm_node_text(self) -> str:
        """Slurm's word on the node, for reasons."""
        return (
            f"{self.slurm_node.name} is {self.slurm_node.state}" if self.slurm_node else "Slurm does not know the node"
        )

    @property
    def failed_attempt(self) -> bool:
        """True when our own last repair did not help: then good news are not believed without a proof."""
        attempts = self.facts.incident.attempts
        return bool(attempts) and attempts[-1].result == "failed"

    def running_step(self, name: str) -> datetime | None:
        """When the step of that name began that still runs; None when none does."""
        steps = self.facts.incident.steps
        return next((s.started_at for s in reversed(steps) if s.name == name and s.ended_at is None), None)

    def since(self) -> datetime:
        """When waiting began: the incident's opening, or our last attempt."""
        attempts = self.facts.incident.attempts
        return max(self.facts.incident.opened_at, attempts[-1].at) if attempts else self.facts.incident.opened_at

    def waited(self, seconds: float) -> bool:
        """True when that long has passed since `since()`."""
        return self.facts.now - self.since() >= timedelta(seconds=seconds)

    def left(self, start: datetime, seconds: float) -> int:
        """Whole seconds until `start` + `seconds`; 0 when past."""
        return max(0, round((start + timedelta(seconds=seconds) - self.facts.now).total_seconds()))


def view_of(facts: Facts, cluster: Cluster) -> View:
    """Join the facts. The node is found by instance id; only a failed launch is found by its logical id."""
    incident = facts.incident
    if cluster.controller_away:
        cluster = replace(cluster, slurm=None)  # the last word of a controller that is lost judges no node
    node, instance = _find(incident, cluster)
    group = node.group if node else incident.group
    name = incident.slurm_name or (node.hostname.split(".")[0] if node and node.hostname else None)
    slurm_node = cluster.slurm.nodes.get(name) if cluster.slurm and name else None
    return View(
        facts,
        cluster,
        node,
        instance,
        group,
        cluster.role(group),
        facts.policy.rule(incident.cause),
        slurm_node,
        parse_state(slurm_node.state) if slurm_node else None,
    )


def _find(incident: Incident, cluster: Cluster) -> tuple[Node | None, str]:
    target = target_instance(incident)
    kind, _, key = target.partition(":")
    if not key:
        return cluster.by_instance(target), target
    if kind == "node":
        node = cluster.by_logical(key)
    elif kind == "name":
        node = cluster.by_hostname(key)
        if node and (node.launched_at is None or node.launched_at > incident.last_event_at):
            node = None  # another instance took over the name since, or may have
    else:
        node = None
    return node, (node.instance_id or "") if node else ""
