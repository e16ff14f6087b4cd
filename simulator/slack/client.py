"""Starts the Slack stand-in as its own process and steers it. Standard library only.

with SlackStandIn.start(workdir) as slack:
    WebClient(token=slack.bot_token, base_url=slack.api_url).chat_postMessage(...)
    slack.set_interactivity_url("http://127.0.0.1:8080/slack/actions")
    slack.click(ts, "approve", "U0OPSALICE")
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from simulator.slack.errors import ControlError
from simulator.slack.model import Json

SIGNING_SECRET = "stand-in-signing-secret-0123456789"
BOT_TOKEN = "xoxb-stand-in-0123456789"

_ROOT = Path(__file__).resolve().parents[2]
_START_SECONDS = 20.0
_STOP_SECONDS = 5.0


class SlackStandIn:
    """A running stand-in. Use `start`; usable as a context manager, which stops it."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, signing_secret: str, bot_token: str) -> None:
        self._process = process
        self.url = url
        self.api_url = f"{url}/api/"
        self.page_url = f"{url}/"
        self.signing_secret = signing_secret
        self.bot_token = bot_token

    @classmethod
    def start(
        cls,
        workdir: Path | str,
        *,
        signing_secret: str = SIGNING_SECRET,
        bot_token: str = BOT_TOKEN,
        interactivity_url: str = "",
        patience_seconds: float = 3.0,
        workspace: Json | None = None,
        port: int = 0,
        python: str = sys.executable,
    ) -> SlackStandIn:
        """Start the server and wait until it listens. `workspace` as in the --workspace file.

        `patience_seconds` is Slack's 3-second rule; only tests of slow receivers shorten it.

        `workdir` receives `slack-*.json` and `slack.log`. Raises ControlError with the log when the start fails.
        """
        folder = Path(workdir)
        folder.mkdir(parents=True, exist_ok=True)
        ready, log = folder / "slack-ready.json", folder / "slack.log"
        ready.unlink(missing_ok=True)
        command = [python, "-m", "simulator.slack.server", "--port", str(port), "--ready-file", str(ready)]
        command += ["--signing-secret", signing_secret, "--bot-token", bot_token, "--exit-with-parent"]
        command += ["--patience-seconds", str(patience_seconds)]
        if interactivity_url:
            command += ["--interactivity-url", interactivity_url]
        if workspace is not None:
            seed = folder / "slack-workspace.json"
            seed.write_text(json.dumps(workspace), "utf-8")
            command += ["--workspace", str(seed)]
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=_ROOT, stdout=output, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + _START_SECONDS
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                process.wait()
                raise ControlError(f"the Slack stand-in did not start:\n{log.read_text('utf-8', 'replace')}")
            time.sleep(0.02)
        url = json.loads(ready.read_text("utf-8"))["url"]
        return cls(process, url, signing_secret, bot_token)

    def __enter__(self) -> SlackStandIn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process; a second call does nothing."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    # -- what happened ------------------------------------------------------------------------------------

    def messages(self, channel: str | None = None) -> list[Json]:
        """Messages as the API shows them, oldest first; channel by id or `#name`, None: all.

        Added keys: `channel`, `visible_to` (the user of an ephemeral one, else None), `notifies` (whom it pings).
        """
        found: list[Json] = self._command("messages", channel=channel)
        return found

    def deliveries(self) -> list[Json]:
        """Every request sent to the app, oldest first; keys as in outgoing.delivery.Delivery."""
        sent: list[Json] = self._command("deliveries")
        return sent

    def calls(self) -> list[Json]:
        """Every Web API call that arrived: method, channel, at, outcome."""
        seen: list[Json] = self._command("calls")
        return seen

    # -- what people do -----------------------------------------------------------------------------------

    def click(self, message_ts: str, action_id: str, user: str, value: str | None = None) -> Json:
        """Click a button (or choose `value` in a menu) as `user`; the delivery, after at most 3 s.

        Raises ControlError when that person could not do it: no such element, not a member, not visible.
        """
        delivery: Json = self._command("click", message_ts=message_ts, action_id=action_id, user=user, value=value)
        return delivery

    def say(self, channel: str, user: str, text: str, thread_ts: str | None = None) -> Json:
        """A person writes; `@name` mentions. The message as stored."""
        message: Json = self._command("say", channel=channel, user=user, text=text, thread_ts=thread_ts)
        return message

    # -- settings -----------------------------------------------------------------------------------------

    def set_interactivity_url(self, url: str) -> None:
        """Where clicks are sent from now on."""
        self._command("configure", interactivity_url=url)

    def set_events_url(self, url: str) -> None:
        """Where events are sent from now on."""
        self._command("configure", events_url=url)

    def send_event_callback(
        self, event: Json, *, event_id: str | None = None, retry_delays: Sequence[float] = (0.0, 60.0, 300.0)
    ) -> list[Json]:
        """Send an event with Slack's retries; every attempt. Give short `retry_delays` (seconds) in tests."""
        attempts: list[Json] = self._command(
            "send_event",
            timeout=sum(retry_delays) + 30,
            event=event,
            event_id=event_id,
            retry_delays=list(retry_delays),
        )
        return attempts

    def verify_url(self) -> bool:
        """Challenge the events URL as Slack does when it is entered."""
        return bool(self._command("verify_url")["verified"])

    # -- faults -------------------------------------------------------------------------------------------

    def outage(self, on: bool | float, *, how: Literal["unavailable", "drop"] = "unavailable") -> None:
        """True: the Web API is down until False; a number: for so many seconds. 503 or cut connections."""
        self._command("clear_faults", kinds=["unavailable", "drop"])
        if isinstance(on, bool):
            if on:
                self._command("fault", kind=how, remaining=None)
        else:
            self._command("fault", kind=how, remaining=None, for_seconds=on)

    def rate_limit(
        self, next_n: int, retry_after: float | str | None, *, methods: Sequence[str] = (), status: int = 429
    ) -> None:
        """Answer the next calls with 429. `retry_after`: seconds, an HTTP date, or None for no header."""
        header = f"{retry_after:g}" if isinstance(retry_after, int | float) else retry_after
        self._command(
            "fault",
            kind="rate_limited",
            remaining=next_n,
            retry_after=header,
            methods=list(methods),
            status=status,
        )

    def enforce_pace(self, on: bool = True) -> None:
        """About one message per second and channel, short bursts allowed."""
        self._command("configure", enforce_pace=on)

    def lose_answers(self, next_n: int = 1, *, methods: Sequence[str] = ("chat.postMessage",)) -> None:
        """Do the next calls, then close the connection without an answer."""
        self._command("fault", kind="lost_answer", remaining=next_n, methods=list(methods))

    def slow_answers(self, next_n: int, seconds: float, *, methods: Sequence[str] = ()) -> None:
        """Do the next calls at once, answer after `seconds`."""
        self._command("fault", kind="slow", remaining=next_n, seconds=seconds, methods=list(methods))

    def fail(self, next_n: int, error: str, *, methods: Sequence[str] = ()) -> None:
        """Refuse the next calls with `{ok: false, error}`."""
        self._command("fault", kind="error", remaining=next_n, error=error, methods=list(methods))

    def clear_faults(self) -> None:
        """Everything works again."""
        self._command("clear_faults")

    def _command(self, name: str, timeout: float = 30.0, **body: Any) -> Any:
        request = urllib.request.Request(
            f"{self.url}/_control/{name}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        # The loopback address never goes through a proxy that the environment may name.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=timeout) as answer:
                return json.load(answer)["result"]
        except urllib.error.HTTPError as error:
            raise ControlError(json.load(error).get("error", str(error))) from error
        except OSError as error:
            raise ControlError(f"the Slack stand-in at {self.url} does not answer: {error}") from error
