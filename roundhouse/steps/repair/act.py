"""Acting on a node: live state again, the decision again, the breaker, the ledger, then one call. Ports only.

Every path through here can be taken twice: what an earlier run claimed or called is found in the ledger, and what
became of it is read from live state, never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.contracts.ledger import LedgerEntry, LedgerState, action_id
from roundhouse.errors import AwsFailure, ConditionFailed, InvalidRequest, NotFound, Throttled
from roundhouse.line import action
from roundhouse.line.action import REPAIR, SHOWS_EFFECT_S, Effect, Result
from roundhouse.line.approval import ApprovalStatus
from roundhouse.line.decision import WATCHED, Decision, Facts, Guard, Verdict, recheck
from roundhouse.line.drains import DRAIN
from roundhouse.line.incident import Attempt, Incident, IncidentState, begin_step, end_step, with_attempt
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Policy
from roundhouse.line.state import ClusterEvent
from roundhouse.line.theirs import repair_phase
from roundhouse.ports import (
    ApprovalStore,
    BatchAnswer,
    BreakerStore,
    ClusterWriter,
    IncidentStore,
    Ledger,
    Outbox,
)
from roundhouse.steps import guard, words
from roundhouse.steps.people.questions import repair_approval_id
from roundhouse.steps.repair.facts import Sources
from roundhouse.steps.revise import revise

LEDGER_BACK = timedelta(days=14)


@dataclass(frozen=True)
class Actor:
    """The ports of one action."""

    sources: Sources
    incidents: IncidentStore
    ledger: Ledger
    breaker: BreakerStore
    approvals: ApprovalStore
    writer: ClusterWriter
    outbox: Outbox

    @property
    def policy(self) -> Policy:
        return self.sources.policy

    def step(self, incident_id: str, decided: dict[str, Any], now: datetime) -> dict[str, Any]:
        """Do the decided rung to the decided instance, if it is still right.

        Status `called` (watch the node) · `wait` (jobs still drain, or live state must tell first) · `decide` (a guard
        holds, or the attempt failed inside HyperPod) · else the incident ends, with `outcome` and `reason`.
        """
        incident = revise(self.incidents, incident_id, lambda same: same)
        decision = Decision(
            Verdict(decided["status"]),
            str(decided["reason"]),
            rung=Rung(decided["rung"]),
            instance_id=str(decided["instance_id"]),
        )
        attempt = self._attempt(incident, decision)
        known = self.ledger.get(action.claim(decision, incident, now, attempt).action_id)
        facts = self.sources.gather(incident, now)
        if known is not None:
            return self._continue(known, incident, decision, facts, now)
        if _made(incident, decision):  # by a twin of this execution, which has watched it already
            reason = f"{decision.rung.in_words} {decision.instance_id} was called already"
            return {"status": "called", "reason": reason, "wait_s": self.policy.poll_s}
        if decision.verdict is Verdict.ASK and not self._approved(incident, decision, decided):
            reason = "there is no approval on record for this action on this instance"
            return {"status": "deny", "outcome": "denied", "reason": reason}
        if (refused := self._refused_for_long(incident, decision, now)) is not None:
            return refused
        if (told := _told_of_lost(decision, incident, facts)) is not None:
            return self._lost(told, incident, decision, now, attempt)
        again = recheck(decision, facts)
        if again.verdict is not Verdict.ACT:
            return self._not_now(again)
        entry = action.counted(incident, decision.rung.value, decision.instance_id, now)
        admission = guard.admit(self.breaker, self.outbox, self.policy, entry, facts.cluster, now)
        if not admission.allowed:
            return {"status": "decide", "reason": admission.reason, "wait_s": self.policy.poll_s}
        try:
            claimed = self.ledger.put(_with_count(action.claim(decision, incident, now, attempt), facts))
        except ConditionFailed:
            return {
                "status": "wait",
                "reason": "another run has just claimed this action",
                "wait_s": self.policy.poll_s,
            }
        return self._call(claimed, incident, decision, facts, now)

    def _attempt(self, incident: Incident, decision: Decision) -> int:
        since = incident.opened_at - LEDGER_BACK
        entries = self.ledger.of_cluster(incident.cluster, since)
        return action.attempt_number(entries, incident, decision.rung, decision.instance_id)

    def _refused_for_long(self, incident: Incident, decision: Decision, now: datetime) -> dict[str, Any] | None:
        """HyperPod's inner faults and throttling are met with patience, but not for ever: then people must know."""
        begun = incident.attempts[-1].at if incident.attempts else incident.opened_at
        prefix = action_id(incident.incident_id, decision.rung.value, decision.instance_id, 0).removesuffix("0")
        failed = [
            entry
            for entry in self.ledger.of_cluster(incident.cluster, begun)
            if entry.action_id.startswith(prefix) and entry.state is LedgerState.FAILED
        ]
        if not failed or now - min(e.claimed_at for e in failed) < timedelta(seconds=self.policy.repair_timeout_s):
            return None
        newest = max(failed, key=lambda e: e.updated_at)
        reason = f"tried to {decision.rung.in_words} {decision.instance_id} {len(failed)} times: {newest.detail}"
        return {"status": "human", "outcome": "escalated", "reason": reason}

    def _approved(self, incident: Incident, decision: Decision, decided: dict[str, Any]) -> bool:
        """The stored record alone counts: it must be decided, for this rung and this very instance."""
        approval = self.approvals.get(repair_approval_id(incident, decided))
        return (
            approval is not None
            and approval.status is ApprovalStatus.DECIDED
            and approval.choice == "approve"
            and approval.instance_id == decision.instance_id
            and approval.rung == decision.rung.value
        )

    def _continue(
        self, entry: LedgerEntry, incident: Incident, decision: Decision, facts: Facts, now: datetime
    ) -> dict[str, Any]:
        """An earlier run of this step got as far as the ledger: live state says how far."""
        if entry.state in {LedgerState.CALLED, LedgerState.CONFIRMED}:
            return self._called(entry, incident, decision, now, "HyperPod accepted it in an earlier run of this step")
        told = next((e for e in facts.events if e.at >= entry.claimed_at and _tells_of(e, entry)), None)
        if told is not None:  # a node may be back before anybody looks
            effect, why = Effect.TOOK, told.description
        else:
            effect, why = action.judge_lost(entry, facts.cluster, now, SHOWS_EFFECT_S)
        match effect:
            case Effect.TOOK:
                self.ledger.put(replace(entry, state=LedgerState.CALLED, detail=why[:500], updated_at=now))
                return self._called(entry, incident, decision, now, f"the answer was lost, but it took effect: {why}")
            case Effect.NOT_YET | Effect.UNKNOWN:
                return {"status": "wait", "reason": why, "wait_s": self.policy.poll_s}
            case Effect.MAY_REPEAT if entry.kind == Rung.REBOOT.value and _untold(facts):
                return {
                    "status": "human",
                    "outcome": "escalated",
                    "reason": f"a legacy cluster keeps no events, so nobody can tell whether {entry.subject} rebooted: "
                    "it is not rebooted a second time",
                }
            case Effect.MAY_REPEAT:
                self.ledger.put(action.ended_without_effect(entry, why, now))
                return {"status": "wait", "reason": f"{why}; it is called again", "wait_s": 1}

    def _lost(
        self, told: ClusterEvent, incident: Incident, decision: Decision, now: datetime, attempt: int
    ) -> dict[str, Any]:
        """The ledger was set back to before our claim: HyperPod's event stands for it. Watched, not called again."""
        why = f"no record knows of this call any more, and HyperPod tells of it at {told.at:%H:%M:%S} UTC"
        made = replace(action.claim(decision, incident, now, attempt), state=LedgerState.CALLED, detail=why)
        try:
            made = self.ledger.put(made)
        except ConditionFailed:
            return {"status": "wait", "reason": why, "wait_s": self.policy.poll_s}
        return self._called(made, incident, decision, now, why)

    def _call(
        self, claimed: LedgerEntry, incident: Incident, decision: Decision, facts: Facts, now: datetime
    ) -> dict[str, Any]:
        role = facts.cluster.role(incident.group) if facts.cluster else ""
        try:
            answer = self._hyperpod(decision, incident.cluster)
        except Throttled as failure:
            self.ledger.put(action.ended_without_effect(claimed, str(failure), now))
            return {"status": "wait", "reason": f"HyperPod asks to slow down: {failure}", "wait_s": self.policy.poll_s}
        except (NotFound, InvalidRequest) as failure:
            self.ledger.put(action.ended_without_effect(claimed, str(failure), now))
            return {"status": "human", "outcome": "escalated", "reason": f"HyperPod refused: {failure}"}
        except AwsFailure as failure:
            called = action.lost(claimed, f"{type(failure).__name__}: {failure}", now)
            self.ledger.put(called.entry)
            return {"status": "wait", "reason": called.reason, "wait_s": self.policy.poll_s}
        called = action.read_answer(claimed, answer.accepted, answer.failed, role, now)
        stored = self.ledger.put(called.entry)
        match called.result:
            case Result.ACCEPTED | Result.IN_HAND:
                result = "called" if called.result is Result.ACCEPTED else "in_hand"
                return self._called(stored, incident, decision, now, called.reason, result)
            case Result.GONE:
                return {"status": "gone", "outcome": "superseded", "reason": called.reason}
            case Result.RETRY | Result.UNKNOWN:
                return {"status": "wait", "reason": called.reason, "wait_s": self.policy.poll_s}
            case Result.HUMAN:
                return {"status": "human", "outcome": "escalated", "reason": called.reason}

    def _hyperpod(self, decision: Decision, cluster: str) -> BatchAnswer:
        match decision.rung:
            case Rung.REBOOT:
                return self.writer.reboot(cluster, [decision.instance_id])
            case Rung.REPLACE:
                return self.writer.replace(cluster, [decision.instance_id])
            case Rung.DELETE_RESTORE:
                return self.writer.delete_nodes(cluster, [decision.instance_id])
            case _:
                raise InvalidRequest(f"{decision.rung} is not a call to HyperPod")

    def _called(
        self,
        entry: LedgerEntry,
        incident: Incident,
        decision: Decision,
        now: datetime,
        reason: str,
        result: str = "called",
    ) -> dict[str, Any]:
        def write(current: Incident) -> Incident:
            last = current.attempts[-1] if current.attempts else None
            same = last and last.rung is decision.rung and last.instance_id == decision.instance_id
            if same and last and last.result in {"called", "in_hand"}:
                return current
            # From the claim on: what HyperPod told while an answer was lost is of this attempt, too.
            moved = with_attempt(current, Attempt(decision.rung, decision.instance_id, entry.claimed_at, result))
            if any(step.name == DRAIN and step.ended_at is None for step in moved.steps):
                moved = end_step(moved, DRAIN, now)
            return replace(
                begin_step(moved, REPAIR, now, f"{decision.rung.in_words} {decision.instance_id}: {reason}"),
                state=IncidentState.ACTING,
            )

        changed = revise(self.incidents, incident.incident_id, write)
        title = f"{decision.rung.value.replace('_', ' ').capitalize()} of {decision.instance_id} called"
        self.outbox.tell(words.step(changed, entry.action_id, title, reason))
        return {"status": "called", "reason": reason, "wait_s": self.policy.poll_s}

    def _not_now(self, again: Decision) -> dict[str, Any]:
        """What the fresh look said instead."""
        if again.outcome is not None:
            return {
                "status": "closed",
                "outcome": again.outcome.value,
                "reason": again.reason,
                "advice": list(again.advice),
                "guard": again.guard.value if again.guard else None,
                "unguarded": again.unguarded,
            }
        wait_s = max(1, again.wait_s or self.policy.poll_s)
        if again.verdict is Verdict.WAIT and again.guard is Guard.JOB:
            return {"status": "wait", "reason": again.reason, "wait_s": wait_s}
        return {"status": "decide", "reason": again.reason, "wait_s": wait_s}


