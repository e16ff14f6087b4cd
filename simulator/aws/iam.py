"""IAM for the added services: their action namespaces, resource ARNs, and the pass-role check of CreateCluster.

Touches MiniStack's IAM tables at start. Resource types follow the Service Authorization Reference: cluster and
training-plan ARNs for SageMaker, '*' for the calls that AWS cannot restrict to a resource.
"""

import json
from collections.abc import Callable, Mapping
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


def passed_roles(operation: str, params: Mapping[str, Any]) -> list[str]:
    """Role ARNs that a SageMaker call hands to instances, each of which needs iam:PassRole."""
    if operation not in ("CreateCluster", "UpdateCluster"):
        return []
    groups = params.get("InstanceGroups") or []
    return sorted({group["ExecutionRole"] for group in groups if group.get("ExecutionRole")})


def pass_role_refusal(service: str, operation: str, params: dict[str, Any], headers: dict[str, str]) -> str | None:
    """AWS's message if the caller may not pass a role that the call names, else None.

    Needs MiniStack's request context.
    """
    from ministack.core import iam_evaluator, responses, router

    if service != "sagemaker":
        return None
    access_key = router.extract_access_key_id(headers)
    for role in passed_roles(operation, params):
        denied = iam_evaluator.enforce(
            access_key,
            "iam:PassRole",
            "iam",
            responses.get_region(),
            resource_arn=role,
            service_context={"iam:PassedToService": "sagemaker.amazonaws.com"},
        )
        if denied:
            caller = iam_evaluator.caller_arn()
            return f"User: {caller} is not authorized to perform: iam:PassRole on resource: {role}"
    return None


def install(cluster_arn: ClusterArn) -> None:
    """Let MiniStack authorise the added services."""
    from ministack.core import iam_actions

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
        if service not in NAMESPACES:
            return str(original(service, method, path, headers, body, query_params, region, account_id))
        try:
            params = json.loads(body or b"{}")
        except ValueError:
            return "*"
        operation = headers.get("x-amz-target", "").rpartition(".")[2]
        if service == "sagemaker" and isinstance(params, dict):
            return sagemaker_resource(operation, params, region, account_id, cluster_arn)
        return "*"

    iam_actions.extract_resource_arn = extract
    _take_loopback_for_tls()


def _take_loopback_for_tls() -> None:
    """Policies that refuse plain HTTP (`aws:SecureTransport`) are right; loopback stands in for TLS here."""
    from ministack import app

    pin = app.pin_request_origin
    app.pin_request_origin = lambda source_ip, secure_transport: pin(source_ip, True)
