"""Sections `slack`, `costs` and `deployment`. Imports pydantic."""

from __future__ import annotations

from typing import Literal

from roundhouse.environment.model.base import Section
from roundhouse.environment.model.types import (
    ApiUrl,
    Duration,
    SecretName,
    Several,
    SlackApp,
    SlackChannel,
    SlackTeam,
    SlackUser,
    Usd,
)


class Slack(Section):
    """Where people are asked, and who may answer. The secret holds JSON with `bot_token` and `signing_secret`."""

    channel: SlackChannel
    team: SlackTeam
    app_id: SlackApp | None = None
    secret_name: SecretName
    approvers: Several[SlackUser] = ()
    api_url: ApiUrl = "https://slack.com/api/"


class Costs(Section):
    """A lost discount: silence rolls back after `ask_timeout`, sooner if the excess would pass the cap in USD."""

    rollback_dollar_cap: Usd = 500.0
    ask_timeout: Duration = 3600


class Deployment(Section):
    """How the stacks treat their own state, and how often the records are compared with live state."""

    deletion_protection: bool = True
    log_retention_days: Literal[7, 14, 30, 60, 90, 180, 365] = 90
    reconcile_every: Duration = 900
