"""Roles that hold exactly their row of the permission table.

CDK may not widen them: what an L2 would grant by itself is refused silently and has to be written in the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import Acknowledgment, Token, Validations
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.arns import resolve
from stacks.deployment import Deployment
from stacks.permissions import Grant


def role_for(
    scope: Construct,
    id: str,
    *,
    service: str,
    grants: Sequence[Grant],
    deployment: Deployment,
    made: Mapping[str, str],
) -> iam.IRole:
    """A role that `service` assumes, with one inline policy. Wildcard resources are acknowledged with their reason."""
    statements: list[iam.PolicyStatement] = []
    reasons: dict[str, str] = {}
    for grant in grants:
        arns = [arn for resource in grant.resources for arn in resolve(resource, deployment, made)]
        if not arns:
            continue
        statements.append(
            iam.PolicyStatement(actions=list(grant.actions), resources=arns, conditions=dict(grant.conditions) or None)
        )
        for arn in arns:
            if not Token.is_unresolved(arn) and "*" in arn:
                if not grant.reason:
                    raise ValueError(f"{id}: {grant.actions} on {arn} has a wildcard and gives no reason")
                reasons[arn] = grant.reason
    role = iam.Role(
        scope,
        id,
        assumed_by=iam.ServicePrincipal(service),
        inline_policies={"access": iam.PolicyDocument(statements=statements, minimize=False)},
    )
    for arn, reason in reasons.items():
        finding = f"AwsSolutions::AwsSolutions-IAM5[Resource::{arn}]"
        Validations.of(role).acknowledge(Acknowledgment(id=finding, reason=reason))
    return role.without_policy_updates()


def queue_variable(resource: str) -> str | None:
    """`INTAKE_QUEUE_URL` for `queue:intake`: the environment variable that carries a queue's URL."""
    kind, _, name = resource.partition(":")
    return f"{name.removesuffix('.fifo').replace('-', '_').upper()}_QUEUE_URL" if kind == "queue" else None


def machine_variable(resource: str) -> str:
    """`REMEDIATE_ARN` for `machine:remediate_node`: the environment variable that carries a state machine's ARN."""
    return f"{resource.partition(':')[2].partition('_')[0].upper()}_ARN"
