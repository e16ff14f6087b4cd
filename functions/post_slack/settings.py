"""Settings of post_slack, from its environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from roundhouse.errors import MissingSetting


@dataclass(frozen=True, slots=True)
class Settings:
    """`outbox_queue_url`: the queue that is read, whose messages may have to wait longer."""

    outbox_queue_url: str

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Settings:
        """Raises MissingSetting."""
        url = env.get("OUTBOX_QUEUE_URL", "")
        if not url:
            raise MissingSetting("environment variable OUTBOX_QUEUE_URL is not set; the stack sets it for post_slack")
        return cls(url)
