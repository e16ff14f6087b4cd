"""Slurm as it is, and the agent on the controller: it obeys commands as the contract says, and reports."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from roundhouse.contracts.commands import Command, Verb, owner
from roundhouse.line.slurm import set_by_people
from roundhouse.line.state import Node, NodeStatus

if TYPE_CHECKING:
    from tests.histories.house import House

EVERY_S = 120


@dataclass
class Entry:
    """What Slurm keeps by host name; it outlives the instance."""

    reason: str = ""
    drained: bool = False
    jobs: tuple[int, ...] = ()
    silent: bool = False  # slurmd does not answer
    failing: str = ""  # auto-resume's reason


class Slurm:
    """The nodes by name, and the agent, if there is one."""

    def __init__(self, house: House, agent: bool) -> None:
        self.house, self.agent = house, agent
        self.entries: dict[str, Entry] = {}
        self.sequence = 0
        self.silent_until: datetime | None = None
        self._obeyed = 0
        self._on = False

    def of(self, node: Node) -> Entry:
        return self.entries.setdefault((node.hostname or "").split(".")[0], Entry())

    def drain(self, node: Node, reason: str) -> None:
        entry = self.of(node)
        entry.drained, entry.reason = True, reason

    def wake(self) -> None:
        """Something happened: its reports matter again."""
        if self.agent and not self._on:
            self._on = True
            self.house.later(5, self.report)

    def report(self) -> None:
        """Obey what is queued, tell how all nodes are, and again in a while, as long as somebody may need it."""
        self.speak()
        self._on = self.house.busy()
        if self._on:
            self.house.later(EVERY_S, self.report)

    def speak(self) -> None:
        """One report, unless it has lost its tongue."""
        if self.agent and (self.silent_until is None or self.house.now >= self.silent_until):
            self.obey()
            self.sequence += 1
            nodes = [self._said(n) for n in self.house.cluster.nodes if n.group == "workers" and n.instance_id]
            self.house.bus.snapshot(self.sequence, nodes)

    def obey(self) -> None:
        commands = self.house.agent.commands
        for command in commands[self._obeyed :]:
            self._obey(command)
        self._obeyed = len(commands)

    def _obey(self, command: Command) -> None:
        node = self.house.cluster.by_id(command.instance_id)
        if node is None:
            return  # another instance has taken over the name: refused
        entry = self.of(node)
        match command.verb:
            case Verb.CORDON if not (entry.drained and entry.reason):
                entry.drained, entry.reason = True, command.reason
            case Verb.RESUME if owner(entry.reason) == command.command_id.split("/")[0]:
                entry.drained, entry.reason, entry.silent = False, "", False
            case _:
                return

    def foreign(self, node: Node) -> bool:
        entry = self.of(node)
        return entry.drained and set_by_people(entry.reason)

    def _said(self, node: Node) -> dict[str, Any]:
        entry = self.of(node)
        away = node.status in {NodeStatus.PENDING, NodeStatus.SHUTTING_DOWN} or entry.silent
        base = "DOWN*" if away else "MIXED" if entry.jobs else "IDLE"
        if entry.failing and not away:
            base = "FAILING" if entry.jobs else "FAIL"
        state = f"{base}+DRAIN" if entry.drained else base
        return {
            "name": (node.hostname or "").split(".")[0],
            "state": state,
            "reason": entry.failing or entry.reason or ("Not responding" if away else ""),
            "jobs": [] if away else list(entry.jobs),
            "instance_id": node.instance_id,
        }
