"""Settings of answer_slack, from its environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """`app_id`: Slack app id that requests must come from; empty: the signature alone speaks (it is per app)."""

    app_id: str = ""

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Settings:
        return cls(app_id=env.get("SLACK_APP_ID", ""))
