"""Stands in for Slurm and its controller agent: keeps node states, obeys the agent queue, reports snapshots.

Runs as a thread beside the demo, in the product's environment. It pulls commands from the agent queue as the real
agent will, refuses what the contract says must be refused, and puts `roundhouse.slurm` events on the deployment's bus.
Jobs are numbers that end some virtual time after their node was drained.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from roundhouse.contracts import names
from roundhouse.contracts.commands import Command, Verb, owner
from roundhouse.errors import MalformedEvent
from simulator.client import EmbeddedAws

BEAT_S = 0.4  # real seconds between two looks
VERSION = 1


@dataclass
class SlurmNode:
    """One node as slurmctld would know it. `reason` belongs to whoever drained it."""

    instance_id: str
    down: bool = False
    drained: bool = False
    reason: str = ""
    jobs: dict[int, datetime | None] = field(default_factory=dict)  # job id -> when it ends; None: not soon

    @property
    def state(self) -> str:
        base = "DOWN" if self.down else "ALLOCATED" if self.jobs else "IDLE"
        return f"{base}+DRAIN" if self.drained else base


class SlurmStandIn(threading.Thread):
    """`start()` it; `stop()` ends it. `job`, `set_down` and `nodes` are for demos and tests."""

    def __init__(self, aws: EmbeddedAws, environment: str, cluster: str, report_every_s: float = 240.0) -> None:
        super().__init__(daemon=True, name=f"slurm-{cluster}")
        self._aws = aws
        self._names = names.Names(environment)
        self._cluster = cluster
        self._report_every = timedelta(seconds=report_every_s)
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._sequence = 0
        self._ends: dict[tuple[str, int], timedelta] = {}  # (node, job) -> how long after the drain it ends
        self._reported: tuple[datetime, str] | None = None
        self._queue = aws.client("sqs").get_queue_url(QueueName=self._names.queue(names.AGENT_QUEUE))["QueueUrl"]
        self.nodes: dict[str, SlurmNode] = {}
        self.commands: list[tuple[Command, str]] = []
        """Every command received, and what became of it."""
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._done.wait(BEAT_S):
                with self._lock:
                    self._register()
                    self._obey()
                    self._end_jobs()
                    self._report()
        except Exception as failure:  # shown by the demo's checks: a silent agent is an unknown cluster
            if not self._done.is_set():
                self.failure = failure

    def stop(self) -> None:
        """End the thread."""
        self._done.set()
        self.join(5)

    @property
    def reports(self) -> int:
        """How many snapshots were sent."""
        return self._sequence

    def job(self, name: str, job_id: int, minutes_after_drain: float | None) -> None:
        """Run a job on a node; it ends that long after the node is drained (None: it does not)."""
        with self._lock:
            node = self.nodes[name]
            node.jobs[job_id] = None
            if minutes_after_drain is not None:
                self._ends[(name, job_id)] = timedelta(minutes=minutes_after_drain)

    def _register(self) -> None:
        """Nodes come and go with their instances; what Slurm remembers of a name survives its instance."""
        truth = self._aws.control("nodes", cluster=self._cluster)
        if not truth["clusters"]:
            self.nodes.clear()  # the controller is gone with its cluster: nobody is left to report
        for node in truth["nodes"]:
            name, running = _short(node["hostname"]), node["status"] == "Running"
            if not name or (not running and name not in self.nodes):
                continue
            known = self.nodes.setdefault(name, SlurmNode(node["instance_id"] or ""))
            if node["instance_id"] and known.instance_id != node["instance_id"]:
                known.instance_id, known.jobs = node["instance_id"], {}
            known.down = not running or _cut_off(node["fault"])

    def _obey(self) -> None:
        sqs = self._aws.client("sqs")
        received = sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10, WaitTimeSeconds=0)
        for message in received.get("Messages", []):
            try:
                command = Command.from_json(message["Body"])
                self.commands.append((command, self._do(command)))
            except MalformedEvent:
                continue  # left to the dead-letter queue
            sqs.delete_message(QueueUrl=self._queue, ReceiptHandle=message["ReceiptHandle"])

    def _do(self, command: Command) -> str:
        node = self.nodes.get(command.slurm_name or "")
        if node is None or command.cluster != self._cluster:
            return "refused: no such node here"
        if node.instance_id != command.instance_id:
            return f"refused: {node.instance_id} stands behind {command.slurm_name} now"
        ours = owner(node.reason) is not None and owner(node.reason) == owner(command.reason)
        match command.verb:
            case Verb.CORDON:
                if node.drained and not ours:
                    return f"refused: somebody drained it ({node.reason})"
                node.drained, node.reason = True, command.reason
                for job_id in node.jobs:
                    ends = self._ends.get((command.slurm_name or "", job_id))
                    if ends is not None:
                        node.jobs[job_id] = self._aws.now() + ends
                return "drained"
            case Verb.RESUME:
                if not node.drained or not ours:
                    return "refused: not our drain"
                node.drained, node.reason = False, ""
                return "resumed"

    def _end_jobs(self) -> None:
        now = self._aws.now()
        for node in self.nodes.values():
            node.jobs = {job: ends for job, ends in node.jobs.items() if ends is None or ends > now}

    def _report(self) -> None:
        """A snapshot when something changed, and now and then all the same: silence means that the agent is dead."""
        if not self.nodes:
            return
        now = self._aws.now()
        nodes = [self._row(name, node) for name, node in sorted(self.nodes.items())]
        text = json.dumps(nodes)
        if self._reported and self._reported[1] == text and now - self._reported[0] < self._report_every:
            return
        self._sequence += 1
        detail: dict[str, Any] = {
            "version": VERSION,
            "cluster": self._cluster,
            "sequence": self._sequence,
            "taken_at": now.isoformat(),
            "nodes": nodes,
        }
        self._aws.client("events").put_events(
            Entries=[
                {
                    "EventBusName": self._names.of("signals"),
                    "Source": names.SLURM_SOURCE,
                    "DetailType": names.SLURM_NODES,
                    "Detail": json.dumps(detail),
                }
            ]
        )
        self._reported = (now, text)

    def _row(self, name: str, node: SlurmNode) -> dict[str, Any]:
        return {
            "name": name,
            "state": node.state,
            "reason": node.reason,
            "jobs": sorted(node.jobs),
            "instance_id": node.instance_id,
        }


def _cut_off(fault: dict[str, Any] | None) -> bool:
    """True for faults that keep slurmctld from hearing the node; a GPU error does not."""
    return fault is not None and any(word in str(fault["fault"]) for word in ("Efa", "Network", "Unreachable"))


def _short(hostname: str | None) -> str:
    return (hostname or "").split(".")[0]
