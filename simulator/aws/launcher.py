"""Starts the embedded AWS in this process: MiniStack with its hooks replaced, and our services beside it.

Run by the simulator's own virtual environment: `python -m simulator.aws.launcher --port 0 --ready-file FILE`.
Binds 127.0.0.1 only. Ends on SIGTERM, on the control command `shutdown`, and when its parent process is gone; its
Lambda workers end with it.
"""

import argparse
import asyncio
import importlib
import json
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import tomllib
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simulator.aws.settings import ADMIN_ACCESS_KEY, ADMIN_SECRET_KEY, Settings
from simulator.clock import VirtualClock

logger = logging.getLogger("simulator.launcher")

REPOSITORY = Path(__file__).resolve().parents[2]


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="simulator.aws.launcher", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--scale", type=float, default=1.0, help="virtual seconds in a real second")
    parser.add_argument("--scenario", type=Path, help="TOML (or .json) file given to the world")
    parser.add_argument("--ready-file", type=Path, help="JSON with the endpoint, written when ready")
    parser.add_argument("--account", default="111122223333", help="12-digit account id")
    parser.add_argument("--region", default="us-west-2")
    parser.add_argument("--world", default="simulator.world:build", help="module:function that builds the world")
    parser.add_argument("--lambda-workers", type=int, default=2, help="most processes per function")
    parser.add_argument("--lambda-path", type=Path, action="append", default=[], help="put before the layers")
    parser.add_argument("--lambda-env", action="append", default=[], metavar="NAME=VALUE", help="set in every function")
    parser.add_argument("--cache", type=Path, help="directory kept between runs for unpacked code")
    parser.add_argument("--iam-records", type=Path, help="folder for a file of what IAM decides, as JSON lines")
    parser.add_argument("--parent", type=int, help="process id whose end ends the launcher")
    return parser.parse_args(argv)


def models_directory() -> Path:
    """ROUNDHOUSE_MODELS, or the botocore data of the product's virtual environment."""
    if given := os.environ.get("ROUNDHOUSE_MODELS"):
        return Path(given)
    found = sorted((REPOSITORY / ".venv").glob("lib/python3*/site-packages/botocore/data"))
    if not found:
        raise FileNotFoundError("no botocore models in .venv: set ROUNDHOUSE_MODELS to a botocore data directory")
    return found[-1]


def set_environment(settings: Settings) -> None:
    """What MiniStack reads when it is imported. Must run before that, and leaves no credentials of the caller."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(
        GATEWAY_PORT=str(settings.port),
        BIND_HOST="127.0.0.1",
        MINISTACK_HOST="localhost",
        MINISTACK_REGION=settings.region,
        MINISTACK_ACCOUNT_ID=settings.account,
        AUTH="true",
        IOT_MTLS_ENABLED="0",
        SFTP_ENABLED="0",
        PERSIST_STATE="0",
        LOG_LEVEL=os.environ.get("LOG_LEVEL", "WARNING"),
        SFN_WAIT_SCALE=repr(1 / settings.clock.scale),
        AWS_ACCESS_KEY_ID=ADMIN_ACCESS_KEY,
        AWS_SECRET_ACCESS_KEY=ADMIN_SECRET_KEY,
        AWS_DEFAULT_REGION=settings.region,
        AWS_REGION=settings.region,
        AWS_ENDPOINT_URL=settings.endpoint,
        AWS_EC2_METADATA_DISABLED="true",
    )


def read_scenario(path: Path) -> dict[str, Any]:
    """A scenario file: TOML, or JSON if its name ends so."""
    text = path.read_text()
    found: dict[str, Any] = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    return found


def build_world(spec: str, scenario: dict[str, Any], clock: VirtualClock, signals: Any) -> Any:
    """Call `module:function` with (scenario, clock, signals)."""
    module, _, function = spec.partition(":")
    return getattr(importlib.import_module(module), function)(scenario, clock, signals)


def watch_parent(pid: int) -> None:
    """End this process when `pid` is no longer its parent."""
    while os.getppid() == pid:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)


def main(argv: Sequence[str] | None = None) -> int:
    """Run until told to end; returns the exit code."""
    options = arguments(argv)
    listener = socket.create_server(("127.0.0.1", options.port))
    settings = Settings(
        account=options.account,
        region=options.region,
        port=listener.getsockname()[1],
        clock=VirtualClock(scale=options.scale),
        models=models_directory(),
        lambda_workers=options.lambda_workers,
        lambda_path=tuple(options.lambda_path),
        outside=dict(each.split("=", 1) for each in options.lambda_env),
        records=options.iam_records and options.iam_records / f"{uuid.uuid4()}.jsonl",
    )
    set_environment(settings)
    if options.parent:
        threading.Thread(target=watch_parent, args=(options.parent,), daemon=True).start()
    scenario = read_scenario(options.scenario) if options.scenario else {}
    scratch = Path(tempfile.mkdtemp(prefix="roundhouse-aws-"))
    try:
        from simulator.aws.assembly import assemble

        aws = assemble(settings, scenario, options.world, options.cache or scratch / "code")
        asyncio.run(serve(aws, listener, options.ready_file))
        aws.close()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


async def serve(aws: Any, listener: socket.socket, ready_file: Path | None) -> None:
    """Serve until SIGTERM, SIGINT or the control command `shutdown`."""
    from hypercorn.asyncio import serve as hypercorn_serve
    from hypercorn.config import Config

    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, aws.stop.set)
    config = Config()
    config.bind = [f"fd://{listener.detach()}"]
    config.keep_alive_timeout = 75
    config.graceful_timeout = 0.5
    config.shutdown_timeout = 1.0
    config.errorlog = None
    server = asyncio.create_task(hypercorn_serve(aws.application, config, shutdown_trigger=aws.stop.wait))
    await asyncio.wait({server}, timeout=0.05)
    if ready_file and not server.done():
        partial = ready_file.with_suffix(".partial")
        partial.write_text(json.dumps(aws.describe()))
        partial.rename(ready_file)
    await server


if __name__ == "__main__":
    sys.exit(main())
