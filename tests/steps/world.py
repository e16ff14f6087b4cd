"""The whole line in memory: the deployed handlers, on in-memory ports, in the order of the real state machines.

A test moves people, nodes and time; `Gate` kills a process before or after any single call on a port.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

from functions import runtime
from functions.answer_slack import handler as answer_slack
from functions.settle_approval import handler as settle_approval
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.executions import ExecutionState
from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import NotFound, RoundhouseError
from roundhouse.line.approval import Click
from roundhouse.line.incident import Incident
from roundhouse.line.policy import Policy
from roundhouse.line.state import Node, NodeStatus
from roundhouse.ports import PlanState
from tests.fakes.clocks import FakeClock
from tests.fakes.cluster import FakeCluster
from tests.fakes.commands import FakeAgentQueue, FakeIntakeQueue
from tests.fakes.maintenances import FakeMaintenances
from tests.fakes.queues import FakeOutbox, FakeSettleQueue
from tests.fakes.records import FakeBreaker, FakeControl, FakeIncidents, FakeLedger, FakeLocks, FakeRehearsals, FakeRuns
from tests.fakes.slack import FakeMessenger
from tests.fakes.stores import FakeApprovals, FakeThreads, FakeTokens
from tests.fakes.surroundings import FakeSettings, FakeSurroundings
from tests.steps import asl, used
from tests.steps.asl import Died, Execution

ALICE = "U0ALICE"
MACHINES = {"REMEDIATE_ARN": "remediate_node", "MAINTAIN_ARN": "maintain_node", "CREATE_ARN": "create_cluster"}
T0 = datetime.fromisoformat("2026-10-02T16:00:00+00:00")
MOST_EVENTS = 25_000  # history events of one execution


class SdkError(Exception):
    """An error of a direct SDK integration, by its name in ASL."""

    def __init__(self, sdk: str) -> None:
        super().__init__(sdk)
        self.sdk = sdk


@dataclass
class Gate:
    """Every call that a step makes on a port passes here. `die_at`: kill the process at that call (from 1), before it
    happens or right after; once. `function` is the one that runs."""

    die_at: int | None = None
    after: bool = False
    calls: list[str] = field(default_factory=list)
    died: str = ""
    function: str = ""

    def __call__(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def passing(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name)
            used.note(self.function, name, args)
            doomed = len(self.calls) == self.die_at
            if doomed and not self.after:
                self.died = f"before {name}"
                raise Died(self.died)
            result = real(*args, **kwargs)
            if doomed:
                self.died = f"after {name}"
                raise Died(self.died)
            return result

        return passing


class Gated:
    """A port behind the gate."""

    def __init__(self, name: str, port: Any, gate: Gate) -> None:
        self._name, self._port, self._gate = name, port, gate

    def __getattr__(self, member: str) -> Any:
        found = getattr(self._port, member)
        return self._gate(f"{self._name}.{member}", found) if callable(found) else found


class CountedCluster(FakeCluster):
    """Remembers the highest target of each group, and which creations took effect."""

    def __init__(self, clock: FakeClock, name: str) -> None:
        super().__init__(clock, name)
        self.highest: Counter[str] = Counter()
        self.created = 0
        self.launched: Counter[str] = Counter()
        self.launched_on_demand: set[str | None] = set()

    def _tell_capacity(self, node: Node) -> None:
        super()._tell_capacity(node)
        if node.group in self.on_demand:
            self.launched_on_demand.add(node.instance_id)

    def _repaired(self, operation: str, node: Node) -> None:
        super()._repaired(operation, node)
        if operation == "reboot":
            text = f"Instance {node.instance_id} reboot in progress in Cluster {self.name} and IG {node.group}"
            self.tell(text, group=node.group, instance_id=node.instance_id, logical_id=node.logical_id)

    def create(self, spec: ClusterSpec, counts: dict[str, int]) -> str:
        before = self.status
        self.arn = f"{self.arn[:-1]}{self.created}"  # a cluster made again is another one
        try:
            return super().create(spec, counts)
        finally:
            self.created += not before and bool(self.status)

    def _launch(self, group: str, amount: int) -> tuple[str, ...]:
        self.launched[group] += amount
        return super()._launch(group, amount)

    def _raise_target(self, group: str, by: int) -> None:
        super()._raise_target(group, by)
        self.highest[group] = max(self.highest[group], self.groups[group].target)

    def by_id(self, instance_id: str) -> Node | None:
        return next((node for node in self.nodes if node.instance_id == instance_id), None)

    def made(self, operation: str) -> list[tuple[object, ...]]:
        return [call.arguments for call in self.calls if call.operation == operation]


class CountingOutbox(FakeOutbox):
    """Also remembers how often each notice was sent, and that one id never says two things."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: Counter[str] = Counter()

    def tell(self, notice: Notice) -> None:
        super().tell(notice)
        shown = next(known for known in self.notices if known.notice_id == notice.notice_id)
        same = (shown.kind, shown.thread, shown.title) == (notice.kind, notice.thread, notice.title)
        assert same, f"one id for two facts: {shown} and {notice}"
        self.sent[notice.notice_id] += 1