def _untold(facts: Facts) -> bool:
    """True where HyperPod tells nothing of what was done to a node: one that has rebooted looks as it did before."""
    return facts.cluster is not None and not facts.cluster.continuous


def _with_count(entry: LedgerEntry, facts: Facts) -> LedgerEntry:
    """A delete remembers its group's target: when that is reached again, the count is restored, by whomever."""
    group = facts.cluster.groups.get(entry.group or "") if facts.cluster else None
    if entry.kind != Rung.DELETE_RESTORE.value or group is None:
        return entry
    return replace(entry, from_count=group.target)


def _made(incident: Incident, decision: Decision) -> bool:
    """True when the incident's newest attempt is this very call, and it is still to be watched to its end."""
    last = incident.attempts[-1] if incident.attempts else None
    same = last is not None and (last.rung, last.instance_id) == (decision.rung, decision.instance_id)
    return same and last is not None and last.result in WATCHED


def _told_of_lost(decision: Decision, incident: Incident, facts: Facts) -> ClusterEvent | None:
    """HyperPod's event of a call that we must have made, and that neither ledger nor incident knows.

    The breaker has counted it, before the claim: an event alone may be of a repair by somebody else.
    """
    counted = [
        e.at
        for e in (facts.breaker.entries if facts.breaker else ())
        if (e.kind, e.instance_id) == (decision.rung.value, decision.instance_id) and e.at >= incident.opened_at
    ]
    known = [a.at for a in incident.attempts if (a.rung, a.instance_id) == (decision.rung, decision.instance_id)]
    for event in facts.events:
        phase = repair_phase(event.description)
        same = event.instance_id == decision.instance_id and phase is not None and phase[0] == decision.rung.value
        if same and any(at <= event.at for at in counted) and all(at > event.at for at in known):
            return event
    return None


def _tells_of(event: ClusterEvent, entry: LedgerEntry) -> bool:
    """True when HyperPod tells of this very call: the same kind of repair of the same instance."""
    phase = repair_phase(event.description)
    return event.instance_id == entry.subject and phase is not None and phase[0] == entry.kind
