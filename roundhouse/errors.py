"""Every exception Roundhouse raises on purpose. Standard library only.

The class names are part of a contract: state machines name them in `Retry` and `Catch`.

RoundhouseError
├── BadInput                  something given to us is wrong; the message says what, where and what to do
│   ├── EnvironmentInvalid    an environment file has problems (all of them are listed)
│   ├── MalformedEvent        a payload that is not what its source documents
│   ├── MissingSetting        a Lambda's environment variable is absent
│   └── NewerContract         written by newer code than this: wait until the deployment is through
├── Refused                   a guard said no and nothing was changed
│   ├── PreflightFailed       creation preconditions do not hold (all of them are listed)
│   ├── AlreadyRunning        another creation of this cluster is under way
│   └── TakenOver             a later creation has taken this one's place: it must stop
├── AwsFailure                an AWS call did not do what was asked
│   ├── Throttled             slow down and try again
│   ├── Unavailable           5xx, time-out or lost answer: the call may have taken effect
│   ├── AccessDenied          the role lacks a permission
│   ├── NotFound              the thing named does not exist
│   ├── InUse                 a thing of that name exists, or is busy
│   ├── LimitExceeded         a quota
│   ├── Conflict              another operation is under way
│   └── InvalidRequest        the service refused the request as malformed
├── StoreFailure
│   └── ConditionFailed       somebody else changed the record first: read again
└── SlackFailure
    ├── SlackRateLimited      wait `retry_after` seconds
    ├── SlackUnavailable      5xx, time-out: the message may have been posted
    └── SlackRejected         Slack refused the request for good (bad blocks, missing channel)
"""


class RoundhouseError(Exception):
    """Root of all deliberate errors."""


class BadInput(RoundhouseError):
    """Something given to us is wrong."""


class EnvironmentInvalid(BadInput):
    """An environment file has problems; the message lists every one."""


class MalformedEvent(BadInput):
    """A payload that is not what its source documents."""


class MissingSetting(BadInput):
    """A required environment variable of a Lambda is absent."""


class NewerContract(BadInput):
    """A record or message that newer code wrote. State machines and queues try again until that code runs here."""


class Refused(RoundhouseError):
    """A guard said no and nothing was changed."""


class PreflightFailed(Refused):
    """Preconditions of a creation do not hold; the message lists every one."""


class AlreadyRunning(Refused):
    """Another creation of this cluster is under way."""


class TakenOver(Refused):
    """A later creation of the same cluster has taken this one's place: this one must stop."""


class AwsFailure(RoundhouseError):
    """An AWS call did not do what was asked. `operation` and `code` say which and why."""

    def __init__(self, message: str, *, operation: str = "", code: str = "") -> None:
        super().__init__(message)
        self.operation = operation
        self.code = code


class Throttled(AwsFailure):
    """The service asks us to slow down."""


class Unavailable(AwsFailure):
    """Server error, time-out or lost answer: the call may have taken effect."""


class AccessDenied(AwsFailure):
    """The role lacks a permission."""


class NotFound(AwsFailure):
    """The named thing does not exist."""


class InUse(AwsFailure):
    """A thing of that name exists already, or is busy."""


class LimitExceeded(AwsFailure):
    """A quota stands in the way."""


class Conflict(AwsFailure):
    """Another operation on the same resource is under way."""


class InvalidRequest(AwsFailure):
    """The service refused the request as malformed."""


class StoreFailure(RoundhouseError):
    """A record could not be read or written."""


class ConditionFailed(StoreFailure):
    """Somebody else changed the record first: read again and decide again."""


class SlackFailure(RoundhouseError):
    """Slack did not do what was asked."""


class SlackRateLimited(SlackFailure):
    """Slack asks us to wait `retry_after` seconds (None: no usable hint, back off)."""

    def __init__(self, message: str, *, retry_after: float | None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class SlackUnavailable(SlackFailure):
    """Server error or time-out: the message may have been posted, never post it again blindly."""


class SlackRejected(SlackFailure):
    """Slack refused the request for good. `code` is Slack's error name."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code
