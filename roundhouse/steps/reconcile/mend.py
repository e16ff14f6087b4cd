"""Mending one difference. Ports only. Each remedy may be applied twice, by two at once, and to what has changed since.

What a remedy needs is read again right before it: a difference is a reason to look, not an order.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from roundhouse.contracts.commands import REASON_PREFIX, Command, Verb
from roundhouse.contracts.ledger import LedgerEntry, LedgerState
from roundhouse.errors import ConditionFailed
from roundhouse.line import action
from roundhouse.line.approval import expire
from roundhouse.line.incident import Incident
from roundhouse.line.recall import lost_entry, recalled
from roundhouse.line.reconcile import Difference, Facts, Remedy, healthy
from roundhouse.ports import AgentQueue, IncidentStore, IntakeQueue, Ledger, Outbox, SettleQueue
from roundhouse.steps import guard
from roundhouse.steps.begin import begin
from roundhouse.steps.people.withdraw import withdraw
from roundhouse.steps.reconcile.gather import Reading
from roundhouse.steps.repair import close
from roundhouse.steps.revise import revise
from roundhouse.triage import live

ADVICE = (
    "Look in Step Functions who stopped its workflow, or what ended it.",
    "Look whether the node is drained, away, or its group short of a node: nothing more is done about this incident.",
    "A new signal opens a new incident.",
)
_ENDED = {LedgerState.CONFIRMED, LedgerState.FAILED}


@dataclass(frozen=True)
class Mender:
    """The ports that are written; what is read is in `reading`."""

    reading: Reading
    settle: SettleQueue
    agent: AgentQueue
    intake: IntakeQueue
    outbox: Outbox

    @property
    def incidents(self) -> IncidentStore:
        return self.reading.incidents

    @property
    def ledger(self) -> Ledger:
        return self.reading.ledger

    def mend(self, found: Difference, facts: Facts) -> bool:
        """Apply the remedy; False when there was nothing left to do."""
        remedies: dict[Remedy, Callable[[Difference, Facts], bool]] = {
            Remedy.BEGIN: self._begin,
            Remedy.HAND_OVER: self._hand_over,
            Remedy.SETTLE: self._settle,
            Remedy.WITHDRAW: self._withdraw,
            Remedy.EXPIRE: self._expire,
            Remedy.REMEMBER: self._remember,
            Remedy.ENTER: self._enter,
            Remedy.CONFIRM: self._end,
            Remedy.FAIL: self._end,
            Remedy.RESUME: self._resume,
            Remedy.TELL_CANARY: self._tell_canary,
            Remedy.TELL_RECOVERY: self._tell_recovery,
            Remedy.REPORT: self._report,
            Remedy.SHOW: lambda found, facts: False,
        }
        return remedies[found.remedy](found, facts)

    def _incident(self, found: Difference) -> Incident:
        return revise(self.incidents, found.subject, lambda same: same)

    def _begin(self, found: Difference, facts: Facts) -> bool:
        incident = self._incident(found)
        return begin(
            incident,
            workflows=self.reading.workflows,
            machine=self.reading.machines.of(incident),
            incidents=self.incidents,
            policy=self.reading.policy,
            now=facts.now,
        )

    def _settle(self, found: Difference, facts: Facts) -> bool:
        self.settle.settle(found.subject)
        return True

    def _withdraw(self, found: Difference, facts: Facts) -> bool:
        approvals = self.reading.approvals
        return withdraw(found.subject, found.words, approvals=approvals, settle=self.settle, now=facts.now)

    def _expire(self, found: Difference, facts: Facts) -> bool:
        revise(self.reading.approvals, found.subject, lambda approval: expire(approval, facts.now))
        self.settle.settle(found.subject)
        return True

    def _end(self, found: Difference, facts: Facts) -> bool:
        revise(self.ledger, found.subject, lambda entry: _ended(entry, found, facts.now))
        return True

    def _tell_canary(self, found: Difference, facts: Facts) -> bool:
        incident, breaker = self._incident(found), self.reading.breaker
        guard.canary(breaker, self.outbox, self.reading.policy, incident, healthy(incident), facts.now)
        return True

    def _tell_recovery(self, found: Difference, facts: Facts) -> bool:
        incident, breaker = self._incident(found), self.reading.breaker
        guard.recovered(breaker, self.outbox, self.reading.policy, incident, facts.cluster, facts.now)
        return True

    def _hand_over(self, found: Difference, facts: Facts) -> bool:
        close.step(
            found.subject,
            {"status": "human", "outcome": "escalated", "reason": found.words, "advice": list(ADVICE)},
            incidents=self.incidents,
            breaker=self.reading.breaker,
            outbox=self.outbox,
            cluster=facts.cluster,
            policy=self.reading.policy,
            now=facts.now,
        )
        return True

    def _remember(self, found: Difference, facts: Facts) -> bool:
        def recall(incident: Incident) -> Incident:
            return recalled(incident, facts.ledger, facts.live, facts.now, action.SHOWS_EFFECT_S)

        revise(self.incidents, found.subject, recall)
        return True

    def _enter(self, found: Difference, facts: Facts) -> bool:
        entry = lost_entry(self._incident(found), facts.ledger)
        if entry is None:
            return False
        with suppress(ConditionFailed):  # it is there by now
            self.ledger.put(entry)
            return True
        return False

    def _resume(self, found: Difference, facts: Facts) -> bool:
        """The command of a workflow's end again; the snapshot's number makes it another one to the agent."""
        snapshot = facts.live.slurm if facts.live else None
        node = facts.live.by_instance(found.node) if facts.live else None
        incident = self._incident(found)
        command = Command(
            command_id=f"{found.subject}/{Verb.RESUME}/{found.node}/{snapshot.sequence if snapshot else 0}",
            cluster=self.reading.policy.cluster,
            verb=Verb.RESUME,
            instance_id=found.node,
            slurm_name=node.hostname.split(".")[0] if node and node.hostname else incident.slurm_name,
            reason=f"{REASON_PREFIX} {found.subject} {incident.code}",
            issued_at=facts.now,
        )
        self.agent.send(command)
        return True

    def _report(self, found: Difference, facts: Facts) -> bool:
        message = live.envelope(facts.live, found.subject, facts.now) if facts.live else None
        if message is None:
            return False
        self.intake.put(message)
        return True


def _ended(entry: LedgerEntry, found: Difference, now: datetime) -> LedgerEntry:
    if entry.state in _ENDED:
        return entry
    state = LedgerState.CONFIRMED if found.remedy is Remedy.CONFIRM else LedgerState.FAILED
    return replace(entry, state=state, detail=found.words[:500], updated_at=now)