class LivePlans(FakeSurroundings):
    """Training plans whose counters follow the cluster's reserved nodes."""

    cluster: CountedCluster

    def plan(self, arn: str) -> PlanState:
        known = super().plan(arn)
        groups = {g.name for g in self.cluster.groups.values() if g.training_plan_arn == arn}
        used = sum(
            n.group in groups and n.instance_id not in self.cluster.launched_on_demand for n in self.cluster.nodes
        )
        return replace(known, in_use=used, available=known.total - used)


class World:
    """`people` answers a question shown in Slack: (choice, seconds later), or None for silence."""

    def __init__(
        self,
        spec: ClusterSpec,
        policy: Policy,
        *,
        boot_s: float = 90,
        made_of: Callable[[FakeClock, str], CountedCluster] = CountedCluster,
    ) -> None:
        self.spec, self.policy, self.boot_s = spec, policy, boot_s
        self.clock = FakeClock(T0)
        self.gate = Gate()
        self.cluster = made_of(self.clock, spec.cluster)
        self.runs, self.ledger, self.incidents = FakeRuns(), FakeLedger(), FakeIncidents()
        self.rehearsals = FakeRehearsals()
        self.maintenances = FakeMaintenances()
        self.breaker, self.control, self.locks = FakeBreaker(), FakeControl(), FakeLocks()
        self.approvals, self.tokens, self.threads = FakeApprovals(), FakeTokens(), FakeThreads()
        self.outbox, self.settle, self.agent = CountingOutbox(), FakeSettleQueue(), FakeAgentQueue()
        self.intake = FakeIntakeQueue()
        self.surroundings = LivePlans()
        self.surroundings.cluster = self.cluster
        self.settings = FakeSettings(policy, spec)
        self.executions: dict[str, Execution] = {}
        self.slack_up = True
        self.nodes_boot = True
        self.people: Callable[[Notice], tuple[str, float] | None] = lambda notice: None
        self.scheduled: list[tuple[datetime, Callable[[], object]]] = []
        self.each_moment: Callable[[], None] = lambda: None
        self._shown = 0
        self._settled_at = T0

    # What a test does ------------------------------------------------------------------------------------------
    @property
    def now(self) -> datetime:
        return self.clock.now()

    def later(self, seconds: float, what: Callable[[], object]) -> None:
        self.scheduled.append((self.now + timedelta(seconds=seconds), what))

    def state(self) -> str:
        """Where the only execution is; "" before there is one."""
        return next((e.visited[-1] for e in self.executions.values() if e.visited), "")

    def create(self, run_id: str = "run-1") -> Execution:
        """Start a creation and let time pass until nothing moves any more."""
        return self.begin("create_cluster", run_id, {})

    def begin(self, machine: str, name: str, given: dict[str, Any]) -> Execution:
        values = (
            ("cluster_name", self.spec.cluster),
            ("poll_s", str(self.spec.waits.poll_s)),
            ("controller_timeout_s", str(self.spec.ready_timeout_s)),
        )
        execution = Execution(name, machine, given)
        called = partial(self._called_by, machine)
        execution.body = asl.run(execution, asl.definition(machine, values), called, self.clock.now)
        self.executions[name] = execution
        return execution

    def stop(self, name: str) -> None:
        """StopExecution: nothing of it goes on."""
        self.executions[name].status, self.executions[name].waiting = "STOPPED", None

    def run(self, for_s: float = 14 * 86400) -> None:
        """Let time pass: until every execution has ended, or for so long."""
        end = self.now + timedelta(seconds=for_s)
        while True:
            self._moment()
            going = [e for e in self.executions.values() if e.status == "RUNNING"]
            times = [e.waiting.at for e in going if e.waiting] + [at for at, _ in self.scheduled]
            if not times or min(times) > end:
                self.clock.at = end if going and times else self.clock.at
                return
            self.clock.at = max(self.now, min(times))

    def click(self, notice: Notice, choice: str, user: str = ALICE) -> str:
        """Press a button of a question; what the person is told."""
        assert notice.approval is not None
        instance = notice.approval["instance_id"]
        click = Click(str(notice.approval["approval_id"]), choice, user, self.now, str(instance) if instance else None)
        ports = answer_slack.Ports(
            self.approvals, self.settle, FakeMessenger(), self.clock, self.clock, signing_secret="unused"
        )
        said = answer_slack._record(click, ports)
        self._settle_all()
        return said

    def take(self, *envelopes: dict[str, Any], received: int = 2) -> list[str]:
        """Deliver messages to intake, one batch, for the `received`th time; returns those that failed, by index."""
        attributes = {"ApproximateReceiveCount": str(received)}
        records = [
            {"messageId": str(n), "body": json.dumps(one), "eventSource": "aws:sqs", "attributes": attributes}
            for n, one in enumerate(envelopes)
        ]
        answer = self._invoke("intake_signals", {"Records": records})
        return [failed["itemIdentifier"] for failed in answer["batchItemFailures"]]

    def reconcile(self) -> dict[str, Any]:
        """The schedule's call: what differed, and what became of it."""
        said: dict[str, Any] = self._invoke("reconcile_line", {})
        return said

    # What happens by itself ------------------------------------------------------------------------------------
    def _moment(self) -> None:
        for _ in range(1000):
            due = [(at, what) for at, what in self.scheduled if at <= self.now]
            self.scheduled = [(at, what) for at, what in self.scheduled if at > self.now]
            for _, what in sorted(due, key=lambda each: each[0]):
                what()
            if self.nodes_boot and self.now - self._settled_at >= timedelta(seconds=self.boot_s):
                self.cluster.settle()
                self._settled_at = self.now
            self.each_moment()
            self._show()
            self._settle_all()
            self._take_all()
            if not self._advance() and not [1 for at, _ in self.scheduled if at <= self.now]:
                return
        raise AssertionError(f"at {self.now} the workflows turn in a circle without waiting: {self._tails()}")

    def _advance(self) -> bool:
        moved = False
        for execution in list(self.executions.values()):
            ready = execution.waiting is None or execution.waiting.at <= self.now or execution.answer is not None
            if execution.status != "RUNNING" or not ready or execution.body is None:
                continue
            moved = True
            answer, execution.answer, execution.waiting = execution.answer, None, None
            try:
                execution.waiting = execution.body.send(answer)
            except StopIteration:
                execution.waiting = None
            events = 4 * len(execution.visited)
            assert events < MOST_EVENTS, f"{execution.name}: more than {MOST_EVENTS} history events: {self._tails()}"
        return moved

    def _tails(self) -> dict[str, list[str]]:
        return {e.name: e.visited[-12:] for e in self.executions.values() if e.status == "RUNNING"}

    def _show(self) -> None:
        """Slack shows what is in the outbox, and people see the questions."""
        while self.slack_up and self._shown < len(self.outbox.notices):
            notice = self.outbox.notices[self._shown]
            self._shown += 1
            self.threads.keep(notice.notice_id, "C1", f"{self._shown}.0")
            if notice.kind is NoticeKind.APPROVAL_ASKED and (answer := self.people(notice)):
                choice, seconds = answer
                self.later(seconds, partial(self.click, notice, choice))

    def _take_all(self) -> None:
        """The intake queue: what the line has sent to itself."""
        while self.intake.bodies:
            assert self.take(json.loads(self.intake.bodies.pop(0))) == []

    def _settle_all(self) -> None:
        ports = settle_approval.Ports(self.approvals, self.tokens, self, self.outbox)
        while self.settle.approval_ids:
            settle_approval.settle(self.settle.approval_ids.pop(0), ports)

    # ports.Workflows -------------------------------------------------------------------------------------------
    def start(self, state_machine: str, name: str, payload: dict[str, object]) -> bool:
        if name in self.executions:
            return False
        self.begin(state_machine, name, dict(payload))
        return True

    def status(self, state_machine: str, name: str) -> ExecutionState | None:
        known = self.executions.get(name)
        if known is None or known.machine != state_machine:
            return None
        return ExecutionState.ABORTED if known.status == "STOPPED" else ExecutionState.parse(known.status)

    def succeed(self, token: str, output: dict[str, object]) -> bool:
        for execution in self.executions.values():
            if execution.status == "RUNNING" and execution.waiting and execution.waiting.token == token:
                if execution.answer is None:
                    used.note("settle_approval", "workflows.succeed", (execution.machine,))
                    execution.answer = output
                    return True
        return False

    # Calls of the machines -------------------------------------------------------------------------------------
    def _called_by(self, machine: str, resource: str, arguments: dict[str, Any]) -> Any:
        if "FunctionName" in arguments:
            used.note(machine, str(arguments["FunctionName"]), ())
        return self._called(resource, arguments)

    def _called(self, resource: str, arguments: dict[str, Any]) -> Any:
        return self.call(resource, arguments)  # looked up each time: a test may stand in between

    def call(self, resource: str, arguments: dict[str, Any]) -> Any:
        if "aws-sdk:sagemaker:describeCluster" in resource:
            try:
                return {"ClusterStatus": self.cluster.cluster(arguments["ClusterName"]).status}
            except NotFound:
                raise SdkError("SageMaker.ResourceNotFoundException") from None
            except RoundhouseError:
                raise SdkError("SageMaker.ThrottlingException") from None
        return {"Payload": self._invoke(arguments["FunctionName"], arguments["Payload"])}

    def _invoke(self, function: str, event: dict[str, Any]) -> Any:
        handle = inspect.unwrap(importlib.import_module(f"functions.{function}.handler").handle)
        caller, self.gate.function = self.gate.function, function
        try:
            with self._wired():
                return json.loads(json.dumps(handle(event, SimpleNamespace(aws_request_id="r"))))
        finally:
            self.gate.function = caller

    @contextmanager
    def _wired(self) -> Iterator[None]:
        ports: dict[str, Any] = {
            "reader": self.cluster,
            "writer": self.cluster,
            "runs": self.runs,
            "rehearsals": self.rehearsals,
            "ledger": self.ledger,
            "locks": self.locks,
            "incidents": self.incidents,
            "maintenances": self.maintenances,
            "breaker": self.breaker,
            "control": self.control,
            "approvals": self.approvals,
            "tokens": self.tokens,
            "threads": self.threads,
            "outbox": self.outbox,
            "settle_queue": self.settle,
            "agent_queue": self.agent,
            "intake_queue": self.intake,
            "surroundings": self.surroundings,
            "workflows": self,
        }
        made: dict[str, Any] = {name: Gated(name, port, self.gate) for name, port in ports.items()}
        made |= {"settings": used.Noted(self.gate, "settings", self.settings), "clock": self.clock}
        kept = {name: getattr(runtime, name) for name in (*made, "require")}
        for name, port in made.items():
            setattr(runtime, name, lambda port=port: port)
        runtime.require = lambda name: MACHINES[name]  # the only settings that a step asks for are machines
        try:
            yield
        finally:
            for name, accessor in kept.items():
                setattr(runtime, name, accessor)

    # What a test looks at --------------------------------------------------------------------------------------
    def told(self, kind: NoticeKind) -> list[Notice]:
        return [notice for notice in self.outbox.notices if notice.kind is kind]

    def incident(self, instance_id: str) -> Incident:
        return next(i for i in self.incidents.records.values() if i.instance_id == instance_id)

    def running(self, group: str = "workers") -> int:
        return sum(n.group == group and n.status is NodeStatus.RUNNING for n in self.cluster.nodes)
