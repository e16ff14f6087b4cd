"""CloudTrail's word of a call, as EventBridge carries it. Imports the contract with the embedded AWS alone.

Every call of the API is told, whoever made it; what HyperPod does by itself is not.
"""

from typing import Any

from simulator.service import Caller, ServiceError

DETAIL_TYPE = "AWS API Call via CloudTrail"


def detail(
    operation: str,
    params: dict[str, Any],
    caller: Caller,
    event_id: str,
    time: str,
    outcome: dict[str, Any] | ServiceError,
) -> dict[str, Any]:
    """The event's detail: CloudTrail's record of a management event, version 1.11, as far as anybody reads it."""
    failed = isinstance(outcome, ServiceError)
    made: dict[str, Any] = {
        "eventVersion": "1.11",
        "userIdentity": identity(caller),
        "eventTime": time,
        "eventSource": "sagemaker.amazonaws.com",
        "eventName": operation,
        "awsRegion": caller.region,
        "requestParameters": _camel(params),
        "responseElements": None if failed else _camel(outcome),
        "eventID": event_id,
        "readOnly": False,
        "eventType": "AwsApiCall",
        "managementEvent": True,
        "recipientAccountId": caller.account,
    }
    if isinstance(outcome, ServiceError):
        made |= {"errorCode": outcome.code, "errorMessage": outcome.message}
    return made


def identity(caller: Caller) -> dict[str, Any]:
    """Who called. A function's session carries the function's name; where that is not known, the role's."""
    arn = caller.principal_arn or f"arn:aws:iam::{caller.account}:root"
    kind, _, name = arn.rpartition(":")[2].partition("/")
    if kind == "role":
        arn = f"arn:aws:sts::{caller.account}:assumed-role/{name}/{name}"
    types = {"role": "AssumedRole", "assumed-role": "AssumedRole", "user": "IAMUser"}
    return {"type": types.get(kind, "Root"), "arn": arn, "accountId": caller.account}


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: _camel(child) for key, child in value.items()}
    return [_camel(child) for child in value] if isinstance(value, list) else value
