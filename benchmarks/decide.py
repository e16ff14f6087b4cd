"""How fast the line decides: `python -m benchmarks.decide`. One core, no I/O; prints a table, then one JSON line.

10,000 incidents of every cause on a cluster of 130 nodes, each decided upon with a day's ledger and breaker memory.
Three ways to ask the ledger give the same decisions (that is checked): `searched` takes it as it comes for every
decision, as one Lambda call does, and is the figure that counts; `indexed` makes an index for every decision; `shared`
makes one for all, as a report does. Times are of the processor, so that neighbours do not count; wall time is told too.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache

from roundhouse.contracts.ledger import LedgerEntry, LedgerState
from roundhouse.line.breaker import BreakerEntry, BreakerState, BreakerStatus
from roundhouse.line.decision import Decision, Facts, decide
from roundhouse.line.event import CauseClass, Source
from roundhouse.line.incident import Attempt, Evidence, Incident, incident_key
from roundhouse.line.ladder import History, Rung
from roundhouse.line.policy import BreakerLimits, Budget, Mode, Policy, Rule
from roundhouse.line.state import Cluster, ClusterEvent, Group, Node, NodeStatus, Pause, SlurmNode, SlurmSnapshot

SEED = 7
INCIDENTS = 10_000
WORKERS = 128
LEDGER = 400
BREAKER = 80
EVENTS = 60
NOW = datetime(2026, 6, 9, 12, 0, tzinfo=UTC)


def main(incidents: int = INCIDENTS) -> int:
    """Measure and print. Returns 1 when the three ways do not decide alike."""
    chance = random.Random(SEED)
    ledger = make_ledger(chance)
    facts = [make_facts(chance, number) for number in range(incidents)]
    shared = History.indexed(ledger)
    ways: dict[str, Callable[[Facts], Decision]] = {
        "searched": lambda f: decide(replace(f, history=History.of(ledger))),
        "indexed": lambda f: decide(replace(f, history=History.indexed(ledger))),
        "shared": lambda f: decide(replace(f, history=shared)),
    }
    results, decisions = {}, {}
    for name, way in ways.items():
        decisions[name], results[name] = measure(way, facts)
    if not decisions["searched"] == decisions["indexed"] == decisions["shared"]:
        print("the ways of asking the ledger do not decide alike", file=sys.stderr)
        return 1
    verdicts = Counter(decision.verdict.value for decision in decisions["searched"])
    print(f"{incidents} incidents, {WORKERS + 2} nodes, {LEDGER} ledger and {BREAKER} breaker entries, one core")
    print(f"{'ledger':10} {'decisions/s':>12} {'median ms':>9} {'p99 ms':>9} {'worst ms':>9} {'wall p99':>9}")
    for name, row in results.items():
        times = " ".join(f"{row[key]:9.3f}" for key in ("p50_ms", "p99_ms", "max_ms", "wall_p99_ms"))
        print(f"{name:10} {row['per_s']:12.0f} {times}")
    print("verdicts: " + ", ".join(f"{verdict} {count}" for verdict, count in verdicts.most_common()))
    print(
        json.dumps(
            {
                "benchmark": "decide",
                "incidents": incidents,
                "decisions_per_s": round(results["searched"]["per_s"]),
                "p50_ms": round(results["searched"]["p50_ms"], 4),
                "p99_ms": round(results["searched"]["p99_ms"], 4),
                "wall_decisions_per_s": round(results["searched"]["wall_per_s"]),
                "wall_p99_ms": round(results["searched"]["wall_p99_ms"], 4),
                "shared_decisions_per_s": round(results["shared"]["per_s"]),
                "indexed_decisions_per_s": round(results["indexed"]["per_s"]),
                "verdicts": dict(verdicts),
            }
        )
    )
    return 0


def measure(way: Callable[[Facts], Decision], facts: Sequence[Facts]) -> tuple[list[Decision], dict[str, float]]:
    """Decide upon all, timing each; the first hundred are decided before, to warm up."""
    for one in facts[:100]:
        way(one)
    took, waited, made = [], [], []
    for one in facts:
        wall, start = time.perf_counter_ns(), time.thread_time_ns()
        made.append(way(one))
        took.append((time.thread_time_ns() - start) / 1e6)
        waited.append((time.perf_counter_ns() - wall) / 1e6)
    row = {"per_s": 1000 * len(took) / sum(took), "wall_per_s": 1000 * len(waited) / sum(waited)}
    took.sort()
    waited.sort()
    row |= {"p50_ms": took[len(took) // 2], "p99_ms": took[len(took) * 99 // 100], "max_ms": took[-1]}
    return made, row | {"wall_p99_ms": waited[len(waited) * 99 // 100]}


def instance(number: int) -> str:
    return f"i-{number:017x}"


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def make_ledger(chance: random.Random) -> tuple[LedgerEntry, ...]:
    """A day and a half of actions, in no order; most of them on other nodes than the one decided upon."""
    entries = []
    for n in range(LEDGER):
        number, at = chance.randrange(WORKERS * 4), ago(chance.uniform(60, 130_000))
        kind = chance.choice(["reboot", "reboot", "replace", "delete_restore", "add_nodes"])
        state = chance.choices([*LedgerState], [1, 2, 80, 10, 1])[0]
        name = f"inc-{n:016x}-1"
        entries.append(
            LedgerEntry(
                f"{name}/{kind}/{n}/1",
                "train",
                kind,
                instance(number),
                name,
                state,
                at,
                at,
                "workers",
                f"n-{number % WORKERS}",
            )
        )
    return tuple(entries)


def make_facts(chance: random.Random, number: int) -> Facts:
    """One incident and the state of things around it: mostly ordinary, with every kind of trouble mixed in."""
    which = chance.randrange(WORKERS)
    cause = chance.choice([*CauseClass])
    opened = ago(chance.choice([120, 900, 1800, 4000, 9000]))
    evidence = tuple(
        Evidence(f"e-{number}-{n}", Source.NODE_HEALTH.value, "xid-79", "unhealthy", opened, "x" * 120)
        for n in range(8)
    )
    attempts = tuple(
        Attempt(rung, instance(which), ago(800), "failed")
        for rung in (Rung.REBOOT, Rung.REPLACE)[: chance.choice([0, 0, 0, 1, 2])]
    )
    incident = Incident(
        incident_key("train", instance(which), cause, number),
        "train",
        instance(which),
        cause,
        number,
        opened,
        opened,
        group="workers",
        logical_id=f"n-{which}",
        slurm_name=f"ip-10-1-2-{which}",
        code="xid-79",
        health=chance.choices(["unhealthy", "healthy"], [9, 1])[0],
        trusted=chance.random() < 0.7,
        repair_begun=chance.random() < 0.1,
        evidence=evidence,
        attempts=attempts,
    )
    return Facts(
        incident=incident,
        cluster=make_cluster(chance, which) if chance.random() > 0.02 else None,
        history=History.of(()),
        breaker=make_breaker(chance),
        policy=make_policy(chance),
        now=NOW,
        pause=Pause("U0AAA", "maintenance", ago(60)) if chance.random() < 0.02 else None,
        events=make_events(chance),
    )


def make_cluster(chance: random.Random, which: int) -> Cluster:
    status = chance.choices([NodeStatus.RUNNING, NodeStatus.FAILURE, NodeStatus.PENDING], [5, 4, 1])[0]
    return cluster_of(which, status, chance.choices(["InService", "SystemUpdating"], [19, 1])[0])


@cache
def cluster_of(which: int, status: NodeStatus, cluster_status: str) -> Cluster:
    """A cluster whose worker `which` has `status` and whose others run."""
    nodes = [
        Node(instance(n), f"n-{n}", "workers", status if n == which else NodeStatus.RUNNING, hostname=f"ip-10-1-2-{n}")
        for n in range(WORKERS)
    ]
    nodes += [
        Node(instance(9000 + n), f"c-{n}", role, NodeStatus.RUNNING) for n, role in enumerate(("controller", "login"))
    ]
    slurm = {n.hostname: SlurmNode(n.hostname, "ALLOCATED", jobs=(42,)) for n in nodes if n.hostname}
    return Cluster(
        "train",
        "arn:aws:sagemaker:us-west-2:111122223333:cluster/a1b2c3d4e5f6",
        cluster_status,
        "None",
        {
            "workers": Group("workers", "ml.p5.48xlarge", WORKERS, WORKERS),
            "controller": Group("controller", "ml.m5.2xlarge", 1, 1, "Controller"),
            "login": Group("login", "ml.m5.2xlarge", 1, 1, "Login"),
        },
        tuple(nodes),
        NOW,
        SlurmSnapshot(1, NOW, slurm),
    )


def make_breaker(chance: random.Random) -> BreakerState:
    kinds = ["reboot", "replace", "drain", "theirs", "signal", "signal"]
    entries = tuple(
        BreakerEntry(
            ago(chance.uniform(700, 86_000)),
            chance.choice(kinds),
            instance(chance.randrange(40)),
            "workers",
            "hardware",
        )
        for _ in range(BREAKER)
    )
    status = chance.choices([BreakerStatus.CLOSED, BreakerStatus.OPEN], [9, 1])[0]
    return BreakerState(status, ago(600), "measured", entries=entries)


def make_policy(chance: random.Random) -> Policy:
    mode = chance.choices([Mode.OBSERVE, Mode.ASK, Mode.ACT], [1, 4, 5])[0]
    rule = Rule(mode, (Rung.REBOOT, Rung.REPLACE, Rung.DELETE_RESTORE, Rung.HUMAN))
    return Policy(
        "bench",
        "train",
        rules=dict.fromkeys(CauseClass, rule),
        budgets={rung: Budget(500, 1800) for rung in Rung},
        breaker=BreakerLimits(short_max=40, group_short_max=40, short_percent=50, day_max=60, day_percent=50),
        protected_nodes=("n-1", "n-2"),
        capacity_floor={"workers": WORKERS - 8},
    )


def make_events(chance: random.Random) -> tuple[ClusterEvent, ...]:
    text = "Instance {} is starting as part of instance replacement in Cluster train and IG workers"
    numbers = [chance.randrange(WORKERS) for _ in range(EVENTS)]
    return tuple(
        ClusterEvent(
            f"ev-{n}", ago(n * 30), "Info", "Instance", text.format(instance(i)), "workers", instance(i), f"n-{i}"
        )
        for n, i in enumerate(numbers)
    )


if __name__ == "__main__":
    sys.exit(main())
