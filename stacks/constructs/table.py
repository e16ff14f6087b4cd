"""A table that outlives its stack: retained, restorable to any second of 35 days, guarded against deletion."""

from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct


def guarded_table(
    scope: Construct,
    id: str,
    *,
    name: str,
    key: str,
    protected: bool,
    sorted_by: str | None = None,
    encrypted_by: kms.IKey | None = None,
) -> dynamodb.Table:
    """Table `name` with the string key `key`; `sorted_by` adds the index `by_cluster` (cluster, that attribute).

    It is encrypted by DynamoDB's own key of the account unless a key is given.
    """
    text = dynamodb.AttributeType.STRING
    table = dynamodb.Table(
        scope,
        id,
        table_name=name,
        partition_key=dynamodb.Attribute(name=key, type=text),
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED if encrypted_by else dynamodb.TableEncryption.AWS_MANAGED,
        encryption_key=encrypted_by,
        deletion_protection=protected,
        removal_policy=RemovalPolicy.RETAIN,
    )
    if sorted_by:
        table.add_global_secondary_index(
            index_name="by_cluster",
            partition_key=dynamodb.Attribute(name="cluster", type=text),
            sort_key=dynamodb.Attribute(name=sorted_by, type=text),
            projection_type=dynamodb.ProjectionType.ALL,
        )
    return table
