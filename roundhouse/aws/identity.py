"""Who is calling: the ARN behind the credentials in use. Touches STS only."""

from __future__ import annotations

from typing import Any

from roundhouse.aws.errors import translated


def caller_arn(client: Any) -> str:
    """ARN of the caller, recorded with every switch that a person throws. Raises AwsFailure."""
    with translated("GetCallerIdentity"):
        return str(client.get_caller_identity()["Arn"])
