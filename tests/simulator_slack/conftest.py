"""A running stand-in per module, a Web API client for it, and an app's endpoint that records what it receives."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from slack_sdk import WebClient

from simulator.slack.client import SlackStandIn

CHANNEL = "C0GPUOPS01"
ALICE, BOB, EVE = "U0OPSALICE", "U0OPSBOB", "U0GUESTEVE"


@dataclass
class Received:
    """One request at the app."""

    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """The app's endpoint. `statuses` is consumed per request (then 200); `delay` in seconds before the answer."""

    url: str = ""
    requests: list[Received] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    answer: Any = b""  # bytes, or a function of the body

    def first(self, within: float = 3.0) -> Received:
        """The first request, waited for, since a browser's click is on its way for a moment."""
        deadline = time.monotonic() + within
        while not self.requests and time.monotonic() < deadline:
            time.sleep(0.01)
        assert self.requests, "the app has received nothing"
        return self.requests[0]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    app = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            app.requests.append(Received(dict(self.headers), body))
            time.sleep(app.delay)
            answer = app.answer(body) if callable(app.answer) else app.answer
            try:
                self.send_response(app.statuses.pop(0) if app.statuses else 200)
                for name, value in app.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
            except OSError:
                pass  # the stand-in has lost its patience

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    app.url = f"http://127.0.0.1:{server.server_port}/slack/actions"
    yield app
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlackStandIn]:
    folder: Path = tmp_path_factory.mktemp("slack")
    with SlackStandIn.start(folder, patience_seconds=0.4) as standin:
        yield standin


@pytest.fixture
def slack(running: SlackStandIn) -> SlackStandIn:
    running.clear_faults()
    running.enforce_pace(False)
    running.set_interactivity_url("")
    running.set_events_url("")
    return running


@pytest.fixture
def web(slack: SlackStandIn) -> WebClient:
    # No retry handlers: the SDK's own would hide the dropped connections that the tests are about.
    return WebClient(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[], timeout=5)


def mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text}


def plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def button(action_id: str = "approve", **more: Any) -> dict[str, Any]:
    return {"type": "button", "text": plain(action_id.capitalize()), "action_id": action_id, **more}


def actions(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "actions", "elements": list(elements)}


APPROVAL = [
    {"type": "section", "text": mrkdwn("Replace `i-0d1c2b3a4f5e6a7b8`?")},
    actions(button("approve", value="apr_7f3c", style="primary"), button("deny", value="apr_7f3c", style="danger")),
]
