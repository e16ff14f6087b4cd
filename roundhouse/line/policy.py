"""Policy: what may be done, to what, how often. Pure dataclasses; made from an environment file at synth time.

The JSON form (`Policy.from_json`) is what the policy parameter holds. Durations are whole seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from roundhouse.line.event import CauseClass
from roundhouse.line.ladder import Rung

LEAST_GRACE_S = 300  # HyperPod begins its own repair within minutes


class Mode(StrEnum):
    """How far a rule may go. OBSERVE changes nothing and is the default."""

    OBSERVE = "observe"
    ASK = "ask"
    ACT = "act"


@dataclass(frozen=True, slots=True)
class Rule:
    """What to do about one cause class: the rungs, in order, and how far to go without people."""

    mode: Mode = Mode.OBSERVE
    ladder: tuple[Rung, ...] = (Rung.REBOOT, Rung.REPLACE, Rung.HUMAN)
    grace_s: int = 600  # time given to HyperPod's own repair, and to news that arrive late
    lead_s: int = 7200  # maintenance alone: how long before its window a node is drained


@dataclass(frozen=True, slots=True)
class Budget:
    """How often a rung may be used: per cluster and day, and the pause between two on one node."""

    per_day: int = 5
    cooldown_s: int = 3600


@dataclass(frozen=True, slots=True)
class BreakerLimits:
    """Limits of the circuit breaker. A limit is reached when the count would exceed it.

    Percents are of the group's and of the cluster's target, and never mean less than one node.
    """

    short_window_s: int = 3600
    short_max: int = 4
    short_percent: float = 10.0
    group_short_max: int = 4
    day_max: int = 12
    day_percent: float = 25.0
    systemic_window_s: int = 600
    systemic_nodes: int = 5  # same cause on that many instances within the window: suspect the network or a change
    open_s: int = 3600  # how long it stays open before one canary may pass
    hold_expiry_s: int = 7200  # a decision held longer than that expires


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything the line must know beside facts. Defaults change nothing: every rule is OBSERVE."""

    environment: str
    cluster: str
    rules: dict[CauseClass, Rule] = field(default_factory=dict)
    budgets: dict[Rung, Budget] = field(default_factory=dict)
    breaker: BreakerLimits = field(default_factory=BreakerLimits)
    protected_groups: tuple[str, ...] = ()
    protected_nodes: tuple[str, ...] = ()  # instance ids, logical ids or Slurm names
    capacity_floor: dict[str, int] = field(default_factory=dict)  # group -> Running nodes that must stay
    approvers: tuple[str, ...] = ()  # Slack user ids
    slack_channel: str = ""
    slack_team: str = ""
    approval_ttl_s: int = 3600
    drain_deadline_s: int = 1800
    max_event_age_s: int = 14400  # an older event only ever causes a look
    slurm_max_age_s: int = 300
    repair_timeout_s: int = 5400  # a repair that has not come back by then has failed
    patching_limit_s: int = 21600  # HyperPod's patching suspends repair; one that lasts longer is shown to people
    slurm_may_reboot: bool = False  # Slurm's word alone suffices for a reboot, while HyperPod has the node Running
    proof_quiet_s: int = 300  # how long a repaired node must stay Running and quiet
    poll_s: int = 60

    def rule(self, cause: CauseClass) -> Rule:
        """The rule for `cause`; OBSERVE when the environment names none."""
        return self.rules.get(cause, Rule())

    def budget(self, rung: Rung) -> Budget:
        """The budget of `rung`; the non-zero defaults when the environment names none."""
        return self.budgets.get(rung, Budget())
