"""Histories on the interpreter of the embedded AWS, in the place of tests/steps/asl.py: same house, same time."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from simulator.client import PYTHON
from tests.histories.house import House
from tests.steps import asl
from tests.steps.asl import FOLDER, Call, Died, Execution, Until

REPOSITORY = Path(__file__).resolve().parents[2]
Json = dict[str, Any]


class Engine:
    """The process in which the interpreter runs."""

    def __init__(self) -> None:
        command = [str(PYTHON), "-m", "tests.histories.engine"]
        self._process = subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.heard()["kind"] == "ready"

    def say(self, line: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def heard(self) -> Json:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the interpreter ended with {self._process.poll()}"
        said: Json = json.loads(line)
        return said

    def close(self) -> None:
        with self._process:  # closes both ends, and waits
            pass

    def run(self, execution: Execution, machine: str, call: Call, now: Callable[[], datetime]) -> Generator[Until, Any]:
        """As `asl.run`, on the interpreter."""
        start = {"machine": execution.machine, "definition": machine, "input": execution.given}
        said: Json = {"name": execution.name, "at": now().isoformat(), **start}
        while True:
            self.say(said)
            asked = self.heard()
            assert asked["name"] == execution.name, (asked, execution.name)
            said = {"name": execution.name}
            match asked["kind"]:
                case "call":
                    said |= self._called(call, asked["arguments"])
                    if execution.status != "RUNNING":  # stopped while a task was at work, which it does not hinder
                        return
                case "wait":
                    yield Until(now() + timedelta(seconds=asked["seconds"]))
                case "token":
                    answer = yield Until(now() + timedelta(seconds=asked["seconds"]), asked["token"])
                    said |= {} if answer is None else {"output": answer}
                case "end":
                    execution.status, execution.visited = asked["status"], asked["visited"]
                    return
                case other:
                    raise AssertionError(f"the interpreter asks for {other!r}")

    @staticmethod
    def _called(call: Call, arguments: Json) -> Json:
        try:
            return {"result": json.loads(json.dumps(call("lambda:invoke", arguments)["Payload"]))}
        except AssertionError:
            raise
        except Died as death:
            return {"died": str(death)}
        except Exception as error:
            said = {"errorMessage": str(error), "errorType": type(error).__name__, "stackTrace": []}
            return {"result": said, "failed": True}


@contextmanager
def in_its_place(engine: Engine) -> Iterator[None]:
    """Every house in here runs its machines on the interpreter."""
    own, of_files = asl.run, asl.definition

    def run(execution: Execution, machine: Any, call: Call, now: Callable[[], datetime]) -> Generator[Until, Any]:
        return engine.run(execution, _text(execution.machine), call, now)

    asl.run = run
    try:
        yield
    finally:
        asl.run, asl.definition = own, of_files
        engine.say({"forget": True})


def _text(machine: str) -> str:
    """The file as it is deployed, with the names of the functions filled in."""
    return re.sub(r"\$\{(\w+)\}", lambda found: found[1], (FOLDER / f"{machine}.asl.json").read_text())


def end_of(house: House) -> Json:
    """All that a history left behind, times included."""
    return {
        "executions": {e.name: (e.status, _visited(e)) for e in house.executions.values()},
        "incidents": {
            i.incident_id: (i.outcome, i.opened_at, i.closed_at, i.attempts, i.steps, i.decision)
            for i in house.incidents.records.values()
        },
        "ledger": {e.action_id: (e.state, e.claimed_at, e.updated_at) for e in house.ledger.records.values()},
        "approvals": {a.approval_id: (a.status, a.choice, a.decided_at) for a in house.approvals.records.values()},
        "taken": house.cluster.taken,
        "notices": [n.notice_id for n in house.outbox.notices],
        "commands": [c.command_id for c in house.agent.commands],
        "calls": house.gate.count,
    }


def _visited(execution: Execution) -> list[str]:
    """The states of one that ended; the interpreter tells those of a stopped one to nobody."""
    return [] if execution.status == "STOPPED" else execution.visited
