"""The Lambda Runtime API for one worker process: hands out one invocation at a time and takes its result.

Touches a loopback socket only; imports the standard library.
"""

import contextlib
import json
import queue
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_RESULT = re.compile(r"/2018-06-01/runtime/invocation/([^/]+)/(response|error)$")


@dataclass
class Invocation:
    """One event on its way through a worker. `deadline_ms` is real Unix time in milliseconds."""

    request_id: str
    payload: bytes
    deadline_ms: int
    function_arn: str
    done: threading.Event = field(default_factory=threading.Event)
    result: Any = None
    error: dict[str, Any] | None = None


class RuntimeApi:
    """Listens on a free loopback port until `close`."""

    def __init__(self) -> None:
        self.started = threading.Event()
        """Set when the runtime asks for its first invocation, or reports that its initialisation failed."""
        self.init_error: dict[str, Any] | None = None
        self._next: queue.Queue[Invocation | None] = queue.Queue(maxsize=1)
        self._current: Invocation | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.5}, daemon=True, name="runtime-api"
        ).start()

    def submit(self, invocation: Invocation) -> None:
        """Give the worker its next invocation."""
        self._current = invocation
        self._next.put(invocation)

    def take(self) -> Invocation | None:
        """Wait for the next invocation (called for the worker); None when closed."""
        self.started.set()
        return self._next.get()

    def finish(self, request_id: str, body: bytes, failed: bool) -> None:
        """Take a result; results of an invocation that is not running are ignored, as they came too late."""
        invocation = self._current
        if invocation is None or invocation.request_id != request_id:
            return
        try:
            parsed = json.loads(body) if body else None
        except ValueError:
            parsed = body.decode("utf-8", "replace")
        if failed:
            invocation.error = parsed if isinstance(parsed, dict) else {"errorMessage": str(parsed)}
        else:
            invocation.result = parsed
        self._current = None
        invocation.done.set()

    def fail_init(self, body: bytes) -> None:
        """Take the runtime's report that the handler could not be loaded."""
        parsed = json.loads(body or b"{}")
        self.init_error = parsed if isinstance(parsed, dict) else {"errorMessage": str(parsed)}
        self.started.set()

    def close(self) -> None:
        """Stop listening and let a waiting worker go."""
        with contextlib.suppress(queue.Full):
            self._next.put_nowait(None)
        threading.Thread(target=self._server.shutdown, daemon=True).start()
        self._server.server_close()


def _handler(api: RuntimeApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # headers and body leave in one packet

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class names it
            return

        def do_GET(self) -> None:
            invocation = api.take()
            if invocation is None:
                self._reply(410, b"")
                return
            self._reply(
                200,
                invocation.payload,
                {
                    "Content-Type": "application/json",
                    "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
                    "Lambda-Runtime-Deadline-Ms": str(invocation.deadline_ms),
                    "Lambda-Runtime-Invoked-Function-Arn": invocation.function_arn,
                },
            )

        def do_POST(self) -> None:
            body = self._body()
            if match := _RESULT.match(self.path):
                api.finish(match[1], body, failed=match[2] == "error")
            elif self.path.endswith("/init/error"):
                api.fail_init(body)
            self._reply(202, b'{"status":"OK"}')

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return b"".join(parts)

        def _reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
