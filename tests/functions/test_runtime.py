"""The shared runtime: settings by name, clocks, and ports that are made once and only when asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from moto import mock_aws

from functions import runtime
from functions.untraced import Untraced
from roundhouse import codec
from roundhouse.errors import MissingSetting
from roundhouse.line.policy import Policy

QUEUES = ("OUTBOX_QUEUE_URL", "SETTLE_QUEUE_URL", "INTAKE_QUEUE_URL", "AGENT_QUEUE_URL")
PORTS = [
    *("clock", "wall_clock", "reader", "writer", "surroundings", "health_log", "settings", "names"),
    *("incidents", "ledger", "approvals", "tokens", "breaker", "control", "runs", "threads"),
    *("outbox", "settle_queue", "intake_queue", "agent_queue", "workflows"),
]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in {
        "ROUNDHOUSE_ENVIRONMENT": "test",
        "AWS_REGION": "us-west-2",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        **{queue: f"https://sqs.us-west-2.amazonaws.com/111122223333/{queue}" for queue in QUEUES},
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ROUNDHOUSE_CLOCK", raising=False)
    runtime.reset()
    yield
    runtime.reset()


def test_each_port_is_made_once() -> None:
    made = {name: getattr(runtime, name)() for name in PORTS}
    assert all(getattr(runtime, name)() is made[name] for name in PORTS)
    runtime.reset()
    assert runtime.incidents() is not made["incidents"]


def test_reading_and_changing_have_clients_of_their_own() -> None:
    reader: Any = runtime.reader()
    writer: Any = runtime.writer()
    assert reader._client.meta.config.retries["total_max_attempts"] == 3
    assert writer._client.meta.config.retries["total_max_attempts"] == 1


@pytest.mark.parametrize(
    ("variable", "accessor"),
    [
        ("ROUNDHOUSE_ENVIRONMENT", "incidents"),
        ("OUTBOX_QUEUE_URL", "outbox"),
        ("AGENT_QUEUE_URL", "agent_queue"),
        ("SLACK_SECRET_ARN", "messenger"),
        ("AWS_REGION", "surroundings"),
    ],
)
def test_a_missing_variable_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, accessor: str) -> None:
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(MissingSetting, match=variable):
        getattr(runtime, accessor)()


def test_an_empty_variable_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUTBOX_QUEUE_URL", "")
    with pytest.raises(MissingSetting, match="OUTBOX_QUEUE_URL"):
        runtime.require("OUTBOX_QUEUE_URL")


def test_the_clock_is_the_machines() -> None:
    assert abs(runtime.clock().now() - datetime.now(UTC)) < timedelta(seconds=5)
    assert runtime.clock().now().tzinfo is UTC


def test_virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDHOUSE_CLOCK", "1790000000.000000,60.0")
    monkeypatch.setattr("functions.clocks.time.time", lambda: 1790000010.0)
    assert runtime.clock().now() == datetime.fromtimestamp(1790000600, UTC)
    assert abs(runtime.wall_clock().now() - datetime.now(UTC)) < timedelta(seconds=5)


@pytest.mark.parametrize("text", ["60", "now,60", "1,2,3"])
def test_a_malformed_clock(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("ROUNDHOUSE_CLOCK", text)
    with pytest.raises(MissingSetting, match="ROUNDHOUSE_CLOCK"):
        runtime.clock()


def test_the_messenger_takes_up_a_rotated_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_API_URL", "http://127.0.0.1:1/api/")
    with mock_aws():
        manager: Any = runtime._client("secretsmanager")
        secret = {"bot_token": "xoxb-example-1", "signing_secret": "example"}
        arn = manager.create_secret(Name="slack", SecretString=json.dumps(secret))["ARN"]
        monkeypatch.setenv("SLACK_SECRET_ARN", arn)
        first: Any = runtime.messenger()
        assert id(runtime.messenger()) == id(first)
        assert runtime.slack_secret().signing_secret == "example"
        assert (first._client.token, first._client.base_url) == ("xoxb-example-1", "http://127.0.0.1:1/api/")
        manager.put_secret_value(SecretId=arn, SecretString=json.dumps({**secret, "bot_token": "xoxb-example-2"}))
        runtime._secrets()._kept.clear()  # as after five minutes
        second: Any = runtime.messenger()
        assert second is not first
        assert second._client.token == "xoxb-example-2"


def test_stores_are_those_of_the_environment() -> None:
    with mock_aws():
        runtime._client("ssm").put_parameter(
            Name="/roundhouse/test/policy", Value=codec.to_json(Policy("test", "train")), Type="String"
        )
        assert runtime.settings().policy().cluster == "train"
    tables: Any = runtime.incidents()
    assert tables._records._table == "roundhouse-test-incidents"


def test_off_lambda_nothing_is_traced() -> None:
    tracer: Any = runtime.tracer
    assert type(tracer) is Untraced

    @tracer.capture_lambda_handler
    def plain(event: dict[str, object], context: object) -> str:
        return "done"

    def method() -> str:
        return "done too"

    tracer.put_annotation("cluster", "train")
    traced = tracer.capture_method(capture_response=False)(method)
    assert (plain({}, None), traced()) == ("done", "done too")


def test_importing_the_runtime_loads_no_sdk() -> None:
    """A function pays for a client when it first asks for one, not before."""
    script = "import sys; import functions.runtime; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ["botocore.client", "boto3", "slack_sdk", "cattrs", "roundhouse.aws", "roundhouse.slack"]
    found = subprocess.run(
        [sys.executable, "-c", script, *heavy], capture_output=True, text=True, check=True, timeout=60
    )
    assert found.stdout.strip() == "[]"


def test_wiring_needs_neither_boto3_nor_other_services() -> None:
    script = (
        "import sys; from functions import runtime; runtime.incidents(); runtime.reader(); runtime.writer();"
        "print(sorted(m for m in ('boto3', 's3transfer', 'slack_sdk', 'pydantic') if m in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "[]"
