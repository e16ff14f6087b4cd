"""A house as it stands at the end of a good play, in memory: what the report and the timeline read of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from roundhouse.environment import Environment, load
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState, Outcome, Step, incident_key
from roundhouse.ports import Run, StageRecord
from simulator.clock import VirtualClock
from simulator.demo.checks import Checks

ENVIRONMENTS = Path(__file__).parents[2] / "environments"
BEGIN = datetime(2026, 6, 9, 8, 0, tzinfo=UTC)
SCALE = 240.0
Json = dict[str, Any]


def at(minutes: float) -> datetime:
    return BEGIN + timedelta(minutes=minutes)


def slack_ts(minutes: float) -> str:
    """Slack's wall-clock time of a virtual minute."""
    return f"{BEGIN.timestamp() + minutes * 60 / SCALE:.6f}"


def charge(cluster: str, group: str, rate: float, start: float, end: float | None = None) -> Json:
    return {
        "cluster": cluster,
        "group": group,
        "rate": rate,
        "start": at(start).isoformat(),
        "end": None if end is None else at(end).isoformat(),
    }


def message(minutes: float, text: str, thread: float | None = None, notice: str = "", **more: Any) -> Json:
    return {
        "ts": slack_ts(minutes),
        "thread_ts": slack_ts(minutes if thread is None else thread),
        "text": text,
        "user": "U0ROUNDBOT",
        "bot_profile": {"name": "Roundhouse"},
        "visible_to": None,
        "metadata": {"event_payload": {"notice_id": notice}},
    } | more


def click(minutes: float, on: float, user: str, action: str, elapsed: float = 0.2) -> Json:
    about = {"user": user, "message_ts": slack_ts(on), "action_id": action}
    sent = float(slack_ts(minutes))
    return {"kind": "block_actions", "sent_at": sent, "status": 200, "elapsed": elapsed, "about": about}


def call(operation: str, environment: str, function: str, minutes: float, **more: Any) -> Json:
    principal = f"arn:aws:sts::111122223333:assumed-role/Roundhouse-{environment}-x/roundhouse-{environment}-{function}"
    return {"operation": operation, "principal": principal, "time": at(minutes).isoformat(), "params": {}} | more


def incident(number: int, opened: float, took: float, code: str, outcome: Outcome, *steps: Step) -> Incident:
    instance = f"i-{number:017x}"
    return Incident(
        incident_id=incident_key("train-demo", instance, CauseClass.HARDWARE, 1),
        cluster="train-demo",
        instance_id=instance,
        cause=CauseClass.HARDWARE,
        occurrence=1,
        opened_at=at(opened),
        last_event_at=at(opened),
        state=IncidentState.CLOSED,
        outcome=outcome,
        closed_at=at(opened + took),
        slurm_name=f"ip-10-1-0-{number}",
        code=code,
        steps=steps,
        decision="in words",
    )


def repaired(number: int = 12, opened: float = 130.0) -> Incident:
    """Replaced after an approval, with every step."""
    lengths = (("grace", 0, 10), ("drain", 11, 4), ("approval", 11, 6), ("repair", 17, 14), ("proof", 31, 3))
    steps = [Step(name, at(opened + start), at(opened + start + took), f"{name} told") for name, start, took in lengths]
    steps.append(Step("resume", at(opened + 34), at(opened + 34), "taken back"))
    made = incident(number, opened, 34, "NvidiaErrorTerminate", Outcome.REPAIRED, *steps)
    return replace(made, current_instance_id="i-0fedcba9876543210")


def outage(nodes: int = 20, opened: float = 300.0) -> list[Incident]:
    """Many nodes with one fault, every second one held back by the breaker, all healthy again."""
    found = []
    for number in range(nodes):
        grace = Step("grace", at(opened), at(opened + 10 + number), "time for HyperPod's own repair")
        held = Step("held", at(opened + 20), at(opened + 40 + number), "breaker is open")
        steps = (grace, held) if number % 2 else (grace,)
        found.append(incident(20 + number, opened, 45 + number, "EfaHealthCheckFailed", Outcome.RECOVERED, *steps))
    return found


def done_run() -> Run:
    def stage(number: int, target: int, start: float, running: float) -> StageRecord:
        return StageRecord("workers", number, target, at(start), at(running), "VERIFIED", f"{target} found reserved")

    controller = StageRecord("controller", 0, 1, at(7))
    stages = (controller, stage(0, 39, 7, 39), stage(1, 52, 40, 72), stage(2, 64, 73, 85))
    return Run("train-demo", "first-run", at(0), status="done", stages=stages, finished_at=at(88), version=9)


