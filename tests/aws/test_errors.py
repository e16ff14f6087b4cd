"""The table of error codes, and calls that got no answer."""

from __future__ import annotations

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError

from roundhouse import errors
from roundhouse.aws.errors import translated


def answer(code: str, status: int = 400, operation: str = "CreateCluster", message: str = "why") -> ClientError:
    response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, operation)  # type: ignore[arg-type]


def raised(error: Exception, operation: str = "CreateCluster") -> Exception:
    with pytest.raises(errors.RoundhouseError) as caught, translated(operation):
        raise error
    assert caught.value.__cause__ is error
    return caught.value


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("ThrottlingException", 400, errors.Throttled),
        ("Throttling", 400, errors.Throttled),
        ("TooManyRequestsException", 429, errors.Throttled),
        ("ProvisionedThroughputExceededException", 400, errors.Throttled),
        ("RequestLimitExceeded", 503, errors.Throttled),
        ("SlowDown", 503, errors.Throttled),
        ("InternalServerError", 500, errors.Unavailable),
        ("InternalFailure", 500, errors.Unavailable),
        ("ServiceUnavailableException", 503, errors.Unavailable),
        ("RequestTimeoutException", 400, errors.Unavailable),
        ("NeverHeardOf", 502, errors.Unavailable),
        ("", 504, errors.Unavailable),
        ("AccessDeniedException", 400, errors.AccessDenied),
        ("AccessDenied", 403, errors.AccessDenied),
        ("403", 403, errors.AccessDenied),
        ("UnauthorizedOperation", 403, errors.AccessDenied),
        ("ExpiredTokenException", 400, errors.AccessDenied),
        ("UnrecognizedClientException", 400, errors.AccessDenied),
        ("ResourceNotFound", 400, errors.NotFound),
        ("ResourceNotFoundException", 400, errors.NotFound),
        ("ParameterNotFound", 400, errors.NotFound),
        ("404", 404, errors.NotFound),
        ("InvalidSubnetID.NotFound", 400, errors.NotFound),
        ("AWS.SimpleQueueService.NonExistentQueue", 400, errors.NotFound),
        ("com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", 400, errors.NotFound),
        ("ResourceInUse", 400, errors.InUse),
        ("ResourceInUseException", 400, errors.InUse),
        ("ResourceLimitExceeded", 400, errors.LimitExceeded),
        ("LimitExceededException", 400, errors.LimitExceeded),
        ("ConflictException", 409, errors.Conflict),
        ("TransactionConflictException", 400, errors.Conflict),
        ("ValidationException", 400, errors.InvalidRequest),
        ("InvalidParameterValue", 400, errors.InvalidRequest),
        ("NeverHeardOf", 400, errors.AwsFailure),
    ],
)
def test_an_error_code_has_one_meaning(code: str, status: int, kind: type[errors.AwsFailure]) -> None:
    error = raised(answer(code, status))
    assert type(error) is kind
    assert isinstance(error, errors.AwsFailure)
    assert error.operation == "CreateCluster"
    assert error.code == code.rpartition("#")[2]
    assert str(error).startswith("CreateCluster failed: ")
    assert "why" in str(error)


def test_cost_explorers_limit_is_throttling() -> None:
    assert type(raised(answer("LimitExceededException", operation="GetCostAndUsage"))) is errors.Throttled


@pytest.mark.parametrize(
    ("operation", "message", "kind"),
    [
        ("DescribeTrainingPlan", "Could not find training plan nobodys-plan", errors.NotFound),
        ("DescribeTrainingPlan", "1 validation error detected", errors.InvalidRequest),
        ("CreateCluster", "The subnet does not exist", errors.InvalidRequest),
    ],
)
def test_an_absent_thing_may_be_called_invalid(operation: str, message: str, kind: type[Exception]) -> None:
    assert type(raised(answer("ValidationException", operation=operation, message=message))) is kind


def test_missing_credentials_say_what_to_set() -> None:
    ours = raised(NoCredentialsError(), "GetItem")
    assert str(ours) == "GetItem was not called: Unable to locate credentials (set AWS_PROFILE, or sign in again)"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ReadTimeoutError(endpoint_url="https://x"), errors.Unavailable),
        (ConnectTimeoutError(endpoint_url="https://x"), errors.Unavailable),
        (EndpointConnectionError(endpoint_url="https://x"), errors.Unavailable),
        (ResponseParserError("not JSON"), errors.Unavailable),
        (NoCredentialsError(), errors.AccessDenied),
        (ParamValidationError(report="Unknown parameter"), errors.InvalidRequest),
        (NoRegionError(), errors.MissingSetting),
        (BotoCoreError(), errors.AwsFailure),
    ],
)
def test_a_call_without_an_answer(error: Exception, kind: type[Exception]) -> None:
    ours = raised(error, "BatchReplaceClusterNodes")
    assert type(ours) is kind
    assert str(ours).startswith("BatchReplaceClusterNodes ")


def test_a_lost_answer_says_what_it_may_have_done() -> None:
    assert "may have taken effect" in str(raised(answer("InternalFailure", 500)))


def test_other_exceptions_pass() -> None:
    with pytest.raises(KeyError), translated("CreateCluster"):
        raise KeyError("a bug")
