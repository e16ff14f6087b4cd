"""What people are asked: may a node be repaired, or drained for maintenance; what about a lost discount. Ports only.

Asking and reading are two roles with two sets of permissions: who reads answers cannot write task tokens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from roundhouse.build.spec import ClusterSpec
from roundhouse.errors import BadInput
from roundhouse.line.approval import Approval, ApprovalStatus, Option, approval_id
from roundhouse.line.decision.guards import APPROVAL
from roundhouse.line.incident import Incident, IncidentState, begin_step, end_step, target_instance
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Policy
from roundhouse.ports import ApprovalStore, IncidentStore, Outbox, Run, RunStore, SettleQueue, ThreadStore, TokenStore
from roundhouse.steps import words
from roundhouse.steps.creation import own
from roundhouse.steps.people import ask
from roundhouse.steps.people.withdraw import withdraw
from roundhouse.steps.revise import revise

BEFORE = "drain before "  # begins the rung of a question about maintenance; the window's id ends it
OVERTAKEN = "others acted on the node while the question was being asked"
UNSEEN = timedelta(hours=24)  # how long a question that Slack could not show is asked again
SKEW_S = 120.0  # more than clocks differ
AHEAD = 0.97  # the question expires a little before its waiting task, so that the record decides, not the race

APPROVE = Option("approve", "Approve", "primary", "The node is taken away from its users. Go on?")
DENY = Option("deny", "Deny", "")
ROLL_BACK = Option("roll_back", "Roll back", "danger", "The unverified nodes are deleted. Storage is not touched.")
HOLD = Option("hold", "Hold", "")
ACCEPT = Option("accept", "Accept the price", "danger", "The cluster goes on growing at on-demand prices. Go on?")


@dataclass(frozen=True)
class People:
    """The ports that questions need."""

    approvals: ApprovalStore
    tokens: TokenStore
    incidents: IncidentStore
    runs: RunStore
    outbox: Outbox
    settle: SettleQueue
    policy: Policy
    spec: ClusterSpec

    def ask(self, kind: str, subject: str, decision: dict[str, Any], token: str, now: datetime) -> dict[str, Any]:
        """Store the question and queue it for Slack. `subject` is an incident id or a run id."""
        expires_at = now + timedelta(seconds=float(decision["approval_s"]) * AHEAD)
        match kind:
            case "repair":
                incident = revise(self.incidents, subject, lambda same: same)
                approval = self._repair(incident, decision, now, expires_at)
                # Known before it is asked: whoever sees others at work must find the question to take it back.
                revise(self.incidents, subject, lambda i: _asked(i, approval.approval_id, now))
                thread, facts = words.incident_thread(subject), self._repair_facts(incident, decision)
            case "discount":
                run = own.owned(self.runs, self.spec.cluster, subject)
                approval = self._discount(run, decision, now, expires_at)
                thread, facts = words.run_thread(subject), _discount_facts(decision, self.spec)
            case _:
                raise BadInput(f"no question of kind {kind!r}: there are repair and discount")
        status = ask.ask(
            approval,
            thread,
            facts,
            token,
            approvals=self.approvals,
            tokens=self.tokens,
            outbox=self.outbox,
            settle=self.settle,
        )
        if approval.kind == "repair":
            self._overtaken(approval, decision, now)
        return {"approval_id": approval.approval_id, "status": status}

    def _overtaken(self, approval: Approval, decision: dict[str, Any], now: datetime) -> None:
        """News of others that came after the decision and before the question was stored found nothing to take back."""
        incident = self.incidents.get(approval.subject)
        if incident is None or decision.get("seen") in {None, seen_of(incident)}:
            return
        withdraw(approval.approval_id, OVERTAKEN, approvals=self.approvals, settle=self.settle, now=now)

    def _repair(self, incident: Incident, decision: dict[str, Any], now: datetime, expires_at: datetime) -> Approval:
        rung = str(decision["rung"])
        todo = "Drain for maintenance:" if rung.startswith(BEFORE) else Rung(rung).in_words.capitalize()
        instance = str(decision["instance_id"])
        return Approval(
            approval_id=repair_approval_id(incident, decision),
            kind="repair",
            cluster=incident.cluster,
            subject=incident.incident_id,
            question=f"{todo} {incident.slurm_name or 'node'} ({instance})?",
            options=(APPROVE, DENY),
            on_silence="deny",
            asked_at=now,
            expires_at=expires_at,
            approvers=self.policy.approvers,
            instance_id=instance,
            rung=rung,
        )

    def _repair_facts(self, incident: Incident, decision: dict[str, Any]) -> dict[str, str]:
        facts = {"Why": str(decision["reason"]), **words.incident_facts(incident)}
        if decision.get("unguarded"):
            facts["Without the guard"] = str(decision["unguarded"])
        return facts

    def _discount(self, run: Run, decision: dict[str, Any], now: datetime, expires_at: datetime) -> Approval:
        return Approval(
            approval_id=discount_approval_id(run, decision),
            kind="discount",
            cluster=run.cluster,
            subject=run.run_id,
            question=f"The discount of {run.cluster} is {decision.get('verdict', 'UNKNOWN')}: what now?",
            options=(ROLL_BACK, HOLD, ACCEPT),
            on_silence="roll_back",
            asked_at=now,
            expires_at=expires_at,
            approvers=self.policy.approvers,
        )


@dataclass(frozen=True)
class Reading:
    """The ports that reading an answer needs."""

    approvals: ApprovalStore
    incidents: IncidentStore
    runs: RunStore
    threads: ThreadStore
    outbox: Outbox
    spec: ClusterSpec

    def read(self, kind: str, subject: str, decision: dict[str, Any], now: datetime) -> dict[str, Any]:
        """What was answered, by the stored record alone; see `ask.read`. A denial names its outcome."""
        if kind == "repair":
            incident = revise(self.incidents, subject, lambda same: same)
            identity = repair_approval_id(incident, decision)
            thread = words.incident_thread(subject)
        else:
            run = own.owned(self.runs, self.spec.cluster, subject)
            identity, thread = discount_approval_id(run, decision), words.run_thread(subject)
        known = self.approvals.get(identity)
        if kind == "discount" and known and (left_s := _left_s(known, now)) > SKEW_S:
            # Somebody answered the task and not the question. Silence would delete nodes, and it is not silence yet.
            early = "its task has ended before its time, and nobody has answered the question"
            again = {**decision, "status": "ask_again", "by": None, "why": early}
            return {**again, "approval_s": math.ceil(left_s / AHEAD)}
        asked_at = known.asked_at if known else now
        answer = ask.read(
            identity,
            posted=self.threads.place(ask.question_notice_id(identity)) is not None,
            approvals=self.approvals,
            outbox=self.outbox,
            thread=thread,
            now=now,
            # A lost discount costs by the hour: there silence rolls back even if Slack never showed the question.
            give_up_at=now if kind == "discount" else asked_at + UNSEEN,
            round_s=float(decision["approval_s"]) * AHEAD,
        )
        if answer["status"] == "ask_again":
            return {**decision, **answer, "verdict": decision.get("verdict")}
        return self._repair_answer(subject, answer, now) if kind == "repair" else self._discount_answer(subject, answer)

    def _repair_answer(self, subject: str, answer: dict[str, Any], now: datetime) -> dict[str, Any]:
        said = f"{answer['status']}: {answer['why']}" + (f" by {answer['by']}" if answer["by"] else "")
        outdated = answer["status"] == "outdated"
        revise(self.incidents, subject, lambda i: _answered(i, said, outdated, now))
        outcomes = {"deny": "expired" if answer.get("expired") else "denied"}
        outcome = outcomes.get(str(answer["status"]))
        return {**answer, "reason": said, **({"outcome": outcome} if outcome else {})}

    def _discount_answer(self, run_id: str, answer: dict[str, Any]) -> dict[str, Any]:
        if answer["status"] == "accept":
            own.update(self.runs, self.spec.cluster, run_id, _accepted)
        elif answer["status"] == "deny":  # the question was never stored: that is silence
            answer = {**answer, "status": ROLL_BACK.choice}
        why = f"{answer['why']}" + (f" by {answer['by']}" if answer["by"] else "")
        return {**answer, "reason": why}


def _left_s(approval: Approval, now: datetime) -> float:
    """Seconds that people still have; none when it is settled."""
    pending = approval.status is ApprovalStatus.PENDING
    return (approval.expires_at - now).total_seconds() if pending else 0.0


def seen_of(incident: Incident) -> str:
    """What an incident knows of others' work on its node: a question that was decided on less is taken back."""
    return f"{len(incident.others)} {incident.repair_begun} {incident.health}"