def rolled_back_run() -> Run:
    return Run("train-wrong-az", "wrong-run", at(100), status="rolled_back", finished_at=at(125), version=9)


@dataclass
class Runs:
    run: Run | None

    def get(self, cluster: str) -> Run | None:
        return self.run if self.run and self.run.cluster == cluster else None


@dataclass
class SampleDeployed:
    environment: Environment
    runs: Runs
    incidents: list[Incident] = field(default_factory=list)

    @property
    def cluster(self) -> str:
        return self.environment.cluster.name

    def known(self) -> list[Incident]:
        return self.incidents


@dataclass
class SampleAws:
    charges: list[Json]
    end: datetime
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(SCALE, BEGIN.timestamp()))

    def now(self) -> datetime:
        return self.end

    def control(self, command: str, **_: Any) -> Json:
        assert command == "meter"
        return {"charges": self.charges}


@dataclass
class SampleSlack:
    said: list[Json]
    clicks: list[Json]

    def messages(self) -> list[Json]:
        return self.said

    def deliveries(self) -> list[Json]:
        return self.clicks


@dataclass
class SampleHouse:
    aws: SampleAws
    slack: SampleSlack
    deployed: dict[str, SampleDeployed]
    growth: list[tuple[datetime, str, dict[str, int]]]
    log: list[Json]

    def calls(self) -> list[Json]:
        return self.log


def house() -> SampleHouse:
    """64 nodes in three stages, a lost discount rolled back, one repair, one outage."""
    wrong, stop = "demo-wrong-az", "run_stopped:wrong-run:stop"
    opened, closed = at(304).isoformat(), at(350).isoformat()
    return SampleHouse(
        aws=SampleAws(
            [charge("train-demo", "controller", 0.46, 10)]
            + [charge("train-demo", "workers", 8.0, 20 if n < 39 else 60 if n < 52 else 80) for n in range(64)]
            + [charge("train-wrong-az", "workers", 16.6, 110, 125) for _ in range(5)],
            at(400),
        ),
        slack=SampleSlack(
            [
                message(2, "Creating train-demo"),
                message(40, "Stage 1 of workers: 39 Running", 2),
                message(112, "Ramp of train-wrong-az stopped: discount LOST\n5 took on-demand", notice=stop),
                message(140, "Replace ip-10-1-0-12?\n&lt;b&gt; &amp; <https://example.com|the log>"),
                message(143, "You are not among those", 140, visible_to="U0GUESTEVE"),
                message(304, "Breaker of train-demo is open\n20 nodes", notice=f"breaker-opened:train-demo:{opened}"),
                message(351, "Breaker is closed", 304, notice=f"breaker-closed:train-demo:{closed}"),
            ],
            [click(142, 140, "U0GUESTEVE", "approve"), click(146, 140, "U0OPSALICE", "approve", 1.25)],
        ),
        deployed={
            "demo": SampleDeployed(load(ENVIRONMENTS / "demo.toml"), Runs(done_run()), [repaired(), *outage()]),
            "demo-wrong-az": SampleDeployed(load(ENVIRONMENTS / "demo-wrong-az.toml"), Runs(rolled_back_run())),
        },
        growth=[
            (at(20), "train-demo", {"reserved": 20}),
            (at(39), "train-demo", {"reserved": 39}),
            (at(72), "train-demo", {"reserved": 52}),
            (at(85), "train-demo", {"reserved": 64}),
            (at(112), "train-wrong-az", {"on-demand": 5}),
            (at(125), "train-wrong-az", {}),
            (at(150), "train-demo", {"reserved": 63, "none": 1}),
            (at(160), "train-demo", {"reserved": 64}),
        ],
        log=[
            call("CreateCluster", "demo", "launch-stage", 8, params={"ClusterName": "train-demo"}, result={}),
            call("DeleteCluster", wrong, "roll-back", 125, params={"ClusterName": "train-wrong-az"}, result={}),
        ],
    )  # fmt: skip


def checks(*, good: bool = True) -> Checks:
    made = Checks()
    made.that("create", "64 workers are Running", True, 64)
    made.that("repair", "one call to HyperPod", good, "['BatchReplaceClusterNodes']")
    made.that("always", "no instance was called upon twice", True, [])
    return made
