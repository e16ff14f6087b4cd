"""What the looks answer with. Pure."""

from __future__ import annotations

from roundhouse.line.decision.facts import View
from roundhouse.line.decision.verdict import Decision, Guard, Verdict
from roundhouse.line.incident import Outcome
from roundhouse.line.ladder import Rung


def close(outcome: Outcome, reason: str, guard: Guard | None = None) -> Decision:
    return Decision(Verdict.CLOSE, reason, outcome=outcome, guard=guard)


def human(guard: Guard, reason: str, advice: tuple[str, ...] = ()) -> Decision:
    return Decision(Verdict.HUMAN, reason, Rung.HUMAN, guard=guard, outcome=Outcome.ESCALATED, advice=advice)


def wait(view: View, guard: Guard, reason: str, seconds: int | None = None) -> Decision:
    poll = view.facts.policy.poll_s
    return Decision(Verdict.WAIT, reason, guard=guard, wait_s=max(1, poll if seconds is None else min(seconds, poll)))
