"""Waiting for what the embedded AWS does in its own time."""

import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

Found = TypeVar("Found")


def eventually(look: Callable[[], Found | None], seconds: float = 10.0, what: str = "it") -> Found:
    """First true result of `look`; fails after `seconds` real seconds."""
    end = time.monotonic() + seconds
    while True:
        if found := look():
            return found
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen within {seconds:g} s")
        time.sleep(0.05)


def records(aws: Any, table: str, stack: str, kind: str) -> list[dict[str, Any]]:
    """What the probe's functions recorded, in no order."""
    answer = aws.client("dynamodb").query(
        TableName=table,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": f"{stack}#{kind}"}},
    )
    return [json.loads(item["body"]["S"]) for item in answer["Items"]]


def messages(aws: Any, queue: str) -> list[dict[str, Any]]:
    """Take up to ten messages, with their attributes."""
    answer = aws.client("sqs").receive_message(
        QueueUrl=queue, MaxNumberOfMessages=10, MessageAttributeNames=["All"], VisibilityTimeout=30
    )
    return list(answer.get("Messages", []))


def run(aws: Any, machine: str, given: dict[str, Any], seconds: float = 20.0) -> dict[str, Any]:
    """Start an execution and return its description after its end."""
    states = aws.client("sfn")
    arn = states.start_execution(stateMachineArn=machine, input=json.dumps(given))["executionArn"]

    def ended() -> dict[str, Any] | None:
        described = states.describe_execution(executionArn=arn)
        return described if described["status"] != "RUNNING" else None

    return eventually(ended, seconds, f"the end of {given}")
