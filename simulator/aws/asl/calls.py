"""The calls that tasks make: over HTTP, with a session of the state machine's role, in AWS's names.

Replaces moto's fixed fake credentials, so that IAM decides about every task, and restores the conversion between the
parameter names of state machines and those of the service models.
"""

import functools
import hashlib
import threading
from datetime import datetime
from typing import Any

from simulator.aws.asl.replace import everywhere
from simulator.aws.asl.timing import aws_time
from simulator.aws.settings import Settings

ERROR_NAMES = {
    "sagemaker": "SageMaker",
    "ssm": "Ssm",
    "sqs": "Sqs",
    "sns": "Sns",
    "ec2": "Ec2",
    "fsx": "FSx",
    "s3": "S3",
    "lambda": "Lambda",
    "costexplorer": "CostExplorer",
    "servicequotas": "ServiceQuotas",
    "eventbridge": "EventBridge",
    "cloudwatch": "CloudWatch",
    "cloudwatchlogs": "CloudWatchLogs",
    "secretsmanager": "SecretsManager",
}
"""aws-sdk service as the state machine writes it, to the prefix of its error names ('SageMaker.XException')."""

BOTO_NAMES = {
    "eventbridge": "events",
    "cloudwatchlogs": "logs",
    "costexplorer": "ce",
    "servicequotas": "service-quotas",
}


class Clients:
    """boto3 clients on the embedded AWS, one for each service and role, with the newer service models."""

    def __init__(self, settings: Settings) -> None:
        import boto3

        self._settings = settings
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str], Any] = {}
        self._session: Any = boto3.Session(region_name=settings.region)
        self._session._session.get_component("data_loader").search_paths.insert(0, str(settings.models))

    def get(self, service: str, role_arn: str) -> Any:
        """Client of botocore service `service` that acts as `role_arn`."""
        from botocore.config import Config

        with self._lock:
            if (service, role_arn) not in self._clients:
                key, secret, token = self._assume(role_arn)
                client = self._session.client(
                    service,
                    endpoint_url=self._settings.endpoint,
                    aws_access_key_id=key,
                    aws_secret_access_key=secret,
                    aws_session_token=token,
                    config=Config(retries={"total_max_attempts": 1}, read_timeout=900, max_pool_connections=64),
                )
                client.meta.events.register("after-call", _ensure_request_id)
                self._clients[service, role_arn] = client
            return self._clients[service, role_arn]

    def model(self, service: str) -> Any:
        """Service model of botocore service `service`."""
        return self._session._session.get_service_model(service)

    def _assume(self, role_arn: str) -> tuple[str, str, str]:
        from ministack.services import sts

        digest = hashlib.sha256(f"states:{role_arn}".encode()).hexdigest()
        key, secret, token = f"ASIA{digest[:16].upper()}", digest[16:], digest[::-1]
        role, account = role_arn.rsplit("/", 1)[-1], role_arn.split(":")[4]
        sts.register_session(
            key,
            {
                "Arn": f"arn:aws:sts::{account}:assumed-role/{role}/states",
                "UserId": f"{role}:states",
                "SecretAccessKey": secret,
                "SessionToken": token,
            },
        )
        return key, secret, token


def _ensure_request_id(parsed: dict[str, Any], **_: Any) -> None:
    parsed.setdefault("ResponseMetadata", {}).setdefault("RequestId", "00000000-0000-0000-0000-000000000000")


def install(settings: Settings) -> None:
    """Route every task's calls through `Clients` and name parameters, results and errors as AWS does."""
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
        state_task_service_aws_sdk,
    )
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service import (
        StateTaskService,
    )
    from moto.stepfunctions.parser.asl.utils import boto_client

    clients = Clients(settings)

    def client_for(region: str, service: str, state_credentials: Any = None) -> Any:
        if state_credentials is None:
            raise RuntimeError(f"a call to {service} without the state machine's role")
        return clients.get(service, state_credentials.role_arn)

    everywhere(boto_client.boto_client_for, client_for)
    state_task_service_aws_sdk._SERVICE_ERROR_NAMES.update(ERROR_NAMES)
    StateTaskService._SERVICE_NAME_SFN_TO_BOTO_OVERRIDES.update(BOTO_NAMES)
    _restore_names(StateTaskService, clients)
    _name_heartbeat_timeouts()
    _name_missing_choice()


