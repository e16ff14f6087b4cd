"""What Lambda does in the name of a function's role: writes its log, delivers its failures. By the role's policies.

MiniStack does both without asking. In the cloud a role that may not write leaves no log, and a failure destination that
the role cannot send to is refused when it is set up.
"""

import logging
from typing import Any

from simulator.aws import policies
from simulator.aws.settings import Settings

logger = logging.getLogger("simulator.lambda_roles")

_SENDING = {"sqs": "sqs:SendMessage", "sns": "sns:Publish", "lambda": "lambda:InvokeFunction"}


def install(settings: Settings) -> None:
    """Ask IAM before a log is written and before a failure destination is set up."""
    from ministack.services import lambda_svc
    from ministack.services.cloudformation import provisioners

    emit_logs = lambda_svc._emit_lambda_logs

    def emit_lambda_logs(
        func: Any, request_id: str, log_text: str, error: bool, duration_ms: int, *, log_source: str | None = None
    ) -> None:
        config = func.get("config") or func
        name = config.get("FunctionName", "unknown")
        group = (config.get("LoggingConfig") or {}).get("LogGroup") or f"/aws/lambda/{name}"
        stream = f"arn:aws:logs:{settings.region}:{settings.account}:log-group:{group}:log-stream:{name}"
        for action in ("logs:CreateLogStream", "logs:PutLogEvents"):
            if refusal := policies.role_refusal(config["Role"], action, stream, settings):
                logger.warning("no log of %s: %s", name, refusal)
                return
        emit_logs(func, request_id, log_text, error, duration_ms, log_source=log_source)

    lambda_svc._emit_lambda_logs = emit_lambda_logs
    kind = "AWS::Lambda::EventInvokeConfig"
    provisioners._RESOURCE_HANDLERS[kind] = _with_role_check(provisioners._RESOURCE_HANDLERS[kind], settings)


def _with_role_check(handlers: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """MiniStack's failure destinations, that checks first whether the function's role may send there."""
    create = handlers["create"]

    def create_config(logical_id: str, properties: dict[str, Any], stack: str) -> Any:
        from ministack.services import lambda_svc

        _, config, name = lambda_svc._get_func_record_for_ref(properties["FunctionName"])
        for destination in (properties.get("DestinationConfig") or {}).values():
            target = str(destination["Destination"])
            action = _SENDING[target.split(":")[2]]
            if config and (refusal := policies.role_refusal(config["Role"], action, target, settings)):
                raise ValueError(f"the execution role of {name} cannot deliver its failures: {refusal}")
        return create(logical_id, properties, stack)

    return {**handlers, "create": create_config}
