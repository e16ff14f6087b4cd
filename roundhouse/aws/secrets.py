"""Slack's credentials from Secrets Manager. Touches Secrets Manager only. Values never reach a message or a repr."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from roundhouse.aws.errors import translated
from roundhouse.errors import BadInput

KEEP_S = 300.0


@dataclass(frozen=True, slots=True)
class SlackSecret:
    """What the Slack app gave us. The secret's JSON: `{"bot_token": "xoxb-…", "signing_secret": "…"}`."""

    bot_token: str = field(repr=False)
    signing_secret: str = field(repr=False)


class Secrets:
    """Secrets, kept for `KEEP_S` seconds."""

    def __init__(self, client: Any, ticks: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._ticks = ticks
        self._kept: dict[str, tuple[float, SlackSecret]] = {}

    def slack(self, arn: str) -> SlackSecret:
        """The Slack secret `arn`. Raises BadInput naming the members that are missing, NotFound, AccessDenied."""
        if arn in self._kept and self._ticks() - self._kept[arn][0] < KEEP_S:
            return self._kept[arn][1]
        started = self._ticks()
        with translated("GetSecretValue"):
            text = self._client.get_secret_value(SecretId=arn).get("SecretString", "")
        secret = _parsed(arn, text)
        self._kept[arn] = (started, secret)
        return secret


def _parsed(arn: str, text: str) -> SlackSecret:
    try:
        raw = json.loads(text)
    except ValueError:
        raise BadInput(f"secret {arn} is not JSON: store bot_token and signing_secret in it") from None
    members = raw if isinstance(raw, dict) else {}
    missing = [name for name in ("bot_token", "signing_secret") if not isinstance(members.get(name), str)]
    if missing:
        raise BadInput(f"secret {arn} lacks {' and '.join(missing)}: store both as strings")
    return SlackSecret(bot_token=members["bot_token"], signing_secret=members["signing_secret"])
