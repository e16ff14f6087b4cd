"""Clients of AWS services, made when first asked for and kept. Imports botocore.

botocore alone, without boto3: it saves a Lambda some 60 ms of its cold start. Endpoints, credentials and the region
come from the environment.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import botocore.session
from botocore.config import Config

from roundhouse.aws.errors import translated

_USER_AGENT = "roundhouse/0.1"
_READING = Config(
    connect_timeout=3,
    read_timeout=10,
    retries={"mode": "standard", "total_max_attempts": 3},
    max_pool_connections=10,
    user_agent_extra=_USER_AGENT,
)
# One attempt, and a patient wait for its answer: a hidden second attempt would hide a lost answer, and could act twice.
_CHANGING = Config(
    connect_timeout=3,
    read_timeout=30,
    retries={"mode": "standard", "total_max_attempts": 1},
    user_agent_extra=_USER_AGENT,
)


def client(service: str, *, changing: bool = False, region: str | None = None) -> Any:
    """A client of `service`. `changing`: for calls that must not be repeated unseen (one attempt).

    `region` is AWS_REGION when not given. Raises MissingSetting when there is none.
    """
    return _made(service, changing, region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"))


@cache
def _session() -> botocore.session.Session:
    return botocore.session.get_session()


@cache
def _made(service: str, changing: bool, region: str | None) -> Any:
    with translated(f"a client of {service}"):
        return _session().create_client(service, region_name=region, config=_CHANGING if changing else _READING)


def forget() -> None:
    """Drop all clients, for a test that changes the environment."""
    _made.cache_clear()
    _session.cache_clear()
