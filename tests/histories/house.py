"""The world of a history: World with a living cluster, an unreliable bus, Slurm, and processes that die, stop for a
while in the middle of a call, or run twice at once."""

from __future__ import annotations

import heapq
import inspect
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from importlib import import_module
from random import Random
from types import SimpleNamespace
from typing import Any

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import RoundhouseError
from roundhouse.line.event import CauseClass
from roundhouse.line.ladder import Rung
from roundhouse.line.policy import BreakerLimits, Budget, Policy, Rule
from tests.build import samples as build
from tests.histories.bus import Bus
from tests.histories.judge import Judge
from tests.histories.nature import LivingCluster
from tests.histories.script import Script
from tests.histories.slurm import Slurm
from tests.steps.asl import Died
from tests.steps.samples import account, cluster_spec
from tests.steps.world import ALICE, CountingOutbox, Gate, World

BOB, MALLORY = "U0BOB", "U0MALLORY"
RECONCILED_EVERY_S = 900
ROUNDS = 4  # that it takes the reconciler to see, to mend, and to find nothing more
GRACE_S, DRAIN_S, ASK_S = 120, 300, 1200
_HANDLES: dict[str, Callable[[dict[str, Any], Any], Any]] = {}


class Outbox(CountingOutbox):
    """An incident's code may become a better one: its first message stands, whatever it is called later."""

    def tell(self, notice: Notice) -> None:
        known = next((one for one in self.notices if one.notice_id == notice.notice_id), None)
        opened = known is not None and known.kind is NoticeKind.INCIDENT_OPENED
        super().tell(known if known is not None and opened else notice)


