"""Starts the embedded AWS as a child process and talks to it. Runs in the product's environment; imports boto3.

MiniStack lives in the simulator's own virtual environment and process (its pins differ), so nothing of it is imported
here. The reach of things, for callers:

* every AWS service: `client(name)`, with the credentials of the account's root, which may do everything;
* an HTTP API: `http_api_url(api_id)` + '/path' (its `$default` stage). The bytes of a request body arrive as sent:
  text content types as a string, all others, form-encoded too, as base64 with `isBase64Encoded`, as in the cloud;
* the world (faults, capacity, snapshots): `control(command, **params)`.
"""

import json
import os
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import boto3
from botocore.config import Config

from simulator.clock import VirtualClock

REPOSITORY = Path(__file__).resolve().parents[1]
PYTHON = REPOSITORY / ".venv-simulator" / "bin" / "python"

IAM_RECORDS = "SIMULATOR_IAM_RECORDS"
"""Variable with a folder: every embedded AWS keeps there what IAM decided (`simulator.aws.decisions`)."""
START_SECONDS = 60.0
LOG_TAIL = 30


class EmbeddedAwsError(RuntimeError):
    """The embedded AWS did not start, or a control command failed; says why and shows the end of its log."""


class EmbeddedAws:
    """A running embedded AWS. `start` it, use it as a context manager or `stop` it."""

    def __init__(self, process: subprocess.Popen[bytes], ready: Mapping[str, Any], log: Path) -> None:
        self._process = process
        self._clients: dict[str, Any] = {}
        self.endpoint: str = ready["endpoint"]
        self.region: str = ready["region"]
        self.account: str = ready["account"]
        self.pid: int = ready["pid"]
        self.log_file = log
        self.clock = VirtualClock(scale=ready["clock"]["scale"], origin=ready["clock"]["origin"])

    @classmethod
    def start(
        cls,
        scenario: Path | Mapping[str, Any] | None = None,
        scale: float = 1.0,
        workdir: Path | None = None,
        *,
        account: str = "111122223333",
        region: str = "us-west-2",
        world: str = "simulator.world:build",
        lambda_workers: int = 2,
        lambda_path: Sequence[Path] = (),
        outside: Mapping[str, str] | None = None,
        cache: Path | None = None,
    ) -> Self:
        """Start it and wait until it answers.

        `scenario` is a TOML file or its content; `scale` the virtual seconds in a real one; `workdir` takes the log and
        small files (default: a new temporary directory). `lambda_path` directories go before every function's layers:
        give packages of this platform there when a layer holds another's machine code. `outside` are variables of every
        function that name what is not AWS (`SLACK_API_URL`). `cache` keeps unpacked code and
        compiled files between runs. Raises EmbeddedAwsError.
        """
        if not PYTHON.exists():
            raise EmbeddedAwsError(f"{PYTHON} is missing: make it with `uv venv` and simulator/requirements.txt")
        workdir = workdir or Path(tempfile.mkdtemp(prefix="roundhouse-"))
        workdir.mkdir(parents=True, exist_ok=True)
        ready, log = workdir / "ready.json", workdir / "aws.log"
        ready.unlink(missing_ok=True)
        command = [
            str(PYTHON), "-m", "simulator.aws.launcher", "--port", "0", "--scale", repr(scale),
            "--ready-file", str(ready), "--account", account, "--region", region, "--world", world,
            "--lambda-workers", str(lambda_workers), "--parent", str(os.getpid()),
            "--cache", str(cache or default_cache()),
        ]  # fmt: skip
        if records := os.environ.get(IAM_RECORDS):
            command += ["--iam-records", str(Path(records).resolve())]
        for name, value in (outside or {}).items():
            command += ["--lambda-env", f"{name}={value}"]
        for directory in lambda_path:
            command += ["--lambda-path", str(directory)]
        if scenario is not None:
            command += ["--scenario", str(_scenario_file(scenario, workdir))]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        return cls(process, _wait_until_ready(process, ready, log), log)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def client(self, service: str) -> Any:
        """boto3 client of `service` ('sfn', 'dynamodb', 'stepfunctions'); may do everything. One for each service."""
        name = {"sfn": "stepfunctions"}.get(service, service)
        if name not in self._clients:
            session: Any = self.session()
            self._clients[name] = session.client(
                name,
                endpoint_url=self.endpoint,
                config=Config(retries={"total_max_attempts": 3, "mode": "standard"}, max_pool_connections=32),
            )
        return self._clients[name]

    def session(self, access_key: str = "test", secret_key: str = "test", token: str | None = None) -> boto3.Session:
        """boto3 session in the run's region, by default with the root credentials. It names no endpoint."""
        return boto3.Session(
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            aws_session_token=token,
            region_name=self.region,
        )

    def environment(self) -> dict[str, str]:
        """Environment variables that make any AWS SDK or the `roundhouse` command use this AWS and its clock."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "ROUNDHOUSE_CLOCK": self.clock.env(),
        }

    def http_api_url(self, api_id: str, stage: str = "$default") -> str:
        """Base URL, without a slash at its end, of an HTTP API's stage."""
        base = f"{self.endpoint}/_aws/execute-api/{api_id}"
        return f"{base}/{stage}"

    def control(self, command: str, **params: Any) -> Any:
        """Run a command of the world and return its answer; 'clock', 'shutdown', 'warm', 'workers' and 'decisions'
        are the launcher's.

        Raises EmbeddedAwsError with the message of the world.
        """
        request = Request(
            f"{self.endpoint}/_simulator/{command}",
            data=json.dumps(params, default=str).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urlopen(request, timeout=60) as response:
                return json.load(response)
        except HTTPError as error:
            raise EmbeddedAwsError(f"control {command}: {error.read().decode(errors='replace')}") from error

    def warm(self) -> int:
        """Start one worker of every function, so that first calls are as fast as later ones; returns how many.

        Costs some 40 MiB and half a second of processor time each. Raises EmbeddedAwsError naming the functions
        whose module cannot be imported.
        """
        answer = self.control("warm")
        if answer["failed"]:
            raise EmbeddedAwsError(f"functions that do not start: {', '.join(answer['failed'])}\n{self.log_tail()}")
        return int(answer["count"])

    def now(self) -> datetime:
        """Virtual time, aware UTC."""
        return self.clock.now()

    def log_tail(self, lines: int = LOG_TAIL) -> str:
        """The end of the launcher's log."""
        return _tail(self.log_file, lines)

    def stop(self) -> None:
        """End the launcher and its Lambda workers; may be called twice."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def default_cache() -> Path:
    """Where unpacked Lambda code is kept between runs: $XDG_CACHE_HOME/roundhouse/lambda."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "roundhouse" / "lambda"


def _scenario_file(scenario: Path | Mapping[str, Any], workdir: Path) -> Path:
    if isinstance(scenario, Path):
        tomllib.loads(scenario.read_text())  # a mistake shows here, not in the child's log
        return scenario
    path = workdir / "scenario.json"
    path.write_text(json.dumps(scenario, default=str))
    return path


def _wait_until_ready(process: subprocess.Popen[bytes], ready: Path, log: Path) -> dict[str, Any]:
    deadline = time.monotonic() + START_SECONDS
    while not ready.exists():
        if process.poll() is not None:
            raise EmbeddedAwsError(f"the embedded AWS ended with {process.returncode} at start:\n{_tail(log)}")
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise EmbeddedAwsError(f"the embedded AWS was not ready after {START_SECONDS:g} s:\n{_tail(log)}")
        time.sleep(0.05)
    found: dict[str, Any] = json.loads(ready.read_text())
    return found


def _tail(path: Path, lines: int = LOG_TAIL) -> str:
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return "(no log)"
