"""Intake: one signal in, at most one incident and one workflow out. Ports only.

Safe to run any number of times on the same message, in any order, from several Lambdas at once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.contracts.names import SLURM_SOURCE, Names
from roundhouse.errors import AwsFailure, BadInput, ConditionFailed, Unavailable
from roundhouse.line.breaker import BreakerEntry
from roundhouse.line.event import Event, Health, Source
from roundhouse.line.incident import Incident, IncidentState, IntakeVerdict, admit, locate
from roundhouse.line.incident import Intake as Found
from roundhouse.line.incident.told import of_the_whole, overtaken, speaks_against
from roundhouse.line.policy import Policy
from roundhouse.line.state import Cluster, NodeStatus, SlurmSnapshot
from roundhouse.ports import (
    ApprovalStore,
    BreakerStore,
    ClusterReader,
    ControlStore,
    IncidentStore,
    Outbox,
    SettleQueue,
    Workflows,
)
from roundhouse.steps import guard, look
from roundhouse.steps.begin import begin
from roundhouse.steps.people.withdraw import withdraw
from roundhouse.steps.revise import TRIES
from roundhouse.steps.signals import others, undrain
from roundhouse.triage import hyperpod, signals

REMEMBERED = timedelta(days=7)  # how far back incidents are looked at


@dataclass
class Intake:
    """The ports of intake, and live state read at most once an invocation (`cluster` is read when first needed)."""

    reader: ClusterReader
    incidents: IncidentStore
    control: ControlStore
    breaker: BreakerStore
    outbox: Outbox
    workflows: Workflows
    approvals: ApprovalStore
    settle: SettleQueue
    remediate_arn: str
    policy: Policy
    now: datetime
    _cluster: Cluster | None = None
    _looked: bool = False
    _unsure: str = ""
    _expected: set[str] = field(default_factory=set)

    def cluster(self) -> Cluster | None:
        """Live state now, None when it could not be read."""
        if not self._looked:
            self._cluster, self._looked = look.live(self.reader, self.control, self.policy, self.now), True
        return self._cluster

    def take(self, envelope: dict[str, Any], again: bool = True) -> list[str]:
        """Take one message of the intake queue: an EventBridge envelope. What became of each event, in words.

        Raises MalformedEvent for what is not what it should be: it belongs into the dead-letter queue; and Unavailable
        when it does not come `again` and is about an instance that the list does not show: the queue gives it a second
        look later, since one list that omits a node may only lag.
        """
        ours = Names(self.policy.environment).of("")
        slurm = envelope.get("source") == SLURM_SOURCE  # whose news are what changed since the kept snapshot
        before = self.control.snapshot(self.policy.cluster) if slurm else None
        signal = signals.read(envelope, self.now, before, ours)
        self._expected, self._unsure = set(), ""
        told = [self._event(event) for event in signal.events]
        if signal.snapshot is not None and signal.cluster == self.policy.cluster:
            self._snapshot(signal.snapshot)
        if self._looked:
            self._overtaken()
        if self._unsure and not again:
            raise Unavailable(f"{self._unsure}: the message is looked at again before that is believed")
        return told or [signal.note or "nothing in it"]

    def _snapshot(self, snapshot: SlurmSnapshot) -> None:
        """Keep it, once the drains that it shows are looked at. A node that is missed for a known reason is
        marked, so that the next snapshot tells of it again if it lasts."""
        undrain.look(
            snapshot,
            self._open_ones(),
            incidents=self.incidents,
            approvals=self.approvals,
            settle=self.settle,
            outbox=self.outbox,
            now=self.now,
        )
        nodes = {name: replace(node, untold=name in self._expected) for name, node in snapshot.nodes.items()}
        self.control.keep_snapshot(self.policy.cluster, replace(snapshot, nodes=nodes))

    def _overtaken(self) -> None:
        """Live state was read anyway: questions that it speaks against are taken back, though no event told."""
        cluster = self.cluster()
        for incident in self._open_ones() if cluster is not None else []:
            if cluster is not None and incident.asked and (why := overtaken(incident, cluster)):
                withdraw(incident.asked, why, approvals=self.approvals, settle=self.settle, now=self.now)

    def _open_ones(self) -> list[Incident]:
        known = self.incidents.of_cluster(self.policy.cluster, self.now - REMEMBERED)
        return [incident for incident in known if incident.state is not IncidentState.CLOSED]

    def _event(self, event: Event) -> str:
        if event.needs_lookup:
            event = self._looked_up(event)
        told = event.repair_begun or event.source is Source.CLOUDTRAIL
        event = replace(event, source_time=min(event.source_time, self.now))  # a clock that runs ahead tells nothing
        cluster = None if event.health is Health.INFO and not told else self.cluster()
        event = self._named(event, cluster) if told else event
        for _ in range(TRIES):
            candidates = self._candidates(event, cluster)
            found = admit(event, candidates, cluster, self.policy, self.now)
            try:
                stored = self._stored(found)
            except ConditionFailed:
                continue  # another Lambda has just stored this incident, or its twin: look again
            self._unsure = found.reason if found.unsure else self._unsure
            match found.verdict:
                case IntakeVerdict.OPEN:
                    self._open(stored[0], cluster)
                case IntakeVerdict.JOIN | IntakeVerdict.TOLD:
                    for each in stored:
                        self._start(each)  # heals a crash between storing and starting
                    if len(stored) < len(found.told):
                        self._heal(event, self._candidates(event, cluster), cluster)
                case IntakeVerdict.RECOVER:
                    self._recovered(stored, cluster)
                    if len(stored) < len(found.recovered):
                        self._heal(event, self._candidates(event, cluster), cluster)
                case IntakeVerdict.NOTE | IntakeVerdict.IGNORE:
                    self._heal(event, candidates, cluster)
            if found.again and event.slurm_name:
                self._expected.add(event.slurm_name)
            self._taken_back(event, stored, found.withdraw)
            self._others(event, cluster)
            return f"{found.verdict.value}: {found.reason}"
        raise ConditionFailed(f"incidents of {event.instance_id} are changing too fast")

    def _named(self, event: Event, cluster: Cluster | None) -> Event:
        """The event under the cluster's name: a caller may name it by its ARN, and HyperPod knows whose that is."""
        if cluster is None and event.cluster.startswith("arn:"):
            raise Unavailable(f"HyperPod could not be read: whether {event.cluster} is ours is not known")
        mine = cluster is not None and event.cluster == cluster.arn
        return replace(event, cluster=self.policy.cluster) if mine else event

    def _looked_up(self, event: Event) -> Event:
        """The event with its metadata. EventBridge delivers them null; when nobody answers it goes on without."""
        try:
            return hyperpod.enrich(event, self.reader.event(self.policy.cluster, event.event_id))
        except AwsFailure:
            return event

    def _candidates(self, event: Event, cluster: Cluster | None) -> Sequence[Incident]:
        located = locate(event, cluster)
        everything = of_the_whole(event)
        known = self.incidents.of_cluster(self.policy.cluster, self.now - REMEMBERED)
        wanted = {located.instance_id, f"node:{located.logical_id}", f"group:{located.group}", "cluster"}
        names = {located.logical_id, located.slurm_name} - {None}
        wanted |= {f"name:{name}" for name in names}
        return [
            i
            for i in known
            if everything or wanted & {i.instance_id, i.current_instance_id} or names & {i.logical_id, i.slurm_name}
        ]

    def _stored(self, found: Found) -> list[Incident]:
        """Store what was found; of several incidents that recover, those that nobody else has just changed. Raises
        ConditionFailed when none could be stored."""
        stored: list[Incident] = []
        races: list[ConditionFailed] = []
        for each in found.changed:
            try:
                stored.append(self.incidents.put(each))
            except ConditionFailed as race:
                races.append(race)
        if races and not stored:
            raise races[0]
        return stored

    def _recovered(self, incidents: Sequence[Incident], cluster: Cluster | None) -> None:
        for each in incidents:
            node = cluster.by_instance(each.current_instance_id or each.instance_id) if cluster else None
            if node is not None and node.status is NodeStatus.FAILURE:
                continue  # said to be healthy, and not so by HyperPod's own list: the breaker goes on counting it
            guard.recovered(self.breaker, self.outbox, self.policy, each, cluster, self.now)

    def _heal(self, event: Event, candidates: Sequence[Incident], cluster: Cluster | None) -> None:
        """A message seen before may be one whose first taker died between storing and starting, or between two of the
        incidents that it changes."""
        seen = [i for i in candidates if any(known.event_id == event.event_id for known in i.evidence)]
        for incident in seen:
            if incident.state is IncidentState.OPEN:
                self._open(incident, cluster) if incident.health == Health.UNHEALTHY else self._start(incident)
        self._taken_back(event, seen, speaks_against(event, cluster))
        if event.health is not Health.UNHEALTHY and seen:
            rest = admit(event, [i for i in candidates if i not in seen], cluster, self.policy, self.now)
            if rest.verdict in {IntakeVerdict.RECOVER, IntakeVerdict.TOLD}:
                stored = self._stored(rest)
                self._taken_back(event, stored, rest.withdraw)
                if rest.verdict is IntakeVerdict.RECOVER:
                    self._recovered(stored, cluster)
        if event.health is Health.HEALTHY and seen:
            self._recovered([i for i in seen if i.health == Health.HEALTHY], cluster)

    def _taken_back(self, event: Event, incidents: Sequence[Incident], why: str) -> None:
        """Questions that were asked before these news are taken back: they are decided anew."""
        for incident in incidents if why else ():
            if incident.asked:
                withdraw(
                    incident.asked,
                    why,
                    approvals=self.approvals,
                    settle=self.settle,
                    now=self.now,
                    said_at=event.source_time,
                )

    def _others(self, event: Event, cluster: Cluster | None) -> None:
        """A call of somebody else: the breaker counts it, and people are told if it is one of many."""
        if event.source is not Source.CLOUDTRAIL or event.cluster != self.policy.cluster:
            return
        if self.now - event.source_time > timedelta(seconds=self.policy.max_event_age_s):
            return
        others.counted(event, cluster, breaker=self.breaker, outbox=self.outbox, policy=self.policy, now=self.now)
        known = self.incidents.of_cluster(self.policy.cluster, self.now - REMEMBERED)
        others.told(known, outbox=self.outbox, policy=self.policy, now=self.now)

    def _open(self, incident: Incident, cluster: Cluster | None) -> None:
        """Count the signal and start the workflow; a second time both change nothing."""
        signal = BreakerEntry(
            at=incident.opened_at,
            kind="signal",
            instance_id=incident.instance_id,
            group=incident.group or "",
            cause=incident.cause.value,
        )
        guard.note(self.breaker, self.outbox, self.policy, signal, cluster, self.now)
        self._start(incident)

    def _start(self, incident: Incident) -> None:
        begin(
            incident,
            workflows=self.workflows,
            machine=self.remediate_arn,
            incidents=self.incidents,
            policy=self.policy,
            now=self.now,
            at_once=self._of_controller(incident),
        )

    def _of_controller(self, incident: Incident) -> bool:
        """True when it is about the controller: HyperPod does not repair it, so there is nothing to wait for."""
        cluster = self.cluster() if incident.health == Health.UNHEALTHY else None
        return cluster is not None and cluster.role(incident.group) == "Controller"


def envelope_of(body: str) -> dict[str, Any]:
    """The envelope in a queue message. Raises BadInput when it is not a JSON object."""
    try:
        envelope = json.loads(body)
    except ValueError as error:
        raise BadInput(f"not JSON: {error} in {body[:120]!r}") from error
    if not isinstance(envelope, dict):
        raise BadInput(f"not an event envelope: {body[:120]!r}")
    return envelope