@dataclass
class Door(Gate):
    """The gate of a history: any number of things may happen at later calls, before the call or after it."""

    clock: Any = None
    tick: timedelta = timedelta()
    count: int = 0
    due: list[tuple[int, int, bool, Callable[[], None]]] = field(default_factory=list)

    def at(self, calls: int, after: bool, what: Callable[[], None]) -> None:
        """Do `what` at the `calls`-th further call; it may raise Died."""
        heapq.heappush(self.due, (self.count + calls, len(self.due) + self.count * 1000, after, what))

    def __call__(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def passing(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            self.clock.at += self.tick
            if not self.due or self.due[0][0] > self.count:
                return real(*args, **kwargs)
            _, _, after, what = heapq.heappop(self.due)
            if not after:
                what()
            result = real(*args, **kwargs)
            if after:
                what()
            return result

        return passing


def policy_of(script: Script) -> Policy:
    """Every cause under one rule; tight limits where the script says so."""
    limits = BreakerLimits(short_percent=60, day_percent=80, short_max=6, group_short_max=6, hold_expiry_s=3600)
    if script.tight:
        limits = replace(limits, short_max=2, group_short_max=2, systemic_nodes=3, open_s=900)
    per_day = 2 if script.tight else 20
    return Policy(
        "unit",
        "train",
        rules=dict.fromkeys(CauseClass, Rule(script.mode, script.ladder, grace_s=GRACE_S)),
        budgets=dict.fromkeys(Rung, Budget(per_day=per_day, cooldown_s=600)),
        breaker=limits,
        approvers=(ALICE, BOB),
        approval_ttl_s=ASK_S,
        drain_deadline_s=DRAIN_S,
        proof_quiet_s=120,
        repair_timeout_s=2700,
    )


class House(World):
    """One history's world. `happened` counts what took place, by name."""

    cluster: LivingCluster

    def __init__(self, script: Script) -> None:
        super().__init__(cluster_spec(build.group(count=script.size)), policy_of(script))
        self.script = script
        self.happened: Counter[str] = Counter()
        self._thrown: Counter[str] = Counter()
        self.gate = Door(clock=self.clock, tick=timedelta(milliseconds=script.tick_ms))
        self.outbox = Outbox()
        self.judge = Judge(self)
        self.bus = Bus(self, script.messages)
        self.cluster = LivingCluster(self, self.spec.cluster)
        self.surroundings.cluster = self.cluster
        self.slurm = Slurm(self, script.agent)
        self.nodes_boot = False  # each node boots in its own time
        self.until = self.now
        self.invocations = 0
        self._rounds = 0  # of the reconciler, until it sleeps
        self._woken = False
        self._running: list[tuple[str, dict[str, Any]]] = []
        self._furnish()

    def _furnish(self) -> None:
        account(self)
        self.cluster.seed("controller", 1, "Controller", build.CPU)
        self.cluster.seed("workers", self.script.size)
        self.cluster.node_recovery = "Automatic" if self.script.automatic else "None"
        plan = build.PLAN
        self.cluster.groups["workers"] = replace(self.cluster.groups["workers"], training_plan_arn=plan)
        self.runs.put(build.run(plan_in_use_before={plan: 0}, status="done"))
        self.people = self._people

    # What ops use ----------------------------------------------------------------------------------------------
    def dice(self, what: str) -> Random:
        """Chance of its own for each thing and occasion: leaving out one op does not change all that follows."""
        self._thrown[what] += 1
        return Random(f"{self.script.seed} {what} {self._thrown[what]}")

    def busy(self) -> bool:
        """Whether time must go on for somebody's sake."""
        return self.now < self.until or any(e.status == "RUNNING" for e in self.executions.values())

    def change_policy(self, change: Callable[[Policy], Policy]) -> None:
        self.policy = change(self.policy)
        self.settings.the_policy = self.policy

    def twin(self) -> None:
        """The step that runs now is run once more, from its beginning to its end, before it goes on: a time-out that
        was none, with the retry that follows it."""
        if self._running:
            function, event = self._running[-1]
            self.aside(lambda: self._invoke(function, event))

    def aside(self, what: Callable[[], object]) -> None:
        """Another process: its death or failure is its own."""
        try:
            what()
        except (Died, RoundhouseError) as error:
            self.happened[f"aside: {type(error).__name__}"] += 1

    def wake(self) -> None:
        """Something happened: the reconciler's schedule matters again."""
        self._rounds = ROUNDS
        self.slurm.wake()
        if self.script.reconciled and not self._woken:
            self._woken = True
            self.later(RECONCILED_EVERY_S, self._round)

    def _round(self) -> None:
        """The schedule strikes. It never ends, but once nothing happens any more nobody would see a difference."""
        self._rounds = ROUNDS if self.busy() else self._rounds - 1
        self._woken = self._rounds > 0
        if self._woken:
            self.later(RECONCILED_EVERY_S, self._round)
        self.aside(self.slurm.speak)  # it never sleeps either
        self.aside(lambda: self._invoke("reconcile_line", {}))
        bodies, self.intake.bodies[:] = list(self.intake.bodies), []
        for body in bodies:
            self.bus.deliver(json.loads(body), 1)

    # People ----------------------------------------------------------------------------------------------------
    def _people(self, notice: Notice) -> None:
        dice = self.dice("answer")
        soon, later = dice.randint(20, 200), dice.randint(200, 900)
        match self.script.answers:
            case "approve":
                clicks = [(ALICE, "approve", soon)]
            case "deny":
                clicks = [(BOB, "deny", soon)]
            case "late":
                clicks = [(ALICE, "approve", ASK_S + later)]
            case "wrong":
                clicks = [(MALLORY, "approve", soon), (ALICE, "deny" if dice.random() < 0.5 else "approve", later)]
            case "both":
                first, second = dice.sample(("approve", "deny"), 2)
                clicks = [(ALICE, first, soon), (BOB, second, soon + dice.choice((0, 0, 1, 60)))]
            case _:
                clicks = []
        for user, choice, seconds in clicks:
            self.later(seconds, lambda u=user, c=choice: self.press(notice, c, u))

    def press(self, notice: Notice, choice: str, user: str) -> None:
        self.judge.clicking(notice, choice, user)
        self.aside(lambda: self.click(notice, choice, user))

    def receive(self, envelope: dict[str, Any], times: int) -> list[str]:
        """Deliver one message to intake, for the `times`-th time; the ids of those that failed."""
        record = {"messageId": "0", "body": json.dumps(envelope), "attributes": {"ApproximateReceiveCount": str(times)}}
        answer = self._invoke("intake_signals", {"Records": [{**record, "eventSource": "aws:sqs"}]})
        return [failed["itemIdentifier"] for failed in answer["batchItemFailures"]]

    # The machine room ------------------------------------------------------------------------------------------
    def _invoke(self, function: str, event: dict[str, Any]) -> Any:
        handle = _HANDLES.get(function)
        if handle is None:
            handle = inspect.unwrap(import_module(f"functions.{function}.handler").handle)
            _HANDLES[function] = handle
        self.invocations += 1
        self.judge.enter(function, event)
        self._running.append((function, event))
        try:
            return handle(event, CONTEXT)
        finally:
            self._running.pop()
            self.judge.leave()

    def _settle_all(self) -> None:
        while self.settle.approval_ids:
            kept = list(self.settle.approval_ids)
            try:
                super()._settle_all()
            except (Died, RoundhouseError):  # the queue delivers it again
                failed = kept[-len(self.settle.approval_ids) - 1]
                self.later(30, lambda again=failed: self.settle.approval_ids.append(again))


CONTEXT = SimpleNamespace(aws_request_id="r")
