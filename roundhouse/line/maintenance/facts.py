"""Everything that a decision about maintenance depends on, and the view of it that the rules share. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from roundhouse.line import decision
from roundhouse.line.breaker import BreakerEntry, BreakerState
from roundhouse.line.decision.facts import View, view_of
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident
from roundhouse.line.ladder import History
from roundhouse.line.maintenance.window import Window
from roundhouse.line.policy import Policy
from roundhouse.line.state import Cluster, Pause


@dataclass(frozen=True, slots=True)
class Other:
    """An open incident of maintenance, this one among them: its node, its next window, whether we have drained it."""

    instance_id: str
    group: str
    opened_at: datetime
    starts: datetime | None
    drained: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """Read just now. `cluster` or `breaker` None: could not be read, and that stops action.

    `windows` are those that Health still announces for the incident's instance, over or not. `answer` is what people
    said to the question about the next of them: `approve`, `deny`, `expired`, None for nothing yet. `away` are
    instances that another incident of ours keeps drained, `repair` the open incident that repairs this very node, if
    there is one.
    """

    incident: Incident
    cluster: Cluster | None
    breaker: BreakerState | None
    policy: Policy
    now: datetime
    windows: tuple[Window, ...]
    pause: Pause | None = None
    answer: str | None = None
    others: tuple[Other, ...] = ()
    away: frozenset[str] = frozenset()
    repair: str | None = None

    @property
    def lead(self) -> timedelta:
        return timedelta(seconds=self.policy.rule(CauseClass.MAINTENANCE).lead_s)

    def view(self, cluster: Cluster) -> View:
        """The facts joined with live state, as the guards of repairs know them."""
        return view_of(
            decision.Facts(self.incident, cluster, History(), self.breaker, self.policy, self.now, pause=self.pause),
            cluster,
        )

    def due(self) -> tuple[Other, ...]:
        """Others whose drain is due now and has not come yet, the oldest window first."""
        found = [o for o in self.others if not o.drained and o.starts and o.starts - self.lead <= self.now]
        return tuple(sorted(found, key=lambda o: (o.starts or o.opened_at, o.instance_id)))


def entry(instance_id: str, group: str, kind: str, at: datetime) -> BreakerEntry:
    """What the breaker counts of maintenance: a `drain`, or a `signal` for the detector of common causes."""
    return BreakerEntry(at, kind, instance_id, group, CauseClass.MAINTENANCE.value)
