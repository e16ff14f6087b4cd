"""What Slack answers, and what we make of it: over real HTTP, with a server that answers whatever it is told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.errors import SlackRateLimited, SlackRejected, SlackUnavailable
from roundhouse.slack.failures import retry_after
from roundhouse.slack.messenger import SlackMessenger

CASES = Path(__file__).parents[1] / "data" / "cases"
NOW = datetime(2026, 5, 2, 10, 11, 30, tzinfo=UTC)
NOTICE = Notice("n-1", "incident:inc-1", NoticeKind.INCIDENT_STEP, "Cordoned", "It drains.")


class Server(ThreadingHTTPServer):
    """Answers each request with the next of `answers`, the last one again and again; keeps paths."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/api/"


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.requests.append((self.path, body))
        answers = self.server.answers
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer.get("drop"):
            self.close_connection = True
            self.connection.close()
            return
        time.sleep(answer.get("sleep", 0))
        raw = answer.get("raw", json.dumps(answer.get("body", {"ok": True, "ts": "1.1"})).encode())
        try:
            self.send_response(answer.get("status", 200))
            for name, value in answer.get("headers", {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw) + answer.get("short", 0)))
            self.end_headers()
            self.wfile.write(raw)
        except OSError:
            pass  # the caller has given up

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


def messenger(server: Server, **more: Any) -> SlackMessenger:
    return SlackMessenger("xoxb-placeholder", server.url, now=lambda: NOW, timeout_s=1, **more)


def test_recorded_answers(server: Server) -> None:
    expected = json.loads((CASES / "506" / "expected.json").read_text())
    for case in json.loads((CASES / "506" / "responses.json").read_text()):
        server.answers = [{"drop": True}] if "error" in case else [case]
        wanted = expected[case["id"]]
        before = len(server.requests)
        if wanted == "no_blind_retry":
            with pytest.raises(SlackUnavailable):
                messenger(server).post("C1", NOTICE, None)
        else:
            with pytest.raises(SlackRateLimited) as caught:
                messenger(server).post("C1", NOTICE, None)
            assert caught.value.retry_after == (None if wanted == "backoff" else wanted), case["id"]
        assert len(server.requests) == before + 1  # whatever happened, it was sent once


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"status": 500, "raw": b"oops"}, SlackUnavailable),
        ({"status": 500, "body": {"ok": False, "error": "internal_error"}}, SlackUnavailable),
        ({"status": 503, "raw": b""}, SlackUnavailable),
        ({"status": 502, "raw": b"\xff\xfe"}, SlackUnavailable),
        ({"status": 404, "raw": b"<html>"}, SlackUnavailable),
        ({"status": 200, "raw": b"<html>maintenance</html>"}, SlackUnavailable),
        ({"status": 200, "raw": b""}, SlackUnavailable),
        ({"status": 200, "raw": b"[]"}, SlackUnavailable),
        ({"status": 200, "raw": b"[1]"}, SlackUnavailable),
        ({"status": 200, "raw": b"\xff"}, SlackUnavailable),
        ({"status": 200, "short": 50}, SlackUnavailable),  # the answer is cut off
        ({"status": 200, "sleep": 1.2}, SlackUnavailable),
        ({"drop": True}, SlackUnavailable),
        ({"body": {"ok": False, "error": "fatal_error"}}, SlackUnavailable),
        ({"body": {"ok": False, "error": "service_unavailable"}}, SlackUnavailable),
        ({"body": {"ok": False}}, SlackUnavailable),
        ({"body": {"ok": True}}, SlackUnavailable),  # posted, but where?
        ({"body": {"ok": False, "error": "rate_limited"}}, SlackRateLimited),
        ({"body": {"ok": False, "error": "channel_not_found"}}, SlackRejected),
        ({"body": {"ok": False, "error": "invalid_auth"}}, SlackRejected),
        ({"status": 403, "body": {"ok": False, "error": "missing_scope"}}, SlackRejected),
    ],
)
def test_each_answer_is_one_of_ours(server: Server, answer: dict[str, Any], wanted: type[Exception]) -> None:
    server.answers = [answer]
    with pytest.raises(wanted) as caught:
        messenger(server).post("C1", NOTICE, None)
    assert "xoxb" not in str(caught.value)
    assert len(server.requests) == 1


def test_nobody_listens() -> None:
    gone = Server()
    url = gone.url
    gone.server_close()
    with pytest.raises(SlackUnavailable):
        SlackMessenger("xoxb-placeholder", url, timeout_s=1).post("C1", NOTICE, None)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("30", 30.0),
        ("0", 0.0),
        (" 1.5 ", 1.5),
        ("Sat, 02 May 2026 10:12:00 GMT", 30.0),
        ("Sat, 02 May 2026 10:12:00 -0000", 30.0),
        ("Sat, 02 May 2026 10:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("Sat, 99 May 2026", None),
    ],
)
def test_retry_after(value: str, wanted: float | None) -> None:
    assert retry_after({"rEtRy-AfTeR": value}, NOW) == wanted


def test_refused_blocks_are_drawn_plainly_once(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    refusal = {"body": {"ok": False, "error": "invalid_blocks", "response_metadata": {"messages": ["why [/blocks/0]"]}}}
    server.answers = [refusal, {}]
    assert messenger(server).post("C1", NOTICE, None) == "1.1"
    assert "why [/blocks/0]" in caplog.text
    server.answers, server.requests = [refusal], []
    with pytest.raises(SlackRejected, match="invalid_blocks"):
        messenger(server).post("C1", NOTICE, None)
    assert len(server.requests) == 2


def test_whisper_reaches_slack_alone(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.answers = [{"raw": b"ok"}]
    courteous = messenger(server)
    own = server.url.removesuffix("api/") + "actions/T1/1/x"
    courteous.whisper(own, "already decided by U0AAAAAAA <!here>")
    path, body = server.requests.pop()
    assert path == "/actions/T1/1/x"
    assert json.loads(body) == {
        "text": "already decided by <@U0AAAAAAA> &lt;!here&gt;",
        "response_type": "ephemeral",
        "replace_original": False,
    }
    port = server.server_address[1]
    for elsewhere in (
        f"http://localhost:{port}/actions/T1",
        f"https://127.0.0.1:{port}/actions/T1",
        f"http://hooks.slack.com@127.0.0.1:{port}/x",
        f"http://127.0.0.1:{port}@169.254.169.254/latest",
        f"http://127.0.0.1:{port}\\@169.254.169.254/latest",
        "http://hooks.slack.com/actions/T1",
        "https://hooks.slack.com.example.com/x",
        "http://169.254.169.254/latest/meta-data",
        "file:///etc/passwd",
        "http://[::1",
        "",
    ):
        courteous.whisper(elsewhere, "hello")
    assert server.requests == []
    assert "does not lead to Slack" in caplog.text


@pytest.mark.parametrize("answer", [{"drop": True}, {"status": 500}, {"status": 404, "raw": b"expired_url"}])
def test_whisper_never_raises(server: Server, answer: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    server.answers = [answer]
    messenger(server).whisper(server.url, "hello")
    assert "the person was not told" in caplog.text


def test_whisper_is_back_in_time(server: Server) -> None:
    server.answers = [{"sleep": 0.6, "raw": b"ok"}]
    started = time.monotonic()
    messenger(server, whisper_s=0.1).whisper(server.url, "hello")
    assert time.monotonic() - started < 0.4
