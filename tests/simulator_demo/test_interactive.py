"""`roundhouse demo --interactive`: a person answers in the Slack page, and the play waits for it."""

from __future__ import annotations

import io
import json
import threading
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode

import pytest
from rich.console import Console

from simulator.demo import play as demo
from simulator.demo.stage import ALICE
from tests.simulator_demo.scenarios import needs_simulator

pytestmark = pytest.mark.slow

CHANNEL = "C0GPUOPS01"


class Person(threading.Thread):
    """Watches the channel in the page as `user`, and clicks the first button that is a choice of `choice`.

    Speaks to the page's own addresses, as its script does: nothing of the play is touched.
    """

    def __init__(self, workdir: Path, choice: str, user: str) -> None:
        super().__init__(daemon=True, name="person")
        self._ready = workdir / "slack-ready.json"
        self._choice, self._user = choice, user
        self._open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
        self.gone = threading.Event()
        self.clicked: list[str] = []
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            while not self.gone.wait(0.3):
                if self._ready.exists():
                    self._look(json.loads(self._ready.read_text())["url"])
        except URLError:
            return  # the play is over, and the channel closed
        except Exception as failure:  # the test shows it
            self.failure = failure

    def _look(self, url: str) -> None:
        query = urlencode({"user": self._user, "channel": CHANNEL})
        with self._open(f"{url}/page/state?{query}", timeout=10) as answer:
            state = json.load(answer)
        for message in state["messages"]:
            for block in message.get("blocks") or []:
                for element in block.get("elements", []) if block["type"] == "actions" else []:
                    if f'"{self._choice}"' in element.get("value", "") and message["ts"] not in self.clicked:
                        time.sleep(1)  # people read first
                        self._click(url, message["ts"], element["action_id"])
                        return

    def _click(self, url: str, ts: str, action_id: str) -> None:
        body = json.dumps({"message_ts": ts, "action_id": action_id, "user": self._user}).encode()
        request = urllib.request.Request(f"{url}/_control/click", body, {"Content-Type": "application/json"})
        self.clicked.append(ts)
        with self._open(request, timeout=30) as answer:
            assert answer.status == 200


def test_the_play_waits_for_a_person_and_ends_well(tmp_path: Path) -> None:
    needs_simulator()
    workdir, printed = tmp_path / "work", io.StringIO()
    person = Person(workdir, "approve", ALICE)
    person.start()
    try:
        code = demo.play(
            interactive=True,
            report=str(tmp_path / "report.html"),
            scale=200,
            keep=False,
            acts=("repair",),
            assembly={},
            console=Console(file=printed, width=200),
            workdir=workdir,
            quick=True,
        )
    finally:
        person.gone.set()
        person.join(30)
    assert person.failure is None
    assert code == 0, printed.getvalue()
    assert len(person.clicked) == 1
    assert "your turn: http://127.0.0.1:" in printed.getvalue()
    checks: list[Mapping[str, Any]] = json.loads((workdir / "checks.json").read_text())
    assert {"repair", "always"} <= {str(check["act"]) for check in checks}
    assert (tmp_path / "report.html").stat().st_size > 0
