"""The open address over HTTP, by its OpenAPI document: whatever is sent, signed or not, is answered and stores nothing.

The gateway is played by a WSGI application that hands on what API Gateway's HTTP API would: payload format 2.0.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from functions.answer_slack.handler import Ports, answer_request
from tests.fakes.clocks import FakeClock
from tests.functions.test_answer_slack import ALICE, LINE, PENDING, SECRET, WALL, Outside, click_body

PATH = "/slack/interactions"
DOCUMENT = Path(__file__).parents[2] / "docs/api/slack-door.openapi.json"
SPEC: dict[str, Any] = json.loads(DOCUMENT.read_text())
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
HEADERS = {"HTTP_X_SLACK_SIGNATURE": "x-slack-signature", "HTTP_X_SLACK_REQUEST_TIMESTAMP": "x-slack-request-timestamp"}
Start = Callable[[str, list[tuple[str, str]]], object]
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 500: "Internal Server Error"}


class Gateway:
    """A WSGI application. `signing`: requests are signed on the way, as if each came from Slack itself."""

    def __init__(self, *, signing: bool) -> None:
        self.signing, self.outside, self.statuses = signing, Outside(), dict[int, int]()
        it = self.outside
        clocks = FakeClock(LINE), FakeClock(WALL)
        self._ports = Ports(it.approvals, it.settle, it.slack, *clocks, SECRET, "T0AAAAAAA", "A0AAAAAAA")

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/openapi.json":
            start("200 OK", [("content-type", "application/json")])
            return [DOCUMENT.read_bytes()]
        if (environ["REQUEST_METHOD"], environ["PATH_INFO"]) != ("POST", PATH):
            start("404 Not Found", [("content-type", "application/json")])
            return [b'{"message":"Not Found"}']
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        answer = answer_request(self._event(environ, body), self._ports)
        self.statuses[answer["statusCode"]] = self.statuses.get(answer["statusCode"], 0) + 1
        text = json.dumps(answer)
        assert SECRET not in text
        assert "Traceback" not in text
        start(f"{answer['statusCode']} {REASONS[answer['statusCode']]}", list(answer["headers"].items()))
        return [answer["body"].encode()]

    def _event(self, environ: dict[str, Any], body: bytes) -> dict[str, Any]:
        headers = {name: environ[key] for key, name in HEADERS.items() if key in environ}
        if self.signing:
            stamp = str(int(WALL.timestamp()))
            mac = hmac.new(SECRET.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
            headers = {"x-slack-request-timestamp": stamp, "x-slack-signature": f"v0={mac}"}
        return {
            "version": "2.0",
            "routeKey": f"POST {PATH}",
            "rawPath": PATH,
            "headers": headers | {"content-type": environ.get("CONTENT_TYPE", "")},
            "body": base64.b64encode(body).decode(),
            "isBase64Encoded": True,
        }


STRANGER, SLACK = Gateway(signing=False), Gateway(signing=True)
unsigned = schemathesis.openapi.from_wsgi("/openapi.json", STRANGER)
signed = schemathesis.openapi.from_wsgi("/openapi.json", SLACK)
BOUNDED = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


@unsigned.parametrize()
@BOUNDED
def test_requests_that_nobody_signed(case: schemathesis.Case) -> None:
    case.call_and_validate(checks=CHECKS)
    assert STRANGER.outside.stored == PENDING
    assert STRANGER.statuses.keys() <= {200, 401}


@signed.parametrize()
@BOUNDED
def test_requests_that_slack_might_have_signed(case: schemathesis.Case) -> None:
    case.call_and_validate(checks=CHECKS)
    assert SLACK.outside.stored == PENDING
    assert SLACK.outside.settle.approval_ids == []
    assert SLACK.statuses.keys() <= {200, 400}


def test_a_real_click_passes_the_same_gateway() -> None:
    gateway = Gateway(signing=True)
    said: list[str] = []
    body = click_body(ALICE, "approve", "i-0aaa").encode()
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": PATH,
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }
    list(gateway(environ, lambda status, _headers: said.append(status)))
    assert said == ["200 OK"]
    assert gateway.outside.stored.decided_by == ALICE


def test_the_document_tells_the_one_route_and_every_status() -> None:
    assert list(SPEC["paths"]) == [PATH]
    assert list(SPEC["paths"][PATH]) == ["post"]
    assert set(SPEC["paths"][PATH]["post"]["responses"]) == {str(status) for status in REASONS}
