"""In-memory Workflows: executions by name, task tokens that can be answered once."""

from __future__ import annotations

from roundhouse.contracts.executions import ExecutionState


class FakeWorkflows:
    def __init__(self, *waiting: str) -> None:
        self.waiting = set(waiting)
        self.answers: list[tuple[str, dict[str, object]]] = []
        self.started: dict[str, tuple[str, dict[str, object]]] = {}
        self.ended: dict[str, ExecutionState] = {}

    def start(self, state_machine: str, name: str, payload: dict[str, object]) -> bool:
        if name in self.started:
            return False
        self.started[name] = (state_machine, payload)
        return True

    def status(self, state_machine: str, name: str) -> ExecutionState | None:
        return self.ended.get(name, ExecutionState.RUNNING) if name in self.started else None

    def succeed(self, token: str, output: dict[str, object]) -> bool:
        if token not in self.waiting:
            return False
        self.waiting.remove(token)
        self.answers.append((token, output))
        return True
