"""The judge: each call that changes a node is held against the ten rules at the moment it is made.

It knows the truth (what is broken, who clicked, what was shown to the step) and none of the product's reasoning. What
changes in the middle of a step is no fault of the step: a rule is broken only by what was so when the step began and
still is when it calls.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from roundhouse.contracts import names
from roundhouse.contracts.commands import Verb
from roundhouse.contracts.notices import Notice
from roundhouse.line.approval import ApprovalStatus
from roundhouse.line.breaker import BreakerState, BreakerStatus
from roundhouse.line.drains import DRAIN
from roundhouse.line.event import Source
from roundhouse.line.incident import Incident, IncidentState
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Mode, Policy
from roundhouse.line.state import Cluster, Node, NodeStatus, Pause

if TYPE_CHECKING:
    from tests.histories.house import House
    from tests.histories.nature import Taken

RUNGS = {"reboot": Rung.REBOOT, "replace": Rung.REPLACE, "delete_nodes": Rung.DELETE_RESTORE}
STANDS = frozenset({NodeStatus.RUNNING, NodeStatus.FAILURE})


@dataclass
class Frame:
    """A step as it began, and what it was shown since."""

    function: str
    incident_id: str
    began: datetime
    pause: Pause | None
    breaker: BreakerState
    policy: Policy
    incident: Incident | None
    target: int  # of the workers
    foreign: frozenset[str]  # instances that somebody else had drained, by the snapshot that was kept then
    trusted: bool
    slurm_known: bool  # a snapshot is there, and young enough
    seen: Cluster | None = None


class Judge:
    """`broken` are the rules that were broken, in words; each begins with the rule's name."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.broken: list[str] = []
        self.frames: list[Frame] = []
        self.answers: dict[str, str] = {}  # approval -> first valid answer
        self.bad_news: dict[str, list[datetime]] = {}  # instance -> HyperPod's own bad news, by delivery
        self.spoken: set[str] = set()  # instances that HyperPod has spoken against, however late
        self.checked: Counter[str] = Counter()

    def say(self, rule: str, words: str) -> None:
        self.broken.append(f"{rule}: at {self.house.now:%d %H:%M:%S} {words}")

    # Steps -----------------------------------------------------------------------------------------------------
    def enter(self, function: str, event: dict[str, Any]) -> None:
        house = self.house
        incident_id = str(event.get("incident_id") or event.get("subject") or "")
        incident = house.incidents.records.get(incident_id)
        instance = incident.instance_id if incident else ""
        changing = function == "act_on_node"
        frame = Frame(
            function,
            incident_id,
            house.now,
            house.control.pause(),
            house.breaker.records.get(house.cluster.name) or BreakerState(),
            house.policy,
            incident,
            house.cluster.groups["workers"].target,
            self._foreign() if changing else frozenset(),
            instance in self.spoken or self._failed(instance) if changing else False,
            self._slurm_known(),
        )
        self.frames.append(frame)

    def leave(self) -> None:
        self.frames.pop()

    def shown(self, cluster: Cluster) -> None:
        if self.frames:
            self.frames[-1].seen = cluster

    def named(self, taken: Taken) -> Taken:
        frame = self.frames[-1]
        breaker = self._breaker()
        return replace(
            taken,
            incident_id=frame.incident_id,
            canary=breaker.status is BreakerStatus.HALF_OPEN or frame.breaker.status is not BreakerStatus.CLOSED,
        )

    # People and news -------------------------------------------------------------------------------------------
    def clicking(self, notice: Notice, choice: str, user: str) -> None:
        assert notice.approval is not None
        approval = self.house.approvals.records[str(notice.approval["approval_id"])]
        known = approval.approval_id in self.answers or approval.status is not ApprovalStatus.PENDING
        if not known and user in approval.approvers and self.house.now < approval.expires_at:
            self.answers[approval.approval_id] = choice

    def delivered(self, envelope: dict[str, Any]) -> None:
        """HyperPod's own bad news that came in time and that nobody overtook."""
        if envelope.get("source") != names.HYPERPOD_SOURCE or "HealthSummary" not in envelope.get("detail", {}):
            return
        at = datetime.fromisoformat(envelope["time"])
        age = (self.house.now - at).total_seconds()
        if envelope["detail"]["HealthSummary"]["HealthStatus"] == "Healthy":
            return
        self.spoken.add(envelope["detail"]["InstanceId"])
        if age < 4 * 3600 - 120:
            self.bad_news.setdefault(envelope["detail"]["InstanceId"], []).append(at)

    # Calls -----------------------------------------------------------------------------------------------------
    def calling(self, operation: str, arguments: tuple[Any, ...]) -> None:
        self.checked[operation] += 1
        if operation not in RUNGS:
            if operation != "add":
                self.say("wrong call", f"{operation} {arguments}")
            return
        frame = self.frames[-1]
        if len(arguments) != 1:
            self.say("wrong instance", f"{operation} of {len(arguments)} nodes in one call")
        for instance in arguments:
            for rule, words in self._against(RUNGS[operation], str(instance), frame):
                self.say(rule, f"{operation} {instance}: {words}")

    def launching(self, group: str, amount: int) -> None:
        contract = self.house.spec.group(group).count
        if self.frames[-1].target + amount > contract:
            self.say("count", f"{amount} added to {self.frames[-1].target} of {group}; the contract has {contract}")

    def _against(self, rung: Rung, instance: str, frame: Frame) -> list[tuple[str, str]]:
        """Everything that speaks against this call."""
        house, found = self.house, []
        incident = frame.incident
        node = house.cluster.by_id(instance)
        if incident is None or incident.state is IncidentState.CLOSED:
            return [("wrong instance", f"no open incident {frame.incident_id} when the step began")]
        if instance not in {incident.instance_id, incident.current_instance_id} and not _located(incident, node):
            found.append(("wrong instance", f"the incident is about {incident.instance_id}"))
        if node is not None and house.cluster.groups[node.group].role != "Compute":
            found.append(("wrong instance", "it is the controller"))
        found += self._policy(rung, instance, incident, frame, node)
        found += self._people(rung, instance, incident, frame)
        found += self._guards(rung, instance, frame)
        found += self._seen(rung, instance, incident, frame)
        found += self._manners(rung, instance, incident, frame)
        told_again = all(e.source == Source.REPLAY for e in incident.evidence) and incident.evidence
        if told_again and not self._failed(instance):
            found.append(("replay", "only recorded events, sent again, speak against it"))
        known = [t for t in house.cluster.taken if (t.by, t.incident_id) == ("us", incident.incident_id)]
        if any((t.operation, t.instance_id) == (rung.value, instance) for t in known):
            found.append(("twice", "this incident had it, and it took effect"))
        ladder = [RUNGS.get(t.operation, Rung.DELETE_RESTORE) for t in known if t.instance_id == instance]
        if any(done.height > rung.height for done in ladder):
            found.append(("twice", f"gentler than what was done: {ladder}"))
        return found

    def _policy(
        self, rung: Rung, instance: str, incident: Incident, frame: Frame, node: Node | None
    ) -> list[tuple[str, str]]:
        found = []
        policies = (frame.policy, self.house.policy)
        if all(p.rule(incident.cause).mode is Mode.OBSERVE for p in policies):
            found.append(("policy", "the policy says observe"))
        if all(rung not in p.rule(incident.cause).ladder for p in policies):
            found.append(("policy", "the policy has no such rung"))
        listed = {instance, incident.instance_id, incident.logical_id, incident.slurm_name}
        if all(listed & set(p.protected_nodes) for p in policies):
            found.append(("policy", "the node is protected"))
        day = frame.began - timedelta(days=1)
        earlier = [t for t in self.house.cluster.taken if t.by == "us" and day < t.at < frame.began]
        spent = sum(t.operation == rung.value for t in earlier)
        if spent >= max(p.budget(rung).per_day for p in policies):
            found.append(("budget", f"{spent} were done within a day"))
        cooldown = min(p.budget(rung).cooldown_s for p in policies)
        recent = [
            t
            for t in earlier
            if t.operation == rung.value and t.instance_id == instance and t.incident_id != incident.incident_id
        ]
        if any((frame.began - t.at).total_seconds() < cooldown for t in recent):
            found.append(("budget", "another incident did it to this node a short while ago"))
        return found

    def _people(self, rung: Rung, instance: str, incident: Incident, frame: Frame) -> list[tuple[str, str]]:
        if self.approved(incident, rung, instance):
            return []
        found = []
        if all(p.rule(incident.cause).mode is Mode.ASK for p in (frame.policy, self.house.policy)):
            found.append(("approval", "the policy asks people, and nobody approved it"))
        if rung.destructive and not frame.trusted:
            found.append(("approval", "HyperPod itself never spoke against it, and nobody approved it"))
        if instance in frame.foreign & self._foreign():
            found.append(("approval", "somebody else had drained it, and nobody approved it"))
        return found

    def approved(self, incident: Incident, rung: Rung, instance: str) -> bool:
        return any(
            self.answers.get(a.approval_id) == "approve"
            for a in self.house.approvals.records.values()
            if (a.subject, a.rung, a.instance_id) == (incident.incident_id, rung.value, instance)
        )

    def _guards(self, rung: Rung, instance: str, frame: Frame) -> list[tuple[str, str]]:
        house, found = self.house, []
        if frame.pause is not None and house.control.pause() is not None:
            found.append(("pause", "everything was paused"))
        before, breaker = frame.breaker, self._breaker()
        if BreakerStatus.OPEN in {before.status} & {breaker.status}:
            found.append(("breaker", f"it was open: {breaker.reason}"))
        if before.status is breaker.status is BreakerStatus.HALF_OPEN and instance not in {
            before.canary,
            breaker.canary,
        }:
            found.append(("breaker", f"it was half open, and {breaker.canary} its canary"))
        limits = house.policy.breaker
        short = house.now - timedelta(seconds=limits.short_window_s)
        ours = {t.instance_id for t in house.cluster.taken if t.by == "us" and t.at > short and not t.canary}
        if before.status is breaker.status is BreakerStatus.CLOSED and len(ours | {instance}) > limits.short_max:
            found.append(("breaker", f"{len(ours | {instance})} nodes within the hour, and {limits.short_max} may be"))
        return found

    def _seen(self, rung: Rung, instance: str, incident: Incident, frame: Frame) -> list[tuple[str, str]]:
        """Against what the step had just been shown of HyperPod."""
        seen, found = frame.seen, []
        if seen is None:
            return [("live state", "HyperPod was not read by this step")]
        if seen.status != "InService":
            found.append(("patching", f"the cluster was {seen.status}"))
        node = seen.by_instance(instance)
        if node is None:
            found.append(("live state", "HyperPod did not list it"))
        elif node.status not in STANDS:
            found.append(("in hand", f"HyperPod had it {node.status}"))
        healthy = incident.health == "healthy" and not any(a.result == "failed" for a in incident.attempts)
        if node is not None and node.status is NodeStatus.RUNNING and healthy:
            found.append(("live state", "its newest news were good, and HyperPod had it Running"))
        if not incident.attempts and self.house.cluster.node_recovery == "Automatic" == seen.node_recovery:
            waited = (frame.began - incident.opened_at).total_seconds()
            rule = frame.policy.rule(incident.cause)
            if waited < rule.grace_s:
                found.append(("grace", f"HyperPod had {waited:.0f} s for its own repair"))
        return found

    def _manners(self, rung: Rung, instance: str, incident: Incident, frame: Frame) -> list[tuple[str, str]]:
        """Drain before force; jobs get their deadline."""
        house, found = self.house, []
        drains = [c for c in house.agent.commands if c.verb is Verb.CORDON]
        mine = [c for c in drains if c.command_id.startswith(incident.incident_id)]  # a drain outlives the instance
        if not any(c.instance_id == instance for c in mine):
            found.append(("drain", "nobody was asked to drain it"))
        approved = self.approved(incident, rung, instance)
        if mine and not approved and not frame.slurm_known:
            steps = [step.started_at for step in incident.steps if step.name == DRAIN]
            first = min([c.issued_at for c in mine] + steps)
            if (house.now - first).total_seconds() < frame.policy.drain_deadline_s:
                found.append(("drain", "its jobs had no time to end, and Slurm was not known"))
        return found

    # Parts -----------------------------------------------------------------------------------------------------
    def _breaker(self) -> BreakerState:
        return self.house.breaker.records.get(self.house.cluster.name) or BreakerState()

    def _failed(self, instance: str) -> bool:
        node = self.house.cluster.by_id(instance)
        return node is not None and node.status is NodeStatus.FAILURE

    def _slurm_known(self, margin_s: float = 0) -> bool:
        kept = self.house.control.snapshot(self.house.cluster.name)
        limit = self.house.policy.slurm_max_age_s - margin_s
        return kept is not None and (self.house.now - kept.taken_at).total_seconds() <= limit

    def _foreign(self) -> frozenset[str]:
        """Instances that somebody else has drained, by a snapshot young enough to count."""
        kept = self.house.control.snapshot(self.house.cluster.name)
        if kept is None or not self._slurm_known(margin_s=5):
            return frozenset()
        drained = {n.name for n in kept.nodes.values() if "DRAIN" in n.state and n.reason.startswith("ticket")}
        return frozenset(
            n.instance_id
            for n in self.house.cluster.nodes
            if n.instance_id and (n.hostname or "").split(".")[0] in drained
        )


def _located(incident: Incident, node: Node | None) -> bool:
    """A launch or a name that the incident is about, and the instance that stands there."""
    kind, _, key = incident.instance_id.partition(":")
    if node is None or not key:
        return False
    return (kind == "node" and node.logical_id == key) or (
        kind == "name" and (node.hostname or "").split(".")[0] == key
    )
