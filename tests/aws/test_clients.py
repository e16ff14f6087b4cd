"""Clients: made once, short of patience when reading, and never trying twice when changing."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from roundhouse.aws import clients
from roundhouse.aws.errors import translated
from roundhouse.errors import MissingSetting, Unavailable


class _Body:
    def stream(self, **_: Any) -> list[bytes]:
        return [b'{"__type": "InternalFailure", "message": "oops"}']


def test_a_client_is_made_once() -> None:
    assert clients.client("sqs") is clients.client("sqs")
    assert clients.client("sqs") is not clients.client("sqs", changing=True)


@pytest.mark.parametrize(("changing", "attempts"), [(True, 1), (False, 3)])
def test_only_reading_is_tried_again(monkeypatch: pytest.MonkeyPatch, changing: bool, attempts: int) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
    sent = []

    def failing(request: Any, **_: Any) -> AWSResponse:
        sent.append(request)
        return AWSResponse(request.url, 500, {}, _Body())  # type: ignore[arg-type]

    client = clients.client("sagemaker", changing=changing)
    client.meta.events.register("before-send.sagemaker.*", failing)
    with pytest.raises(Unavailable), translated("DeleteCluster"):
        client.delete_cluster(ClusterName="train")
    assert len(sent) == attempts
    assert b"roundhouse/" in sent[0].headers["User-Agent"]


def test_a_missing_region_is_a_missing_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(MissingSetting, match="AWS_REGION"):
        clients.client("sqs")
