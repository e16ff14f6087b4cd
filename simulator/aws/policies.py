"""Whether a resource's own policy lets an AWS service in, as EventBridge, CloudWatch Logs and API Gateway need.

Reads MiniStack's stores; changes nothing. Answers are a refusal (code, message) or None.
"""

import logging
from typing import Any

from simulator.aws import decisions
from simulator.aws.settings import Settings

logger = logging.getLogger("simulator.policies")

Refusal = tuple[str, str]


def lambda_refusal(function_arn: str, service: str, source_arn: str, settings: Settings) -> Refusal | None:
    """Why `service` ('events.amazonaws.com') acting for `source_arn` may not invoke the function; None if it may."""
    from ministack.core.iam_evaluator import EvalContext, evaluate_resource_policy
    from ministack.services import lambda_svc

    func, config, name = lambda_svc._get_func_record_for_ref(function_arn)
    base = lambda_svc._get_base_func_record_for_ref(function_arn)[0]
    if not func or not config or not base:
        return "RESOURCE_NOT_FOUND", f"function {name} does not exist"
    context = EvalContext(
        principal_arn="*",
        principal_type="Service",
        principal_account="",
        action="lambda:InvokeFunction",
        resource_arn=function_arn,
        region=settings.region,
        service_context={"aws:sourcearn": source_arn, "aws:sourceaccount": settings.account},
    )
    decision: str = evaluate_resource_policy(base.get("policy"), context, service=service).decision
    if decision == "Allow":
        return None
    return (
        "NO_PERMISSIONS",
        f"the policy of function {name} does not let {service} invoke it for {source_arn}",
    )


def role_refusal(role_arn: str, action: str, resource: str, settings: Settings) -> str | None:
    """Why a service that works as `role_arn` may not do `action` on `resource`; None if it may."""
    from ministack.core import iam_evaluator

    policies = iam_evaluator._gather_role_policies(role_arn.rsplit("/", 1)[-1], settings.account)
    context = iam_evaluator.EvalContext(
        principal_arn=role_arn,
        principal_type="AssumedRole",
        principal_account=settings.account,
        action=action,
        resource_arn=resource,
        region=settings.region,
    )
    with decisions.about_caller():
        if iam_evaluator.evaluate(context, policies).decision == "Allow":
            return None
    return f"{role_arn} does not have permissions to call {action} on {resource}"


def event_target_refusal(target_arn: str, rule_arn: str, settings: Settings) -> Refusal | None:
    """Why EventBridge cannot deliver to `target_arn` for `rule_arn`: it is missing, or its policy refuses."""
    from ministack.services import sns, sqs, stepfunctions

    service = target_arn.split(":")[2] if target_arn.count(":") >= 5 else ""
    events = "events.amazonaws.com"
    if service == "lambda":
        return lambda_refusal(target_arn, events, rule_arn, settings)
    if service == "sqs":
        if sqs._queue_by_arn(target_arn) is None:
            return "RESOURCE_NOT_FOUND", f"queue {target_arn} does not exist"
        allowed = sqs.queue_policy_allows(target_arn, events, rule_arn, settings.account)
    elif service == "sns":
        if sns._topic_by_arn_any_scope(target_arn) is None:
            return "RESOURCE_NOT_FOUND", f"topic {target_arn} does not exist"
        allowed = sns.topic_policy_allows(target_arn, events, rule_arn, settings.account)
    elif service == "states":
        if stepfunctions._resolve_state_machine_arn(target_arn) is None:
            return "RESOURCE_NOT_FOUND", f"state machine {target_arn} does not exist"
        return None
    else:
        return None
    return None if allowed else ("NO_PERMISSIONS", f"the policy of {target_arn} does not let {events} in")


def install(settings: Settings) -> None:
    """Enforce function policies where MiniStack does not: CloudWatch Logs subscriptions and HTTP APIs."""
    from ministack.services import apigateway, cloudwatch_logs

    fan_out, invoke_proxy = cloudwatch_logs._fanout_to_subscription_filters, apigateway._invoke_lambda_proxy

    def fan_out_if_allowed(group_name: str, stream_name: str, events: list[dict[str, Any]]) -> None:
        group = cloudwatch_logs._log_groups.get(group_name)
        if not group or not group.get("subscriptionFilters"):
            return
        source = f"arn:aws:logs:{settings.region}:{settings.account}:log-group:{group_name}:*"
        for each in group["subscriptionFilters"].values():
            target = each.get("destinationArn", "")
            refusal = lambda_refusal(target, "logs.amazonaws.com", source, settings)
            if ":function:" in target and refusal:
                logger.warning("subscription %s of %s: %s", each.get("filterName"), group_name, refusal[1])
                return
        fan_out(group_name, stream_name, events)

    async def invoke_if_allowed(
        integration: dict[str, Any],
        api_id: str,
        stage: str,
        path: str,
        method: str,
        *rest: Any,
        **options: Any,
    ) -> Any:
        target = apigateway._extract_lambda_ref_from_integration_uri(integration.get("integrationUri", ""))
        source = f"arn:aws:execute-api:{settings.region}:{settings.account}:{api_id}/{stage}/{method}{path}"
        if refusal := lambda_refusal(target, "apigateway.amazonaws.com", source, settings):
            logger.warning("HTTP API %s: %s", api_id, refusal[1])
            return 500, {"Content-Type": "application/json"}, b'{"message":"Internal Server Error"}'
        return await invoke_proxy(integration, api_id, stage, path, method, *rest, **options)

    cloudwatch_logs._fanout_to_subscription_filters = fan_out_if_allowed
    apigateway._invoke_lambda_proxy = invoke_if_allowed
