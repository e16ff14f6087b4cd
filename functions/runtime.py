"""What every Lambda shares: logger, tracer, metrics, and ports wired to AWS when first asked for.

Imports Powertools; `roundhouse.aws` and `roundhouse.slack` are imported inside the accessors, so that a function pays
only for what it uses. Each accessor makes its thing once per process; `reset` forgets them all.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from functools import cache, wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from aws_lambda_powertools import Logger, Metrics

from functions.clocks import ScaledClock, SystemClock
from functions.untraced import Untraced
from roundhouse.contracts import names as contract
from roundhouse.errors import MissingSetting, RoundhouseError

if TYPE_CHECKING:
    from roundhouse import ports
    from roundhouse.aws.logs import HealthLog
    from roundhouse.aws.queues import QueueLease
    from roundhouse.aws.secrets import Secrets, SlackSecret
    from roundhouse.build.spec import ClusterSpec

ENVIRONMENT = "ROUNDHOUSE_ENVIRONMENT"
CLOCK = "ROUNDHOUSE_CLOCK"  # "<origin_unix>,<scale>"; set by the simulator alone
SLACK_API = "https://slack.com/api/"


def _tracer() -> Any:
    """Powertools' Tracer where X-Ray listens and its SDK is in the layer; else one that traces nothing."""
    if "AWS_LAMBDA_FUNCTION_NAME" not in os.environ or CLOCK in os.environ or not find_spec("aws_xray_sdk"):
        return Untraced()
    from aws_lambda_powertools import Tracer

    return Tracer(patch_modules=["botocore"])


logger = Logger()
tracer = _tracer()
metrics = Metrics(namespace=os.environ.get("POWERTOOLS_METRICS_NAMESPACE", contract.METRIC_NAMESPACE))

for _library in ("roundhouse", "functions"):  # modules that log without knowing Powertools: an audit line is not lost
    logging.getLogger(_library).addHandler(logger.registered_handler)
    logging.getLogger(_library).setLevel(os.environ.get("LOG_LEVEL", "INFO"))
    logging.getLogger(_library).propagate = False
warnings.filterwarnings("ignore", message="No application metrics to publish")

# A function starts with a whole processor, and takes its first event with the share that its memory buys: what nearly
# every function needs is imported at the start, where that costs a third of the time.
if "AWS_LAMBDA_RUNTIME_API" in os.environ:
    import roundhouse.aws.clients
    import roundhouse.codec  # noqa: F401

T = TypeVar("T")
Handler = Callable[[dict[str, Any], Any], Any]
_forget: list[Callable[[], None]] = []


def _once(make: Callable[[], T]) -> Callable[[], T]:
    """`make`, called once per process."""
    made = cache(make)
    _forget.append(made.cache_clear)
    made.__doc__ = make.__doc__
    return made


def reset() -> None:
    """Forget everything made so far, and the clients too."""
    for forget in _forget:
        forget()


def require(name: str) -> str:
    """The environment variable `name`. Raises MissingSetting when it is absent or empty."""
    value = os.environ.get(name, "")
    if not value:
        raise MissingSetting(
            f"environment variable {name} is not set; the stack sets it for each function that needs it"
        )
    return value


def handler(function: Handler) -> Handler:
    """A Lambda's entry point with log context, trace and metrics; deliberate errors are logged once, then raised."""

    @wraps(function)
    def logged(event: dict[str, Any], context: Any) -> Any:
        try:
            return function(event, context)
        except RoundhouseError as error:
            logger.warning(str(error), error=type(error).__name__)
            raise

    traced = tracer.capture_lambda_handler(logged)
    measured = metrics.log_metrics(traced)
    return logger.inject_lambda_context(measured)


# Time ------------------------------------------------------------------------------------------------------------
@_once
def clock() -> ports.Clock:
    """The line's clock; virtual when ROUNDHOUSE_CLOCK says so. Raises MissingSetting when that is not two numbers."""
    text = os.environ.get(CLOCK, "")
    if not text:
        return SystemClock()
    try:
        origin, scale = (float(part) for part in text.split(","))
    except ValueError as error:
        raise MissingSetting(f"{CLOCK} is {text!r}: it must be '<origin in Unix seconds>,<scale>'") from error
    return ScaledClock(origin, scale)


@_once
def wall_clock() -> ports.Clock:
    """The machine's clock, also under virtual time: for signatures and other things that strangers date."""
    return SystemClock()


# HyperPod and its surroundings -----------------------------------------------------------------------------------
@_once
def reader() -> ports.ClusterReader:
    """HyperPod, reading. Roles of a legacy cluster's groups come from the environment's cluster document."""
    from roundhouse.aws.hyperpod_reader import HyperpodReader

    return HyperpodReader(_client("sagemaker"), clock(), roles=lambda: {g.name: g.role for g in _spec().groups})


@_once
def writer() -> ports.ClusterWriter:
    from roundhouse.aws.hyperpod_writer import HyperpodWriter

    return HyperpodWriter(_client("sagemaker", changing=True))


@_once
def surroundings() -> ports.Surroundings:
    from roundhouse.aws.surroundings import AwsSurroundings

    return AwsSurroundings(_client, region=require("AWS_REGION"))


@_once
def health_log() -> HealthLog:
    """The subscription of the cluster's log group."""
    from roundhouse.aws.logs import HealthLog

    return HealthLog(_client("logs"))


