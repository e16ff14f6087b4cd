"""Slack's request signature over the raw bytes of a Lambda HTTP event. Imports slack_sdk.

The signature covers the bytes as they were sent. Nothing is parsed before it has been checked.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

from slack_sdk.signature import Clock, SignatureVerifier


def raw_body(event: Mapping[str, Any]) -> bytes | None:
    """The body as sent (API Gateway payload 2.0, Function URL); None when it says base64 and is not."""
    body = event.get("body") or ""
    if not isinstance(body, str):
        return None
    if not event.get("isBase64Encoded"):
        return body.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return None


def signed_by_slack(event: Mapping[str, Any], secret: str, now: datetime) -> bytes | None:
    """The raw body if Slack signed it within five minutes of `now` (wall clock, aware), else None.

    No secret, no headers, anything malformed: None. Without a secret nothing is ever let in.
    """
    body = raw_body(event)
    headers = event.get("headers")
    if body is None or not secret.strip() or not isinstance(headers, Mapping):
        return None
    try:
        verifier = _BytesVerifier(secret, _FixedClock(now))
        return body if verifier.is_valid_request(body, {str(key): value for key, value in headers.items()}) else None
    except (TypeError, ValueError, OverflowError):
        return None  # a timestamp that is no number, a signature that is not ASCII


def is_certificate_check(event: Mapping[str, Any]) -> bool:
    """Whether this is Slack's `ssl_check` and nothing else: it may come unsigned and asks for nothing."""
    body = raw_body(event)
    if body is None or not body.isascii():  # parse_qs fails on bytes that are not ASCII, and anybody may send them
        return False
    try:
        form = parse_qs(body.decode("ascii"), max_num_fields=2)
    except ValueError:
        return False
    return form.get("ssl_check") == ["1"] and set(form) <= {"ssl_check", "token"}


class _FixedClock(Clock):
    def __init__(self, now: datetime) -> None:
        self._now = now.timestamp()

    def now(self) -> float:
        return self._now


class _BytesVerifier(SignatureVerifier):
    """The SDK decodes the body as UTF-8 first and fails on bytes that are not; a signature needs no decoding."""

    def generate_signature(self, *, timestamp: str, body: str | bytes) -> str | None:
        raw = body if isinstance(body, bytes) else body.encode()
        signed = b"v0:" + timestamp.encode() + b":" + raw
        return "v0=" + hmac.new(self.signing_secret.encode(), signed, hashlib.sha256).hexdigest()
