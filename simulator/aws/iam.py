"""IAM for the added services: their action namespaces, resource ARNs, and the pass-role check of CreateCluster.

Touches MiniStack's IAM tables at start. Resource types follow the Service Authorization Reference: cluster and
training-plan ARNs for SageMaker, '*' for the calls that AWS cannot restrict to a resource.
"""

import json
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

NAMESPACES = {
    "sagemaker": "sagemaker",
    "fsx": "fsx",
    "ce": "ce",
    "service-quotas": "servicequotas",
}

_CLUSTER_MEMBERS = ("ClusterName", "ClusterArn")
_PLAN_MEMBERS = ("TrainingPlanName", "TrainingPlanArn")
_UNRESTRICTED = {"ListClusters", "ListTrainingPlans", "SearchTrainingPlanOfferings"}

ClusterArn = Callable[[str], str | None]
ClusterTags = Callable[[], list[tuple[str, dict[str, str]]]]


def sagemaker_resource(
    operation: str, params: Mapping[str, Any], region: str, account: str, cluster_arn: ClusterArn
) -> str:
    """ARN that IAM checks for a SageMaker call; `cluster_arn` maps a live cluster's name to its ARN.

    A cluster's ARN holds its id, not its name, so a name that is not (yet) known is checked as `cluster/*`:
    CreateCluster needs a permission on all clusters, as in the cloud.
    """
    if operation in _UNRESTRICTED:
        return "*"
    prefix = f"arn:aws:sagemaker:{region}:{account}"
    if operation in ("AddTags", "DeleteTags", "ListTags"):
        return str(params.get("ResourceArn") or "*")
    for member in _PLAN_MEMBERS:
        if name := params.get(member):
            text = str(name)
            return text if text.startswith("arn:") else f"{prefix}:training-plan/{text}"
    for member in _CLUSTER_MEMBERS:
        if name := params.get(member):
            text = str(name)
            if text.startswith("arn:"):
                return text
            if operation == "CreateCluster":
                return f"{prefix}:cluster/*"
            return cluster_arn(text) or f"{prefix}:cluster/*"
    return "*"


def further_checks(operation: str, params: Mapping[str, Any], region: str, account: str) -> list[tuple[str, str]]:
    """(action, resource) that a SageMaker call needs beside its own action on its own resource.

    Roles handed to instances are passed, training plans are used, tags are added.
    """
    if operation not in ("CreateCluster", "UpdateCluster"):
        return []
    groups = params.get("InstanceGroups") or []
    roles = {group["ExecutionRole"] for group in groups if group.get("ExecutionRole")}
    plans = {group["TrainingPlanArn"] for group in groups if group.get("TrainingPlanArn")}
    checks = [("iam:PassRole", role) for role in sorted(roles)]
    checks += [(f"sagemaker:{operation}", plan) for plan in sorted(plans)]
    if params.get("Tags"):
        checks.append(("sagemaker:AddTags", f"arn:aws:sagemaker:{region}:{account}:cluster/*"))
    return checks


def further_refusal(service: str, operation: str, params: dict[str, Any], headers: dict[str, str]) -> str | None:
    """AWS's message if the caller lacks one of the call's further permissions, else None.

    Needs MiniStack's request context.
    """
    from ministack.core import iam_evaluator, responses, router

    if service != "sagemaker":
        return None
    access_key, region = router.extract_access_key_id(headers), responses.get_region()
    for action, resource in further_checks(operation, params, region, responses.get_account_id()):
        context = {"iam:PassedToService": "sagemaker.amazonaws.com"} if action == "iam:PassRole" else None
        if iam_evaluator.enforce(
            access_key, action, action.split(":")[0], region, resource_arn=resource, service_context=context
        ):
            caller = iam_evaluator.caller_arn()
            return f"User: {caller} is not authorized to perform: {action} on resource: {resource}"
    return None


def qualified(arn: str, query_params: Mapping[str, Any]) -> str:
    """A function's ARN with the version or alias that the call names: permissions on one are not on the other."""
    given = query_params.get("Qualifier")
    qualifier = given[0] if isinstance(given, list) and given else given
    if not qualifier or ":function:" not in arn or arn.count(":") > 6:
        return arn
    return f"{arn}:{qualifier}"


def install(cluster_arn: ClusterArn, cluster_tags: ClusterTags, machine_of_token: Callable[[str], str | None]) -> None:
    """Let MiniStack authorise the added services, and answers to task tokens by the machine that gave them out.

    `cluster_tags` is what conditions on `aws:ResourceTag` see of HyperPod clusters.
    """
    from ministack.core import iam_actions
    from ministack.services import tagging

    tagging._RESOURCE_TAG_COLLECTORS["sagemaker"] = lambda: (
        (arn, [{"Key": key, "Value": value} for key, value in tags.items()]) for arn, tags in cluster_tags()
    )
    iam_actions.SERVICE_TO_IAM_NAMESPACE.update(NAMESPACES)
    original = iam_actions.extract_resource_arn

    def extract(
        service: str,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes,
        query_params: dict[str, Any],
        region: str,
        account_id: str,
    ) -> str:
        if service not in NAMESPACES and b'"taskToken"' not in body:
            arn = str(original(service, method, path, headers, body, query_params, region, account_id))
            return qualified(arn, query_params) if service == "lambda" else arn
        try:
            params = json.loads(body or b"{}")
        except ValueError:
            return "*"
        operation = headers.get("x-amz-target", "").rpartition(".")[2]
        if service == "states":
            return machine_of_token(str(params.get("taskToken"))) or "*"
        if service == "sagemaker" and isinstance(params, dict):
            return sagemaker_resource(operation, params, region, account_id, cluster_arn)
        return "*"

    iam_actions.extract_resource_arn = extract
    _take_loopback_for_tls()


def _take_loopback_for_tls() -> None:
    """Policies that refuse plain HTTP (`aws:SecureTransport`) are right; loopback stands in for TLS here.

    So it does for deliveries that no request begins: those of EventBridge and CloudWatch Logs.
    """
    from ministack import app
    from ministack.core import iam_evaluator

    iam_evaluator._request_origin = ContextVar("request_origin", default=("127.0.0.1", True))
    pin = app.pin_request_origin
    app.pin_request_origin = lambda source_ip, secure_transport: pin(source_ip, True)
