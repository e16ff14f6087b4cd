"""The key of the task tokens: used by DynamoDB alone, for this environment's functions and for deployments.

Its policy is stricter than usual: administrators may manage the key and change the policy, which CloudTrail shows, but
not decrypt with it. Read access to the account is therefore not access to the tokens.
"""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from stacks.deployment import Deployment

ENVIRONMENT_TAG = "roundhouse:environment"
"""Set on everything that the app makes, roles included: whose role it is that asks."""
_MANAGE = (
    "CancelKeyDeletion",
    "CreateAlias",
    "DeleteAlias",
    "DescribeKey",
    "DisableKey",
    "EnableKey",
    "EnableKeyRotation",
    "GetKeyPolicy",
    "GetKeyRotationStatus",
    "ListGrants",
    "ListKeyPolicies",
    "ListKeyRotations",
    "ListResourceTags",
    "PutKeyPolicy",
    "RevokeGrant",
    "ScheduleKeyDeletion",
    "TagResource",
    "UntagResource",
    "UpdateAlias",
    "UpdateKeyDescription",
)
_USE = (
    "Decrypt",
    "DescribeKey",
    "Encrypt",
    "GenerateDataKey",
    "GenerateDataKeyWithoutPlaintext",
    "ReEncryptFrom",
    "ReEncryptTo",
)


def tokens_key(scope: Construct, id: str, deployment: Deployment) -> kms.Key:
    """The key, rotated every year. It stays when the stack goes: without it the table could not be read."""
    account, aws = deployment.account, deployment.partition
    suffix = "amazonaws.com.cn" if aws == "aws-cn" else "amazonaws.com"
    through_dynamodb = {
        "kms:CallerAccount": account,
        "kms:ViaService": f"dynamodb.{deployment.region}.{suffix}",
    }
    own = {f"aws:PrincipalTag/{ENVIRONMENT_TAG}": deployment.environment}
    deployments = f"arn:{aws}:iam::{account}:role/cdk-*-cfn-exec-role-*"
    policy = iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(
                sid="AdministratorsManage",
                principals=[iam.AccountPrincipal(account)],
                actions=[f"kms:{action}" for action in _MANAGE],
                resources=["*"],
            ),
            iam.PolicyStatement(
                sid="FunctionsUseTheTable",
                principals=[iam.AnyPrincipal()],
                actions=[f"kms:{action}" for action in _USE],
                resources=["*"],
                conditions={"StringEquals": {**through_dynamodb, **own}},
            ),
            iam.PolicyStatement(
                sid="DeploymentsMakeTheTable",
                principals=[iam.AnyPrincipal()],
                actions=[f"kms:{action}" for action in (*_USE, "CreateGrant")],
                resources=["*"],
                conditions={"StringEquals": through_dynamodb, "ArnLike": {"aws:PrincipalArn": deployments}},
            ),
        ]
    )
    return kms.Key(
        scope,
        id,
        alias=deployment.names.of("approval-tokens"),
        description=f"Roundhouse {deployment.environment}: task tokens of open questions",
        enable_key_rotation=True,
        rotation_period=Duration.days(365),
        pending_window=Duration.days(30),
        policy=policy,
        removal_policy=RemovalPolicy.RETAIN,
    )
