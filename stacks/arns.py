"""From a resource as the permission table writes it to ARNs in one environment's account and region. No CDK.

Stacks hand in the ARNs of what they made (`table:`, `queue:`, `machine:`, `own-log:`); the rest exists elsewhere and
is named from the environment.
"""

from __future__ import annotations

from collections.abc import Mapping

from stacks.deployment import Deployment


def resolve(resource: str, deployment: Deployment, made: Mapping[str, str]) -> list[str]:
    """ARNs of `resource`; empty when the environment has none of its kind. KeyError says which is unknown."""
    if resource == "*":
        return ["*"]
    if resource in made:
        return [made[resource]]
    kind, _, name = resource.partition(":")
    aws, account, region = deployment.partition, deployment.account, deployment.region
    match kind:
        case "index":
            return [f"{made[f'table:{name}']}/index/by_cluster"]
        case "cluster":
            return [f"arn:{aws}:sagemaker:{region}:{account}:cluster/{name}"]
        case "executions":
            return [f"arn:{aws}:states:{region}:{account}:execution:{deployment.names.state_machine(name)}:*"]
        case "plans":
            return deployment.training_plans
        case "execution-roles":
            return deployment.execution_roles
        case "parameter":
            return [f"arn:{aws}:ssm:{region}:{account}:parameter{deployment.names.parameter(name)}"]
        case "secret":
            return [secret_arn(deployment) + "-??????"]
        case "cluster-log":
            group = f"/aws/sagemaker/Clusters/{deployment.cluster.cluster}"
            return [f"arn:{aws}:logs:{region}:{account}:log-group:{group}/*"]
        case "lifecycle-bucket":
            return sorted({f"arn:{aws}:s3:::{prefix.split('/')[0]}" for prefix in deployment.lifecycle_prefixes})
        case "lifecycle-scripts":
            return [f"arn:{aws}:s3:::{prefix}/*" for prefix in deployment.lifecycle_prefixes]
    raise KeyError(f"{resource!r}: the stack made none and its kind is unknown; see stacks/permissions.py")


def secret_arn(deployment: Deployment) -> str:
    """ARN of the Slack secret without the six characters that AWS adds; the API accepts it."""
    place = f"{deployment.region}:{deployment.account}"
    return f"arn:{deployment.partition}:secretsmanager:{place}:secret:{deployment.slack_secret}"
