"""The contract between the embedded AWS and the services that are added to it.

Touches nothing; imports the standard library only, so both sides (and tests) may import it.
A `Service` answers calls that were already validated against the botocore model; `Signals` is what a world may emit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True)
class Caller:
    """Who signed the request: 12-digit account, region of the signature, principal ARN (None: the test root)."""

    account: str
    region: str
    principal_arn: str | None


class ServiceError(Exception):
    """An error that the service answers: `code` as the service model names it, HTTP `status`, `extra` body members."""

    def __init__(self, code: str, message: str, status: int = 400, extra: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.extra: Mapping[str, Any] = dict(extra or {})


class Service(Protocol):
    """One AWS service that speaks the JSON protocol (X-Amz-Target)."""

    name: str
    """botocore's service name: 'sagemaker', 'fsx', 'ce', 'service-quotas'."""

    def call(self, operation: str, params: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """Answer `operation` ('CreateCluster').

        `params` and the result use the members of the service model (PascalCase) and Python types:
        aware datetimes for timestamps, bytes for blobs. Both are checked against the model by the caller of this
        method. Raises ServiceError; any other exception is answered as a 500 'simulator bug'.
        """
        ...


class Signals(Protocol):
    """What a world may emit into the embedded AWS. Both methods may be called from any thread and do not wait."""

    def event(
        self, *, source: str, detail_type: str, detail: dict[str, Any], resources: list[str], time: datetime
    ) -> None:
        """Put an event on the default EventBridge bus; `aws.*` sources are allowed here, as for AWS itself."""
        ...

    def log(self, *, group: str, stream: str, message: str, time: datetime) -> None:
        """Append one CloudWatch Logs record; group and stream are made if absent, subscriptions fire."""
        ...
