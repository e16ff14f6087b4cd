"""Proving a node before it goes back: a test behind a port, and the discount of a new instance. Ports only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.build.discount import DiscountFacts, DiscountVerdict, Verdict, verify_nodes
from roundhouse.build.sightings import collect
from roundhouse.build.spec import ClusterSpec, DiscountKind
from roundhouse.errors import AwsFailure, InvalidRequest
from roundhouse.line import proof
from roundhouse.line.event import Source
from roundhouse.line.incident import SHOWS, Attempt, Evidence, Incident, IncidentState, end_step, heard, with_result
from roundhouse.line.policy import Policy
from roundhouse.line.state import Cluster, ClusterEvent
from roundhouse.ports import (
    BreakerStore,
    ClusterReader,
    ControlStore,
    IncidentStore,
    NodeTest,
    Outbox,
    RunStore,
    Surroundings,
)
from roundhouse.steps import evidence, guard, look
from roundhouse.steps.repair.watch import PROOF, SET_BACK
from roundhouse.steps.revise import revise

EVENTS_BEFORE = timedelta(minutes=2)


@dataclass(frozen=True)
class QuietTest:
    """`ports.NodeTest`, the simplest that can fail: the node must be Running as expected, and quiet for a while.

    It puts no load on the node. A test under load takes its place without anything else changing.
    """

    reader: ClusterReader
    policy: Policy

    def run(
        self, cluster: Cluster | None, expected: proof.Expected, called_at: datetime, since: datetime, now: datetime
    ) -> tuple[proof.Proof, str]:
        try:
            events: Sequence[ClusterEvent] | None = self.reader.events(self.policy.cluster, after=called_at)
        except InvalidRequest:  # a legacy cluster has none; its nodes' health comes by other ways
            events = () if cluster is not None and not cluster.continuous else None
        except AwsFailure:
            events = None
        return proof.judge(
            cluster,
            expected,
            events,
            since,
            now,
            quiet_s=self.policy.proof_quiet_s,
            timeout_s=self.policy.repair_timeout_s,
        )


@dataclass(frozen=True)
class Prover:
    """The ports of a proof."""

    reader: ClusterReader
    control: ControlStore
    incidents: IncidentStore
    surroundings: Surroundings
    runs: RunStore
    breaker: BreakerStore
    outbox: Outbox
    test: NodeTest
    policy: Policy
    spec: ClusterSpec

    def step(self, incident_id: str, now: datetime) -> dict[str, Any]:
        """Status `wait` · `pass` (with `outcome` `escalated` when the node is fit but its discount is not) · `decide`
        (the next rung) · `inconclusive` (people; the node stays drained)."""
        incident = revise(self.incidents, incident_id, lambda same: same)
        since = next((s.started_at for s in reversed(incident.steps) if s.name == PROOF), None)
        if since is None or not incident.attempts:
            return {"status": "decide", "reason": SET_BACK, "wait_s": self.policy.poll_s}
        attempt = incident.attempts[-1]
        cluster = self._cluster(now)
        expected = proof.Expected(
            incident.logical_id,
            incident.current_instance_id,
            not_instance=attempt.instance_id if attempt.rung.destructive else None,
        )
        found, why = self.test.run(cluster, expected, attempt.at, since, now)
        if found in {proof.Proof.PASS, proof.Proof.WAIT} and (news := self._news(incident, attempt)) is not None:
            # HyperPod's word fails it. A node's own word may be forged: then it is not quiet, and people decide.
            found = proof.Proof.FAIL if Source(news.source).trusted else proof.Proof.INCONCLUSIVE
            why = f"{news.at:%H:%M:%S} {news.source}: {news.code}"
        match found:
            case proof.Proof.WAIT:
                return {"status": "wait", "reason": why, "wait_s": self.policy.poll_s}
            case proof.Proof.INCONCLUSIVE:
                if now - since < timedelta(seconds=self.policy.repair_timeout_s):
                    return {"status": "wait", "reason": why, "wait_s": self.policy.poll_s}
                self._write(incident, "inconclusive", why, now)
                return {"status": "inconclusive", "outcome": "escalated", "reason": f"not proved: {why}"}
            case proof.Proof.FAIL:
                self._write(incident, "failed", why, now)
                guard.canary(self.breaker, self.outbox, self.policy, incident, False, now)
                return {"status": "decide", "reason": f"the proof failed: {why}", "wait_s": self.policy.poll_s}
            case proof.Proof.PASS:
                return self._passed(incident, attempt, cluster, why, now)

    def _news(self, incident: Incident, attempt: Attempt) -> Evidence | None:
        """Bad news of the instance that came back. Those of a new instance are in an incident of its own."""
        instance = incident.current_instance_id or attempt.instance_id
        known = self.incidents.of_cluster(incident.cluster, attempt.at)
        said = [e for i in known if i.instance_id == instance for e in i.evidence]
        if instance == incident.instance_id:
            said += incident.evidence
        return proof.bad_news(said, attempt.at + (timedelta() if attempt.rung.destructive else SHOWS))

    def _passed(
        self, incident: Incident, attempt: Attempt, cluster: Cluster | None, why: str, now: datetime
    ) -> dict[str, Any]:
        discount = self._discount(incident, attempt, cluster, now)
        if discount is not None and discount.verdict is Verdict.UNKNOWN and not discount.waits_for_bill:
            if discount.wait_until is not None and now < discount.wait_until:
                return {"status": "wait", "reason": discount.reason, "wait_s": self.policy.poll_s}
        said = why if discount is None else f"{why}; discount {discount.verdict}: {discount.reason}"
        self._write(incident, "proved", said, now)
        if discount is None or discount.verdict is Verdict.VERIFIED or discount.waits_for_bill:
            return {"status": "pass", "outcome": "repaired", "reason": said, "heard": heard(incident)}
        reason = f"the node is fit and back in service, but its discount is {discount.verdict}: {discount.reason}"
        return {"status": "pass", "outcome": "escalated", "reason": reason}

    def _discount(
        self, incident: Incident, attempt: Attempt, cluster: Cluster | None, now: datetime
    ) -> DiscountVerdict | None:
        """The discount of a new instance, judged as in a creation; None where there is none to lose."""
        group = next((each for each in self.spec.groups if each.name == incident.group), None)
        if group is None or cluster is None or not attempt.rung.destructive or not incident.current_instance_id:
            return None
        if group.discount.kind is DiscountKind.NONE:
            return None
        run = self.runs.get(self.spec.cluster)
        arn = group.discount.training_plan_arn
        running_at = next((s.started_at for s in reversed(incident.steps) if s.name == PROOF), now)
        facts = DiscountFacts(
            began_at=attempt.at,
            running_since=running_at,
            sightings=collect((), self._events(attempt.at - EVENTS_BEFORE)),
            plan=evidence.plan_of(self.surroundings, group),
            plan_in_use_before=run.plan_in_use_before.get(arn) if run and arn else None,
            billed=(),
        )
        return verify_nodes(
            self.spec, group.name, [incident.current_instance_id], cluster=cluster, facts=facts, now=now
        )

    def _events(self, after: datetime) -> Sequence[ClusterEvent]:
        try:
            return self.reader.events(self.spec.cluster, after=after)
        except AwsFailure:
            return ()

    def _cluster(self, now: datetime) -> Cluster | None:
        try:
            return look.live(self.reader, self.control, self.policy, now)
        except AwsFailure:
            return None

    def _write(self, incident: Incident, result: str, why: str, now: datetime) -> None:
        def write(current: Incident) -> Incident:
            if not any(step.name == PROOF and step.ended_at is None for step in current.steps):
                return current  # an earlier run of this step has written it down
            ended = end_step(with_result(current, result), PROOF, now, why)
            return replace(ended, state=IncidentState.OPEN if result == "failed" else ended.state)

        revise(self.incidents, incident.incident_id, write)
