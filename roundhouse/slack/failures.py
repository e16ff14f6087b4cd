"""What the Slack SDK raised, as one of our exceptions. Imports slack_sdk.

The question that matters is whether a message may have been posted: 429 and a refusal say no, all else may.
"""

from __future__ import annotations

import http.client
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from slack_sdk.errors import SlackApiError, SlackClientError

from roundhouse.errors import SlackFailure, SlackRateLimited, SlackRejected, SlackUnavailable

_RATE_LIMITED = {"ratelimited", "rate_limited"}
_PASSING = {"internal_error", "fatal_error", "service_unavailable", "request_timeout"}
_ERROR_NAME = re.compile(r"[a-z][a-z0-9_.]*")

# The SDK lets these through: sockets and time-outs, cut answers, bodies that are no JSON object.
_TRANSPORT = (OSError, http.client.HTTPException, ValueError, AttributeError, TypeError, SlackClientError)


@contextmanager
def translated(method: str, now: Callable[[], datetime]) -> Iterator[None]:
    """Raise SlackRateLimited, SlackUnavailable or SlackRejected for whatever an SDK call inside raises."""
    try:
        yield
    except SlackApiError as error:
        raise _from_answer(method, error, now()) from error
    except _TRANSPORT as error:
        raise SlackUnavailable(f"{method}: no answer from Slack ({type(error).__name__}: {error})") from error


def _from_answer(method: str, error: SlackApiError, now: datetime) -> SlackFailure:
    response = error.response
    status, headers, data = response.status_code, response.headers, response.data
    code = data.get("error") if isinstance(data, dict) else None
    if status == 429 or code in _RATE_LIMITED:
        seconds = retry_after(headers, now)
        wait = "without saying how long" if seconds is None else f"for {seconds:.0f} s"
        return SlackRateLimited(f"{method}: Slack asks us to wait {wait}", retry_after=seconds)
    # The SDK puts its own sentence where the error name should be when the body was not JSON.
    if status >= 500 or code in _PASSING or not isinstance(code, str) or not _ERROR_NAME.fullmatch(code):
        return SlackUnavailable(f"{method}: status {status}, {str(code)[:200]!r}")
    details = data.get("response_metadata") if isinstance(data, dict) else None
    messages = details.get("messages") if isinstance(details, dict) else None
    reasons = "; ".join(map(str, messages)) if isinstance(messages, list) else ""
    return SlackRejected(f"{method}: Slack refused with {code!r} {reasons[:500]}".rstrip(), code=code)


def retry_after(headers: Mapping[str, object], now: datetime) -> float | None:
    """Seconds to wait: Retry-After as a number or an HTTP date; None when it is absent or makes no sense.

    >>> retry_after({"retry-after": "30"}, datetime.now(UTC))
    30.0
    """
    value = next((str(value).strip() for name, value in headers.items() if name.lower() == "retry-after"), "")
    try:
        seconds = float(value)
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())
