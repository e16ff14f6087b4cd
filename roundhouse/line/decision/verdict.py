"""What a decision is: a verdict, a rung, and the reason in words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from roundhouse.line.incident import Outcome
from roundhouse.line.ladder import Rung


class Verdict(StrEnum):
    OBSERVE = "observe"  # close it: the policy says look, do not touch
    NOTHING = "nothing"  # close it: there is nothing to decide
    WAIT = "wait"  # decide again in `wait_s`: somebody or something is at it
    HOLD = "hold"  # decide again in `wait_s`: a guard is closed; it expires
    ASK = "ask"  # cordon, then ask people for `rung` on `instance_id`
    ACT = "act"  # cordon, then do `rung` to `instance_id`
    HUMAN = "human"  # tell people what to do, and close it as escalated
    CLOSE = "close"  # close it with `outcome`


class Guard(StrEnum):
    """Who stood in the way."""

    LIVE_STATE = "live_state"
    GRACE = "grace"
    IN_HAND = "in_hand"
    PATCHING = "patching"
    AUTO_RESUME = "auto_resume"  # Slurm has asked HyperPod to act
    MISSING = "missing"  # not listed, once
    CLUSTER_BUSY = "cluster_busy"
    CONTROLLER = "controller"
    LOGIN = "login"
    CAPACITY = "capacity"
    CLUSTER = "cluster"
    UNKNOWN_CAUSE = "unknown_cause"
    LADDER = "ladder"
    BUDGET = "budget"
    COOLDOWN = "cooldown"
    OBSERVE = "observe"
    PROTECTED = "protected"
    EVIDENCE = "evidence"
    FOREIGN_DRAIN = "foreign_drain"
    UNDRAINED = "undrained"  # people want it back
    MENDED = "mended"  # patched or rebooted by others since the last bad news
    ASKED_ENOUGH = "asked_enough"
    CONTROLLER_AWAY = "controller_away"
    PAUSED = "paused"
    BREAKER = "breaker"
    FLOOR = "capacity_floor"
    JOB = "running_job"
    POWERED_OFF = "powered_off"
    LONG_WINDOW = "long_window"
    TURN = "turn"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision and why. `unguarded` says what would have been done without `guard`, "" when none spoke.

    `outcome` is how the incident ends when the verdict ends it (OBSERVE, NOTHING, HUMAN, CLOSE). `advice` are the
    steps for people (HUMAN). A breaker hold may be the first one of an opening: ask `breaker.admit` and save.
    """

    verdict: Verdict
    reason: str
    rung: Rung = Rung.NONE
    instance_id: str = ""
    unguarded: str = ""
    guard: Guard | None = None
    wait_s: int = 0
    outcome: Outcome | None = None
    advice: tuple[str, ...] = ()

    @property
    def ends(self) -> bool:
        """True when the incident is to be closed now."""
        return self.outcome is not None
