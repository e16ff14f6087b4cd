"""Whether AWS's cost alerts may publish to an SNS topic: a setup check, for a refused alert tells nobody. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

PUBLISHER = "costalerts.amazonaws.com"
PUBLISH = "sns:publish"


def publish_problem(policy: str | Mapping[str, Any] | None, topic_arn: str) -> str | None:
    """Why cost alerts would not arrive at `topic_arn` under its access policy; None when they may.

    `policy` is the topic's `Policy` attribute, JSON or decoded. Conditions are not evaluated: a statement that allows
    under a condition counts as allowing, one that denies under a condition does not count.
    """
    remedy = f"allow sns:Publish to the service {PUBLISHER} in the policy of {topic_arn}"
    if isinstance(policy, str):
        try:
            policy = json.loads(policy)
        except ValueError:
            return f"the topic's policy is no JSON; {remedy}"
    if not isinstance(policy, Mapping):
        return f"the topic has no policy; {remedy}"
    allowed = False
    for statement in _items(policy.get("Statement")):
        if not isinstance(statement, Mapping) or not _concerns(statement, topic_arn):
            continue
        if statement.get("Effect") == "Deny" and not statement.get("Condition"):
            return f"a statement denies it to {PUBLISHER}; remove it, and {remedy}"
        allowed = allowed or statement.get("Effect") == "Allow"
    return None if allowed else f"no statement allows it; {remedy}"


def _concerns(statement: Mapping[str, Any], topic_arn: str) -> bool:
    action = any(fnmatchcase(PUBLISH, pattern.lower()) for pattern in _texts(statement.get("Action")))
    resource = any(fnmatchcase(topic_arn, pattern) for pattern in _texts(statement.get("Resource")))
    return action and resource and _means_publisher(statement)


def _means_publisher(statement: Mapping[str, Any]) -> bool:
    """A topic's default policy allows {"AWS": "*"} if the owner calls, which a service is not: it only ever denies."""
    principal = statement.get("Principal")
    if not isinstance(principal, Mapping):
        return principal == "*"
    if statement.get("Effect") == "Deny" and "*" in _texts(principal.get("AWS")):
        return True
    return PUBLISHER in _texts(principal.get("Service"))


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _texts(value: object) -> Iterator[str]:
    return (item for item in _items(value) if isinstance(item, str))
