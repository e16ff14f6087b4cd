"""Section `policy`: what may be done, to what, how often. Imports pydantic.

Defaults are those of `roundhouse.line.policy`: every rule observes.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from roundhouse.environment.model.base import Section
from roundhouse.environment.model.types import ClusterName, Duration, NodeName, Percent, Positive, Several
from roundhouse.line.event import CauseClass
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import Mode

LaxMode = Annotated[Mode, Field(strict=False)]
LaxRung = Annotated[Rung, Field(strict=False)]
LaxCause = Annotated[CauseClass, Field(strict=False)]


class Rule(Section):
    """What to do about one cause class."""

    mode: LaxMode = Mode.OBSERVE
    ladder: Annotated[Several[LaxRung], Field(min_length=1)] = (Rung.REBOOT, Rung.REPLACE, Rung.HUMAN)
    grace: Duration = 600
    lead: Duration = 7200


class Budget(Section):
    """How often a rung may be used."""

    per_day: Positive = 5
    cooldown: Duration = 3600


class Breaker(Section):
    """Limits of the circuit breaker; see `roundhouse.line.policy.BreakerLimits`."""

    short_window: Duration = 3600
    short_max: Positive = 4
    short_percent: Percent = 10.0
    group_short_max: Positive = 4
    day_max: Positive = 12
    day_percent: Percent = 25.0
    systemic_window: Duration = 600
    systemic_nodes: Annotated[int, Field(ge=2, le=100_000)] = 5
    open: Duration = 3600
    hold_expiry: Duration = 7200


class Policy(Section):
    """The policy. `protected_nodes` are instance ids, logical ids or Slurm names; `capacity_floor` is by group."""

    rules: dict[LaxCause, Rule] = Field(default_factory=dict)
    budgets: dict[LaxRung, Budget] = Field(default_factory=dict)
    breaker: Breaker | None = None
    protected_groups: Several[ClusterName] = ()
    protected_nodes: Several[NodeName] = ()
    capacity_floor: dict[ClusterName, Annotated[int, Field(ge=0, le=6758)]] = Field(default_factory=dict)
    approval_ttl: Duration = 3600
    drain_deadline: Duration = 1800
    max_event_age: Duration = 14400
    slurm_max_age: Duration = 300
    repair_timeout: Duration = 5400
    patching_limit: Duration = 21600
    slurm_may_reboot: bool = False
    proof_quiet: Duration = 300
    poll: Duration = 60

    def modes(self) -> set[Mode]:
        """Every mode that some rule has."""
        return {rule.mode for rule in self.rules.values()}
