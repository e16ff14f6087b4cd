"""One Lambda execution environment: a process of its own group that runs AWS's Python runtime client.

Starts and ends processes that it started itself, and nothing else; imports the standard library.
"""

import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from simulator.aws.runtime_api import Invocation, RuntimeApi

BOOTSTRAP = Path(__file__).with_name("lambda_bootstrap.py")
INIT_SECONDS = 20.0
LOG_LINES = 10_000
_LOG_GRACE = 0.02


class Worker:
    """Runs one invocation at a time. `environment` is the complete environment of the process, without the API's."""

    def __init__(self, name: str, environment: dict[str, str], task_root: Path) -> None:
        self.name = name
        self._api = RuntimeApi()
        self._lines: collections.deque[str] = collections.deque(maxlen=LOG_LINES)
        self._process = subprocess.Popen(
            [sys.executable, str(BOOTSTRAP)],
            cwd=task_root,
            env={**environment, "AWS_LAMBDA_RUNTIME_API": self._api.address},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True, name=f"lambda-log-{name}")
        self._reader.start()

    @property
    def pid(self) -> int:
        """Process id, which is also the id of its process group."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def invoke(self, event: Any, request_id: str, function_arn: str, timeout: float) -> dict[str, Any]:
        """Run the handler once.

        Returns MiniStack's result form: {'body': result, 'log': text}, and 'error': True with AWS's error object
        (errorMessage, errorType, stackTrace) as the body. `timeout` is the function's, in real seconds.
        """
        if failure := self.wait_for_init():
            self.kill()
            return failure
        invocation = Invocation(
            request_id, json.dumps(event).encode(), int((time.time() + timeout) * 1000), function_arn
        )
        self._api.submit(invocation)
        deadline = time.monotonic() + timeout
        while not invocation.done.wait(min(0.25, max(0.0, deadline - time.monotonic()))):
            if not self.alive():
                status = self._process.returncode
                return self._failure("Runtime.ExitError", f"RequestId: {request_id} Error: exit status {status}")
            if time.monotonic() >= deadline:
                self.kill()
                return self._failure("Sandbox.Timedout", f"Task timed out after {timeout:.2f} seconds")
        if invocation.error is not None:
            return {"body": invocation.error, "error": True, "log": self._drain()}
        return {"body": invocation.result, "log": self._drain()}

    def kill(self) -> None:
        """End the whole process group and close the Runtime API. May be called twice."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._api.close()

    def wait_for_init(self) -> dict[str, Any] | None:
        """Wait until the handler's module is imported; the failure in the form of `invoke` if it is not."""
        deadline = time.monotonic() + INIT_SECONDS
        while not self._api.started.wait(0.1):
            if not self.alive():
                return self._failure("Runtime.ExitError", f"runtime ended at start with {self._process.returncode}")
            if time.monotonic() > deadline:
                return self._failure("Sandbox.Timedout", f"initialisation took over {INIT_SECONDS:g} s")
        if self._api.init_error is not None:
            return {"body": self._api.init_error, "error": True, "log": self._drain()}
        return None

    def _failure(self, kind: str, message: str) -> dict[str, Any]:
        return {"body": {"errorType": kind, "errorMessage": message}, "error": True, "log": self._drain()}

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append(line.decode("utf-8", "replace").rstrip("\n"))

    def _drain(self) -> str:
        time.sleep(_LOG_GRACE)  # the pipe may lag behind the response by a moment
        lines = []
        while self._lines:
            lines.append(self._lines.popleft())
        return "\n".join(lines)
