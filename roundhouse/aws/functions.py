"""Functions of a deployment, called from a terminal. Touches Lambda only."""

from __future__ import annotations

import json
from typing import Any

from roundhouse.aws.errors import translated
from roundhouse.errors import AwsFailure

LIVE = "live"  # the alias that a deployment moves


class LambdaFunctions:
    """`ports.Functions`. The client must not repeat a call: a second run would hide what the first has mended."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def invoke(self, name: str, payload: dict[str, object]) -> dict[str, Any]:
        """See `ports.Functions.invoke`."""
        with translated("Invoke"):
            answer = self._client.invoke(FunctionName=name, Qualifier=LIVE, Payload=json.dumps(payload).encode())
            said = json.loads(answer["Payload"].read() or b"{}")
        if answer.get("FunctionError"):
            kind, words = said.get("errorType", "an error"), said.get("errorMessage", "no message")
            raise AwsFailure(f"{name} failed: {kind}: {words}; its log says more", operation="Invoke", code=str(kind))
        return dict(said)
