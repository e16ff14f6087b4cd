"""What the report shows, as plain data: no house needed, nothing drawn yet. Standard library only.

Times are aware UTC in the play's virtual time; money is USD an hour unless a name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from simulator.demo.checks import Check

KINDS = ("reserved", "on-demand", "none")  # how a Running node is billed; none: not billed at all


@dataclass(frozen=True, slots=True)
class StageView:
    """One judged stage of a creation. `expected` and `actual` are what the nodes then billed should and did cost."""

    number: int
    group: str
    target: int
    at: datetime
    verdict: str
    reason: str
    expected: float
    actual: float


@dataclass(frozen=True, slots=True)
class EnvironmentView:
    """One environment: its creation, the growth of its workers, its money.

    `growth` is (time, Running workers in the order of KINDS), each until the next one. `expected` is the whole
    contract; `actual` is what stands at the end. `excess_usd` is what was paid above the discounted price, in USD.
    """

    name: str
    cluster: str
    contract: int
    status: str
    started_at: datetime | None
    finished_at: datetime | None
    stages: tuple[StageView, ...]
    growth: tuple[tuple[datetime, tuple[int, int, int]], ...]
    running: int
    expected: float
    actual: float
    excess_usd: float
    cap_usd: float

    @property
    def peak(self) -> int:
        """The most workers that ran at once."""
        return max((sum(counts) for _, counts in self.growth), default=0)


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of an incident; `ended_at` is None while it runs. `count`: how many of the incidents took it."""

    name: str
    started_at: datetime
    ended_at: datetime | None
    detail: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class IncidentView:
    """Incidents of one kind and end; nearly always one. Steps of many span from the first's start to the last's end.

    `outcome` is the record's word ("" while open), `ended` the same in words for people.
    """

    cluster: str
    nodes: tuple[str, ...]
    instance_id: str
    now_instance_id: str | None
    code: str
    outcome: str
    ended: str
    opened_at: datetime
    closed_at: datetime | None
    decision: str
    events: int
    steps: tuple[StepView, ...]

    @property
    def count(self) -> int:
        """How many incidents this stands for."""
        return len(self.nodes)


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """The breaker from its opening to its closing. `calls` are ours in between, `messages` those in the channel."""

    cluster: str
    opened_at: datetime
    closed_at: datetime | None
    reason: str
    nodes: int
    calls: int
    messages: int


@dataclass(frozen=True, slots=True)
class SlackLine:
    """A message or a click. `kind`: message, reply, private or click."""

    at: datetime
    who: str
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class CallView:
    """One call of ours that changes something. `by` is the function; `result` is in words, `ok` False for an error."""

    at: datetime
    environment: str
    cluster: str
    by: str
    operation: str
    about: str
    result: str
    ok: bool


@dataclass(frozen=True, slots=True)
class ActView:
    """An act and its checks."""

    name: str
    title: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


@dataclass(frozen=True, slots=True)
class ReportData:
    """Everything on the page. `threads` are Slack conversations, oldest first, each with its lines in order."""

    began_at: datetime
    ended_at: datetime
    real: timedelta
    environments: tuple[EnvironmentView, ...]
    incidents: tuple[IncidentView, ...]
    episodes: tuple[EpisodeView, ...]
    threads: tuple[tuple[SlackLine, ...], ...]
    messages: int
    slowest_answer_s: float | None
    calls: tuple[CallView, ...]
    acts: tuple[ActView, ...]

    @property
    def checks(self) -> int:
        return sum(len(act.checks) for act in self.acts)

    @property
    def failed(self) -> tuple[Check, ...]:
        """Checks that are not true, in order."""
        return tuple(check for act in self.acts for check in act.checks if not check.ok)
