"""Adds services to MiniStack: JSON 1.1 requests go to a `Service` object, validated on the way in and out.

Touches MiniStack's registries at start. A request that breaks the service model is the caller's error (400); a
response that breaks it is answered as a 500 that says 'simulator bug', so a test cannot pass on a made-up field.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

from simulator.aws.models import Models, from_wire, problems, to_wire
from simulator.service import Caller, Service, ServiceError

logger = logging.getLogger("simulator.services")

Reply = tuple[int, dict[str, str], bytes]

VALIDATION_CODES = {"fsx": "BadRequest", "service-quotas": "IllegalArgumentException"}
"""How a service names a request that breaks its model; ValidationException where nothing else is known."""


def _error(status: int, code: str, message: str, extra: dict[str, Any] | None = None) -> Reply:
    body = {"__type": code, "message": message, **to_wire(extra or {})}
    headers = {"Content-Type": "application/x-amz-json-1.1", "x-amzn-errortype": code}
    return status, headers, json.dumps(body).encode()


def answer(service: Service, models: Models, target: str, body: bytes, caller: Caller) -> Reply:
    """One request to one reply (status, headers, body). `target` is the X-Amz-Target header."""
    name = target.rpartition(".")[2]
    operation = models.operation(service.name, name)
    if operation is None:
        return _error(400, "UnknownOperationException", f"{service.name} has no operation {name!r}")
    try:
        raw = json.loads(body or b"{}")
    except ValueError:
        return _error(400, "SerializationException", "the request body is not JSON")
    params = from_wire(raw, operation.input_shape)
    if wrong := list(problems(params, operation.input_shape)):
        code = VALIDATION_CODES.get(service.name, "ValidationException")
        plural = "error" if len(wrong) == 1 else "errors"
        return _error(400, code, f"{len(wrong)} validation {plural} detected: {'; '.join(wrong)}")
    try:
        result = service.call(name, params, caller)
    except ServiceError as error:
        return _error(error.status, error.code, error.message, dict(error.extra))
    except Exception as error:
        logger.exception("simulator bug in %s %s", service.name, name)
        return _error(500, "InternalFailure", f"simulator bug in {service.name} {name}: {error!r}")
    if wrong := list(problems(result or {}, operation.output_shape)):
        logger.error("simulator bug: %s %s answered %s", service.name, name, "; ".join(wrong))
        return _error(500, "InternalFailure", f"simulator bug: answer of {name} breaks the model: {'; '.join(wrong)}")
    headers = {"Content-Type": "application/x-amz-json-1.1"}
    return 200, headers, json.dumps(to_wire(result or {})).encode()


Guard = Callable[[str, str, dict[str, Any], dict[str, str]], str | None]
"""(service, operation, raw parameters, headers) to the message of a further denial, or None."""


def register(services: Sequence[Service], models: Models, guard: Guard) -> None:
    """Make MiniStack route `services` by their X-Amz-Target prefix and by the signature's service name."""
    from ministack import app
    from ministack.core import router

    for service in services:
        model = models.service(service.name)
        prefix = str(model.metadata["targetPrefix"])
        app.SERVICE_REGISTRY[service.name] = {"module": "simulator"}
        app.SERVICE_HANDLERS[service.name] = _handler(service, models, guard)
        router.SERVICE_PATTERNS[service.name] = {"target_prefixes": [prefix + "."]}


def _handler(service: Service, models: Models, guard: Guard) -> Any:
    from ministack.core import iam_evaluator, responses

    async def handle(
        method: str, path: str, headers: dict[str, str], body: bytes, query_params: dict[str, Any]
    ) -> Reply:
        principal = iam_evaluator.caller_arn() or None
        caller = Caller(responses.get_account_id(), responses.get_region(), principal)
        target = headers.get("x-amz-target", "")
        if refusal := guard(service.name, target.rpartition(".")[2], _parameters(body), headers):
            return _error(400, "AccessDeniedException", refusal)
        return await asyncio.to_thread(answer, service, models, target, body, caller)

    return handle


def _parameters(body: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(body or b"{}")
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}
