"""AWS's errors to ours: the one place where an error code gets a meaning. Imports botocore.

The table goes by code, then by HTTP status. A lost answer (time-out, broken connection, 5xx) is `Unavailable`: the
call may have taken effect, and only live state can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 - botocore's own: no connection, or none in time
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    PartialCredentialsError,
    ResponseStreamingError,
)
from botocore.parsers import ResponseParserError

from roundhouse.errors import (
    AccessDenied,
    AwsFailure,
    Conflict,
    InUse,
    InvalidRequest,
    LimitExceeded,
    MissingSetting,
    NotFound,
    Throttled,
    Unavailable,
)

# Codes without their `Exception` suffix: services disagree about it, and so do the versions of one service.
_CODES: dict[type[AwsFailure], str] = {
    Throttled: """Throttling Throttled ThrottledRequest TooManyRequests RequestLimitExceeded RequestThrottled
        ProvisionedThroughputExceeded RequestThrottling SlowDown EC2Throttled PriorRequestNotComplete OverLimit
        BandwidthLimitExceeded TransactionInProgress KmsThrottled""",
    Unavailable: """InternalServerError InternalServer InternalFailure InternalError InternalService
        InternalServiceError ServiceUnavailable Unavailable ServerError RequestTimeout RequestTimedOut
        500 502 503 504""",
    AccessDenied: """AccessDenied AccessDeniedByPolicy UnauthorizedOperation NotAuthorized Unauthorized AuthFailure
        UnrecognizedClient ExpiredToken RequestExpired InvalidClientTokenId SignatureDoesNotMatch InvalidSignature
        IncompleteSignature MissingAuthenticationToken OptInRequired KmsAccessDenied InvalidAccessKeyId 403""",
    NotFound: """ResourceNotFound NotFound ParameterNotFound ParameterVersionNotFound NoSuchBucket NoSuchKey
        NoSuchResource FileSystemNotFound QueueDoesNotExist AWS.SimpleQueueService.NonExistentQueue
        StateMachineDoesNotExist ExecutionDoesNotExist TaskDoesNotExist DataUnavailable 404""",
    InUse: "ResourceInUse ResourceAlreadyExists ExecutionAlreadyExists AlreadyExists",
    LimitExceeded: """ResourceLimitExceeded LimitExceeded ServiceQuotaExceeded QuotaExceeded ExecutionLimitExceeded
        ItemCollectionSizeLimitExceeded""",
    Conflict: "Conflict ResourceConflict OperationAborted TransactionConflict ReplicatedWriteConflict TaskTimedOut",
    InvalidRequest: """Validation ValidationError InvalidParameter InvalidParameterValue InvalidParameterCombination
        MissingParameter MalformedQueryString InvalidRequest InvalidInput InvalidAction UnknownOperation Serialization
        BadRequest InvalidName InvalidArn InvalidExecutionInput InvalidOutput InvalidToken InvalidMessageContents
        ReceiptHandleIsInvalid MessageNotInflight 400""",
}
_KINDS = {code: kind for kind, codes in _CODES.items() for code in codes.split()}

# Where a code means something else than elsewhere: (operation, code).
_EXCEPTIONS: dict[tuple[str, str], type[AwsFailure]] = {
    ("GetCostAndUsage", "LimitExceededException"): Throttled,  # Cost Explorer's word for "too many calls"
}

_HINTS: dict[type[AwsFailure], str] = {
    Unavailable: "the call may have taken effect, read live state before repeating it",
    AccessDenied: "give the role this permission or renew the credentials",
    LimitExceeded: "ask for a higher quota",
}

_ABSENT = re.compile(r"could not find|does not exist|cannot find", re.IGNORECASE)


def code_of(error: ClientError) -> str:
    """The error code without its namespace."""
    return str(error.response.get("Error", {}).get("Code", "")).rpartition("#")[2]


def from_client_error(error: ClientError) -> AwsFailure:
    """Our exception for an error answer; plain AwsFailure for a 4xx code that is not in the table."""
    code = code_of(error)
    text = str(error.response.get("Error", {}).get("Message", "")) or "no message"
    operation = error.operation_name
    kind = _EXCEPTIONS.get((operation, code)) or _kind(code, error.response)
    # Some Describe operations of SageMaker answer ValidationException for a name that is not there.
    if kind is InvalidRequest and operation.startswith("Describe") and _ABSENT.search(text):
        kind = NotFound
    return _made(kind, operation, code, text)


def from_botocore_error(operation: str, error: BotoCoreError | ResponseParserError) -> AwsFailure | MissingSetting:
    """Our exception for a call that got no answer, or was never made."""
    code = type(error).__name__
    if isinstance(error, HTTPClientError | ConnectionError | ResponseStreamingError | ResponseParserError):
        return _made(Unavailable, operation, code, str(error))
    if isinstance(error, NoCredentialsError | PartialCredentialsError | CredentialRetrievalError):
        hint = "set AWS_PROFILE, or sign in again"
        return AccessDenied(f"{operation} was not called: {error} ({hint})", operation=operation, code=code)
    if isinstance(error, ParamValidationError):
        return _made(InvalidRequest, operation, code, str(error))
    if isinstance(error, NoRegionError):
        return MissingSetting(f"{operation} was not called: no AWS region; set AWS_REGION")
    return _made(AwsFailure, operation, code, str(error))


@contextmanager
def translated(operation: str) -> Iterator[None]:
    """Raise botocore's exceptions of the calls inside as ours. `operation` names them where the error does not."""
    try:
        yield
    except ClientError as error:
        raise from_client_error(error) from error
    except (BotoCoreError, ResponseParserError) as error:
        raise from_botocore_error(operation, error) from error


def _kind(code: str, response: object) -> type[AwsFailure]:
    kind = _KINDS.get(code) or _KINDS.get(code.removesuffix("Exception"))
    if kind is None and code.endswith(".NotFound"):  # EC2: InvalidSubnetID.NotFound
        kind = NotFound
    if kind is None and _status(response) >= 500:
        kind = Unavailable
    return kind or AwsFailure


def _status(response: object) -> int:
    metadata = response.get("ResponseMetadata", {}) if isinstance(response, dict) else {}
    return int(metadata.get("HTTPStatusCode", 0))


def _made(kind: type[AwsFailure], operation: str, code: str, text: str) -> AwsFailure:
    hint = f" ({_HINTS[kind]})" if kind in _HINTS else ""
    return kind(f"{operation} failed: {code}: {text}{hint}", operation=operation, code=code)
