"""Small builders for the line's tests: a cluster of workers, an event, an incident, the facts about it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from roundhouse.line.breaker import BreakerState
from roundhouse.line.decision import Facts
from roundhouse.line.event import CauseClass, Event, Health, Source
from roundhouse.line.incident import Incident, incident_key
from roundhouse.line.ladder import History, Rung
from roundhouse.line.policy import BreakerLimits, Mode, Policy, Rule
from roundhouse.line.state import Cluster, Group, Node, NodeStatus, SlurmNode, SlurmSnapshot

DATA = Path(__file__).parent.parent / "data"
NOW = datetime(2026, 6, 9, 12, 0, tzinfo=UTC)
CLUSTER = "train-a"
LADDER = (Rung.REBOOT, Rung.REPLACE, Rung.HUMAN)


def case(number: int, name: str) -> Any:
    """A case's input or expectation."""
    text = (DATA / "cases" / str(number) / name).read_text()
    return [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def iid(number: int) -> str:
    return f"i-{number:017x}"


def node(number: int, status: NodeStatus = NodeStatus.RUNNING, **changes: Any) -> Node:
    made = Node(
        instance_id=iid(number),
        logical_id=f"n-{number}",
        group="workers",
        status=status,
        hostname=f"ip-10-1-2-{number}",
        launched_at=ago(86400),
    )
    return replace(made, **changes)


CONTROLLER = Node("i-0ccc0000000000001", "n-c", "controller", NodeStatus.RUNNING, hostname="ip-10-1-0-1")
LOGIN = Node("i-0ddd0000000000001", "n-l", "login", NodeStatus.RUNNING, hostname="ip-10-1-0-2")


def cluster(*special: Node, size: int = 64, **changes: Any) -> Cluster:
    """`size` Running workers, a controller, a login node; `special` nodes stand in for those of their logical id."""
    by_logical = {n.logical_id: n for n in (*(node(i) for i in range(1, size + 1)), CONTROLLER, LOGIN)}
    by_logical |= {n.logical_id: n for n in special}
    made = Cluster(
        name=CLUSTER,
        arn="arn:aws:sagemaker:us-west-2:111122223333:cluster/abcd1234efgh",
        status="InService",
        node_recovery="None",
        groups={
            "workers": Group("workers", "ml.g6.48xlarge", size, size),
            "controller": Group("controller", "ml.m5.2xlarge", 1, 1, "Controller"),
            "login": Group("login", "ml.m5.2xlarge", 1, 1, "Login"),
        },
        nodes=tuple(by_logical.values()),
        read_at=NOW,
    )
    return replace(made, **changes)


def slurm(
    name: str, state: str, reason: str = "", jobs: tuple[int, ...] = (), taken_at: datetime = NOW
) -> SlurmSnapshot:
    return SlurmSnapshot(1, taken_at, {name: SlurmNode(name, state, reason, jobs)})


def policy(mode: Mode = Mode.ACT, ladder: tuple[Rung, ...] = LADDER, **changes: Any) -> Policy:
    rule = Rule(mode, ladder, 600)
    made = Policy("test", CLUSTER, rules=dict.fromkeys(CauseClass, rule), breaker=BreakerLimits())
    return replace(made, **changes)


def event(number: int = 1, **changes: Any) -> Event:
    made = Event(
        event_id="e-1",
        source=Source.NODE_HEALTH,
        cluster=CLUSTER,
        component="node",
        code="NvidiaErrorTerminate",
        cause=CauseClass.HARDWARE,
        health=Health.UNHEALTHY,
        source_time=ago(60),
        ingest_time=NOW,
        evidence="fault type NvidiaErrorTerminate",
        instance_id=iid(number),
    )
    return replace(made, **changes)


def incident(number: int = 1, **changes: Any) -> Incident:
    """An incident of worker `number`, opened half an hour ago: its grace is over."""
    made = Incident(
        incident_id=incident_key(CLUSTER, iid(number), CauseClass.HARDWARE, 1),
        cluster=CLUSTER,
        instance_id=iid(number),
        cause=CauseClass.HARDWARE,
        occurrence=1,
        opened_at=ago(1800),
        last_event_at=ago(1800),
        group="workers",
        logical_id=f"n-{number}",
        slurm_name=f"ip-10-1-2-{number}",
        code="NvidiaErrorTerminate",
        trusted=True,
    )
    return replace(made, **changes)


def facts(**changes: Any) -> Facts:
    """Facts about worker 1's incident on which the line acts."""
    made = Facts(
        incident=incident(),
        cluster=cluster(),
        history=History.of(()),
        breaker=BreakerState(),
        policy=policy(),
        now=NOW,
    )
    return replace(made, **changes)
