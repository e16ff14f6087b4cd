"""Keeps which function called which port, for the comparison with what its role is granted (tests/last)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Protocol

from simulator.client import IAM_RECORDS


class Running(Protocol):
    """Whoever knows which function runs now."""

    function: str


class Noted:
    """A port whose calls are noted and otherwise left alone."""

    def __init__(self, running: Running, name: str, port: Any) -> None:
        self._running, self._name, self._port = running, name, port

    def __getattr__(self, member: str) -> Any:
        note(self._running.function, f"{self._name}.{member}", ())
        return getattr(self._port, member)


_seen: set[tuple[str, str]] = set()


def note(function: str, call: str, args: tuple[object, ...]) -> None:
    """`function` called `call` ('incidents.get'). A call on a state machine is another one for each machine.
    Calls that no function makes are a test's own."""
    folder = os.environ.get(IAM_RECORDS)
    name = f"{call}:{args[0]}" if call.startswith("workflows.") else call
    if not folder or not function or (function, name) in _seen:
        return
    _seen.add((function, name))
    Path(folder).mkdir(parents=True, exist_ok=True)
    with (Path(folder) / f"steps-{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps({"kind": "called", "function": function, "call": name}) + "\n")
