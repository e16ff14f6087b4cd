"""What one run of the embedded AWS is told at its start. Pure; imports the standard library only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from simulator.clock import VirtualClock

ADMIN_ACCESS_KEY = "test"
"""MiniStack's root test key; it may do everything, like an account's root user."""
ADMIN_SECRET_KEY = "test"


@dataclass(frozen=True)
class Settings:
    """One run: where it listens, as which account and region, how fast its clock runs."""

    account: str
    region: str
    port: int
    clock: VirtualClock
    models: Path
    """botocore data directory whose (newer) service models the added services are checked against."""
    lambda_workers: int = 2
    """Most processes per function; further invocations wait in a queue."""
    lambda_path: tuple[Path, ...] = ()
    """Directories put before a function's layers, for layers with machine code of another platform."""
    outside: Mapping[str, str] = field(default_factory=dict)
    """Addresses of what is not AWS, as variables of every function (SLACK_API_URL): nothing here calls the real one."""

    records: Path | None = None
    """File that takes what IAM decides about the templates' roles (`simulator.aws.decisions`), as JSON lines."""

    @property
    def endpoint(self) -> str:
        """Base URL of every service."""
        return f"http://127.0.0.1:{self.port}"