def question_number(incident: Incident, rung: str, instance_id: str) -> int:
    """Which question about this rung and instance it would be, from 1. Fixed by the decision, so that whoever asks,
    reads or acts upon it means the same one. What was taken back is not asked again: the next one is another."""
    return 1 + sum(a.rung == rung and a.instance_id == instance_id for a in incident.attempts) + incident.withdrawn


def repair_approval_id(incident: Incident, decision: dict[str, Any]) -> str:
    """One question an incident, rung, instance and number: a retried task asks the same one."""
    rung, instance = str(decision["rung"]), str(decision["instance_id"])
    number = int(decision.get("question") or question_number(incident, rung, instance))
    return approval_id(incident.incident_id, rung, instance or target_instance(incident), number)


def discount_approval_id(run: Run, decision: dict[str, Any]) -> str:
    """One question a run, group and stage."""
    return approval_id(
        run.run_id, "discount", f"{decision.get('group')}:{decision.get('stage')}:{decision.get('target')}"
    )


def _discount_facts(decision: dict[str, Any], spec: ClusterSpec) -> dict[str, str]:
    return {
        "Why": str(decision["reason"]),
        "Running": str(decision.get("running", "unknown")),
        "Excess": f"up to {float(decision.get('excess_usd_per_hour', 0.0)):,.2f} USD an hour",
        "Cap": f"silence rolls back before {spec.rollback_dollar_cap:,.0f} USD are spent",
    }


def _asked(incident: Incident, identity: str, now: datetime) -> Incident:
    if incident.state is IncidentState.CLOSED:
        return incident
    return replace(begin_step(incident, APPROVAL, now, "people are asked"), asked=identity)


def _answered(incident: Incident, said: str, outdated: bool, now: datetime) -> Incident:
    if incident.state is IncidentState.CLOSED:
        return incident
    if not any(step.name == APPROVAL and step.ended_at is None for step in incident.steps):
        return incident  # read before: written down already
    after = replace(end_step(incident, APPROVAL, now, said), asked="")
    return replace(after, state=IncidentState.OPEN, withdrawn=incident.withdrawn + 1) if outdated else after


def _accepted(run: Run) -> Run:
    stages = tuple(
        replace(r, verdict="ACCEPTED") if r.verdict in {"LOST", "UNKNOWN"} and r.running_at else r for r in run.stages
    )
    return replace(run, accepted_loss=True, stages=stages)
