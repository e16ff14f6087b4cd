"""Minding a node that AWS will work on: wait, ask, drain, wait for the window's end, prove, give back. Ports only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from roundhouse.line import maintenance, proof
from roundhouse.line.breaker import BreakerStatus
from roundhouse.line.decision import Guard, Verdict
from roundhouse.line.drains import after_snapshot
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, Outcome
from roundhouse.line.maintenance import DUE, Facts, Mind, Move
from roundhouse.line.policy import Mode, Policy
from roundhouse.ports import BreakerStore, IncidentStore, NodeTest, Outbox
from roundhouse.steps import guard, words
from roundhouse.steps.maintenance.gather import Gathering, question
from roundhouse.steps.maintenance.giveback import GiveBack
from roundhouse.steps.revise import revise

LEAST_ASKED_S = 60
STATUS = {Move.WAIT: "wait", Move.ASK: "ask", Move.CORDON: "act", Move.CLOSE: "close"}  # of PROVE by what is found


@dataclass(frozen=True)
class Minder:
    """The ports of minding."""

    gathering: Gathering
    incidents: IncidentStore
    breaker: BreakerStore
    outbox: Outbox
    test: NodeTest
    policy: Policy

    def step(self, incident_id: str, now: datetime) -> dict[str, Any]:
        """One look. Status `wait` · `ask` · `act` (drain it) · `release` (postponed: our drain back, and go on) ·
        `returned` (proved) · `human` (not proved: it stays drained) · `close`, with `outcome` where it ends."""
        incident = revise(self.incidents, incident_id, lambda same: same)
        facts = self.gathering.facts(incident, now)
        if facts.cluster is not None and (snapshot := facts.cluster.slurm) is not None:
            incident = revise(self.incidents, incident_id, lambda i: after_snapshot(i, snapshot))
            facts = replace(facts, incident=incident)
        minded = maintenance.decide(facts)
        if minded.due and self._signal(facts):
            facts = replace(facts, breaker=guard.load(self.breaker, self.policy.cluster))
            minded = maintenance.decide(facts)
        if minded.due and minded.decision.guard is Guard.BREAKER:
            self._open(facts)
        incident = revise(self.incidents, incident_id, lambda i: maintenance.applied(i, minded, now))
        if minded.move in {Move.ASK, Move.CORDON}:
            self.outbox.tell(words.opened(incident, minded.decision.reason))
        if minded.move is Move.PROVE:
            return self._prove(incident, facts, minded, now)
        return {**self._plain(incident, minded, now), "status": STATUS[minded.move]}

    def _plain(self, incident: Incident, minded: Mind, now: datetime) -> dict[str, Any]:
        """The move as workflow data: times in seconds or ISO 8601, enums as their values."""
        decision, window = minded.decision, minded.window
        patience = self.policy.approval_ttl_s
        if window is not None and window.starts > now:  # an answer after that is of no use
            patience = max(LEAST_ASKED_S, min(patience, round((window.starts - now).total_seconds())))
        return {
            "reason": decision.reason,
            "guard": decision.guard.value if decision.guard else None,
            "unguarded": decision.unguarded,
            "wait_s": self._patience(incident, minded, now),
            "outcome": decision.outcome.value if decision.outcome else None,
            "advice": list(decision.advice),
            "approval_s": patience,
            "deadline": minded.deadline.isoformat() if minded.deadline else None,
            "instance_id": decision.instance_id,
            **(question(incident, window) if minded.move is Move.ASK and window is not None else {}),
        }

    def _patience(self, incident: Incident, minded: Mind, now: datetime) -> int:
        """Seconds until the next look. A hold is looked at after a quarter of its age, up to ten polls: there may be
        many nodes in it, and whatever holds one holds them all."""
        wait, poll = max(1, minded.decision.wait_s), self.policy.poll_s
        due = next((s.started_at for s in reversed(incident.steps) if s.name == DUE and s.ended_at is None), None)
        if minded.decision.verdict is not Verdict.HOLD or due is None:
            return wait
        return max(wait, min(round((now - due).total_seconds() / 4), 10 * poll))

    def _prove(self, incident: Incident, facts: Facts, minded: Mind, now: datetime) -> dict[str, Any]:
        back = GiveBack(self.incidents, self.test, self.policy)
        found, why = back.prove(incident, facts.cluster, now)
        plain = {**self._plain(incident, minded, now), "wait_s": self.policy.poll_s}
        match found:
            case proof.Proof.WAIT:
                return {**plain, "status": "wait", "reason": f"{minded.decision.reason}: {why}", "outcome": None}
            case proof.Proof.PASS if minded.decision.outcome is None:
                return {**plain, "status": "release"}
            case proof.Proof.PASS:
                return {**plain, "status": "returned", "reason": f"{minded.decision.reason}: {why}"}
            case proof.Proof.FAIL | proof.Proof.INCONCLUSIVE:
                said = f"after AWS's maintenance the node is not proved, and stays drained: {why}"
                return {**plain, "status": "human", "reason": said, "outcome": Outcome.ESCALATED.value}

    # Breaker -----------------------------------------------------------------------------------------------------
    def _signal(self, facts: Facts) -> bool:
        """Count every node whose drain is due for the detector of common causes, all at once: many at one time are
        for people. True when there was one to count."""
        if facts.breaker is None or self.policy.rule(CauseClass.MAINTENANCE).mode is Mode.OBSERVE:
            return False
        signals = [
            maintenance.entry(o.instance_id, o.group, "signal", max(o.opened_at, o.starts - facts.lead))
            for o in facts.due()
            if o.starts is not None
        ]
        fresh = [entry for entry in signals if entry not in facts.breaker.entries]
        if fresh:
            guard.note_all(self.breaker, self.outbox, self.policy, fresh, facts.cluster, facts.now)
        return bool(fresh)

    def _open(self, facts: Facts) -> None:
        """Held by a breaker that the facts showed closed: let the store open it, and people be told once."""
        if facts.breaker is None or facts.breaker.status is not BreakerStatus.CLOSED:
            return
        incident = facts.incident
        entry = maintenance.entry(incident.instance_id, incident.group or "", "drain", facts.now)
        guard.open_if_refused(self.breaker, self.outbox, self.policy, entry, facts.cluster, facts.now)
