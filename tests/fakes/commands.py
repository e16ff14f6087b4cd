"""Queues in memory: what was sent, in order."""

from __future__ import annotations

from roundhouse.contracts.commands import Command


class FakeIntakeQueue:
    """`ports.IntakeQueue`."""

    def __init__(self) -> None:
        self.bodies: list[str] = []

    def put(self, body: str) -> None:
        self.bodies.append(body)


class FakeAgentQueue:
    """`ports.AgentQueue`."""

    def __init__(self) -> None:
        self.commands: list[Command] = []

    def send(self, command: Command) -> None:
        self.commands.append(command)