# Records ---------------------------------------------------------------------------------------------------------
@_once
def incidents() -> ports.IncidentStore:
    from roundhouse.aws.stores import DynamoIncidents

    return DynamoIncidents(_client("dynamodb"), _table(contract.INCIDENTS))


@_once
def ledger() -> ports.Ledger:
    from roundhouse.aws.stores import DynamoLedger

    return DynamoLedger(_client("dynamodb"), _table(contract.LEDGER))


@_once
def locks() -> ports.ScaleLocks:
    """The lock on a legacy cluster's counts."""
    from roundhouse.aws.locks import DynamoLocks

    return DynamoLocks(_client("dynamodb"), _table(contract.LEDGER))


@_once
def approvals() -> ports.ApprovalStore:
    from roundhouse.aws.stores import DynamoApprovals

    return DynamoApprovals(_client("dynamodb"), _table(contract.APPROVALS))


@_once
def tokens() -> ports.TokenStore:
    from roundhouse.aws.stores import DynamoTokens

    return DynamoTokens(_client("dynamodb"), _table(contract.APPROVAL_TOKENS))


@_once
def breaker() -> ports.BreakerStore:
    from roundhouse.aws.stores import DynamoBreaker

    return DynamoBreaker(_client("dynamodb"), _table(contract.CONTROL))


@_once
def control() -> ports.ControlStore:
    from roundhouse.aws.stores import DynamoControl

    return DynamoControl(_client("dynamodb"), _table(contract.CONTROL))


@_once
def runs() -> ports.RunStore:
    from roundhouse.aws.stores import DynamoRuns

    return DynamoRuns(_client("dynamodb"), _table(contract.RUNS))


@_once
def rehearsals() -> ports.RehearsalStore:
    from roundhouse.aws.stores import DynamoRehearsals

    return DynamoRehearsals(_client("dynamodb"), _table(contract.CONTROL))


@_once
def maintenances() -> ports.MaintenanceStore:
    from roundhouse.aws.maintenances import DynamoMaintenances

    return DynamoMaintenances(_client("dynamodb"), _table(contract.MAINTENANCES))


@_once
def threads() -> ports.ThreadStore:
    from roundhouse.aws.stores import DynamoThreads

    return DynamoThreads(_client("dynamodb"), _table(contract.THREADS))


@_once
def settings() -> ports.Settings:
    """Policy and cluster document, read from SSM and kept for a minute."""
    from roundhouse.aws.settings import ParameterSettings

    return ParameterSettings(_client("ssm"), names())


# Messages and workflows ------------------------------------------------------------------------------------------
@_once
def outbox() -> ports.Outbox:
    from roundhouse.aws.queues import SqsOutbox

    return SqsOutbox(_client("sqs"), require("OUTBOX_QUEUE_URL"))


@_once
def settle_queue() -> ports.SettleQueue:
    from roundhouse.aws.queues import SqsSettleQueue

    return SqsSettleQueue(_client("sqs"), require("SETTLE_QUEUE_URL"))


@_once
def intake_queue() -> ports.IntakeQueue:
    from roundhouse.aws.queues import SqsIntakeQueue

    return SqsIntakeQueue(_client("sqs"), require("INTAKE_QUEUE_URL"))


@_once
def agent_queue() -> ports.AgentQueue:
    from roundhouse.aws.queues import SqsAgentQueue

    return SqsAgentQueue(_client("sqs"), require("AGENT_QUEUE_URL"))


def lease(queue_url: str) -> QueueLease:
    """The hold on messages received from `queue_url`: lets a message come back later than its queue would."""
    from roundhouse.aws.queues import QueueLease

    return QueueLease(_client("sqs"), queue_url)


@_once
def workflows() -> ports.Workflows:
    from roundhouse.aws.workflows import StepFunctions

    return StepFunctions(_client("stepfunctions"))


# Slack -----------------------------------------------------------------------------------------------------------
def slack_secret() -> SlackSecret:
    """Bot token and signing secret, read again after five minutes so that a rotated one is taken up."""
    return _secrets().slack(require("SLACK_SECRET_ARN"))


def messenger() -> ports.Messenger:
    """Slack, with the bot token of now. SLACK_API_URL overrides Slack's address."""
    return _messenger(slack_secret().bot_token, os.environ.get("SLACK_API_URL") or SLACK_API)


@cache
def _messenger(token: str, api_url: str) -> ports.Messenger:
    from roundhouse.slack.messenger import SlackMessenger

    return SlackMessenger(token, api_url, now=wall_clock().now)


_forget.append(_messenger.cache_clear)


@_once
def _secrets() -> Secrets:
    from roundhouse.aws.secrets import Secrets

    return Secrets(_client("secretsmanager"))


# Shared parts ----------------------------------------------------------------------------------------------------
@_once
def names() -> contract.Names:
    """Resource names of this deployment."""
    return contract.Names(require(ENVIRONMENT))


def _table(table: str) -> str:
    return names().table(table)


def _spec() -> ClusterSpec:
    return settings().cluster_spec()


def _client(service: str, *, changing: bool = False) -> Any:
    from roundhouse.aws import clients

    return clients.client(service, changing=changing)


def _forget_clients() -> None:
    from roundhouse.aws import clients

    clients.forget()


_forget.append(_forget_clients)