def _restore_names(task: Any, clients: Clients) -> None:
    from moto.stepfunctions.parser.utils import camel_to_snake_case

    @functools.cache
    def operations(service: str) -> dict[str, Any]:
        model = clients.model(service)
        return {camel_to_snake_case(name): model.operation_model(name) for name in model.operation_names}

    def operation(self: Any, service: str | None, action: str | None) -> Any:
        known = operations(self._get_boto_service_name(service))
        return known.get(self._get_boto_service_action(action))

    def normalise_parameters(
        self: Any,
        parameters: dict[str, Any],
        boto_service_name: str | None = None,
        service_action_name: str | None = None,
    ) -> None:
        model = operation(self, boto_service_name, service_action_name)
        if model is not None and model.input_shape is not None:
            self._to_boto_request(parameters, model.input_shape)

    def normalise_response(
        self: Any,
        response: Any,
        boto_service_name: str | None = None,
        service_action_name: str | None = None,
    ) -> None:
        model = operation(self, boto_service_name, service_action_name)
        if model is not None and model.output_shape is not None:
            self._from_boto_response(response, model.output_shape)
        _times_to_text(response)

    task._normalise_parameters = normalise_parameters
    task._normalise_response = normalise_response


def _times_to_text(value: Any) -> None:
    """Turn datetimes inside `value` into text, in place, as the JSON of a task's result holds them."""
    if not isinstance(value, dict | list):
        return
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        if isinstance(item, datetime):
            value[key] = aws_time(item)
        else:
            _times_to_text(item)


def _name_heartbeat_timeouts() -> None:
    from moto.stepfunctions.parser.api import HistoryEventType, TaskTimedOutEventDetails
    from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent
    from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
    from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import (
        StatesErrorNameType,
    )
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_callback import (
        StateTaskServiceCallback,
    )
    from moto.stepfunctions.parser.asl.eval.callback.callback import HeartbeatTimeoutError
    from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

    original = StateTaskServiceCallback._from_error

    def from_error(self: Any, env: Any, ex: Exception) -> Any:
        if not isinstance(ex, HeartbeatTimeoutError):
            return original(self, env, ex)
        kind = StatesErrorNameType.StatesHeartbeatTimeout
        details = TaskTimedOutEventDetails(
            resourceType=self._get_sfn_resource_type(),
            resource=self._get_sfn_resource(),
            error=kind.to_name(),
        )
        return FailureEvent(
            env=env,
            error_name=StatesErrorName(typ=kind),
            event_type=HistoryEventType.TaskTimedOut,
            event_details=EventDetails(taskTimedOutEventDetails=details),
        )

    StateTaskServiceCallback._from_error = from_error


def _name_missing_choice() -> None:
    from moto.stepfunctions.parser.api import ExecutionFailedEventDetails, HistoryEventType
    from moto.stepfunctions.parser.asl.component.common.error_name import failure_event, states_error_name
    from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import (
        StatesErrorNameType,
    )
    from moto.stepfunctions.parser.asl.component.state.choice.state_choice import StateChoice
    from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

    original = StateChoice._eval_state

    def evaluate(self: Any, env: Any) -> None:
        try:
            original(self, env)
        except RuntimeError as error:
            if not str(error.args[0]).startswith("No branching option"):
                raise
            kind = StatesErrorNameType.StatesNoChoiceMatched
            details = ExecutionFailedEventDetails(
                error=kind.to_name(),
                cause=f"No choice rule of state {self.name!r} matched and it has no Default",
            )
            raise failure_event.FailureEventException(
                failure_event.FailureEvent(
                    env=env,
                    error_name=states_error_name.StatesErrorName(typ=kind),
                    event_type=HistoryEventType.ExecutionFailed,
                    event_details=EventDetails(executionFailedEventDetails=details),
                )
            ) from error

    StateChoice._eval_state = evaluate
