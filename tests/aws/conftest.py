"""AWS in this process by moto; HyperPod by botocore's Stubber, which checks both ways against the service model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from roundhouse.aws import clients
from roundhouse.contracts.names import APPROVALS, BY_CLUSTER, INCIDENTS, LEDGER, TABLE_KEYS, Names

DATA = Path(__file__).parents[1] / "data" / "aws"
NAMES = Names("test")
SORT_KEYS = {INCIDENTS: "opened_at", LEDGER: "claimed_at", APPROVALS: "asked_at"}


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Credentials of nobody, and no client left over from another test."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    clients.forget()
    yield
    clients.forget()


@pytest.fixture
def aws() -> Iterator[Callable[..., Any]]:
    """`clients.client` against moto."""
    with mock_aws():
        yield clients.client


@pytest.fixture
def tables(aws: Callable[..., Any]) -> Callable[[str], str]:
    """All tables as the state stack makes them; gives a table's name."""
    for table, key in TABLE_KEYS.items():
        make_table(aws("dynamodb"), table, key)
    return NAMES.table


def make_table(client: Any, table: str, key: str) -> None:
    more: dict[str, Any] = {}
    attributes = [key]
    if table in SORT_KEYS:
        attributes += ["cluster", SORT_KEYS[table]]
        more["GlobalSecondaryIndexes"] = [
            {
                "IndexName": BY_CLUSTER,
                "KeySchema": [
                    {"AttributeName": "cluster", "KeyType": "HASH"},
                    {"AttributeName": SORT_KEYS[table], "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ]
    client.create_table(
        TableName=NAMES.table(table),
        KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in attributes],
        BillingMode="PAY_PER_REQUEST",
        **more,
    )


@pytest.fixture
def sagemaker() -> Iterator[tuple[Any, Stubber]]:
    """A SageMaker client and its stub; every answer that was queued must have been asked for."""
    client = _sagemaker()
    with Stubber(client) as stub:
        yield client, stub
        stub.assert_no_pending_responses()


@cache
def _sagemaker() -> Any:
    return boto3.client("sagemaker", region_name="us-west-2")


def sample(name: str) -> Any:
    """A recorded request or answer of tests/data/aws."""
    return json.loads((DATA / f"{name}.json").read_text())
