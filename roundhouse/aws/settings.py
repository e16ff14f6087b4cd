"""The environment as deployed: two JSON documents in SSM parameters. Touches SSM only."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from roundhouse import codec
from roundhouse.aws.errors import translated
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.names import Names
from roundhouse.errors import BadInput, NewerContract
from roundhouse.line.policy import Policy

T = TypeVar("T")
KEEP_S = 60.0


class ParameterSettings:
    """`ports.Settings`. A document is read again after `KEEP_S` seconds, so a changed policy holds within a minute."""

    def __init__(self, client: Any, names: Names, ticks: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._names = names
        self._ticks = ticks
        self._kept: dict[str, tuple[float, Any]] = {}

    def policy(self) -> Policy:
        return self._document("policy", Policy)

    def cluster_spec(self) -> ClusterSpec:
        return self._document("cluster", ClusterSpec)

    def _document(self, name: str, kind: type[T]) -> T:
        """Raises NotFound when the parameter is absent, BadInput (naming it) when it is not a `kind`."""
        read_at, document = self._kept.get(name, (float("-inf"), None))
        if self._ticks() - read_at < KEEP_S:
            return document  # type: ignore[no-any-return]
        parameter = self._names.parameter(name)
        started = self._ticks()
        with translated("GetParameter"):
            text = self._client.get_parameter(Name=parameter)["Parameter"]["Value"]
        try:
            fresh = codec.from_json(kind, text)
        except NewerContract as error:  # a deployment changes the documents first and the functions after them
            raise NewerContract(f"parameter {parameter}: {error}") from error
        except BadInput as error:
            raise BadInput(f"parameter {parameter}: {error}; deploy the environment again") from error
        self._kept[name] = (started, fresh)
        return fresh
