"""State: the tables, and the runtime documents of the environment. Everything here outlives the stack."""

from __future__ import annotations

from typing import Any

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from roundhouse.contracts.names import APPROVAL_TOKENS, APPROVALS, INCIDENTS, LEDGER, TABLE_KEYS
from stacks.constructs.key import tokens_key
from stacks.constructs.table import guarded_table
from stacks.deployment import Deployment

_SORTED_BY = {INCIDENTS: "opened_at", LEDGER: "claimed_at", APPROVALS: "asked_at"}
_STANDARD_MAX, _ADVANCED_MAX = 4096, 8192
"""Bytes that a Standard and an Advanced parameter hold; an Advanced one costs money."""


class StateStack(Stack):
    """`tables` by short name; `made` their ARNs for the permission table."""

    def __init__(self, scope: Construct, id: str, *, deployment: Deployment, **options: Any) -> None:
        super().__init__(scope, id, **options)
        names = deployment.names
        tokens = tokens_key(self, "tokens-key", deployment)
        self.tables: dict[str, dynamodb.Table] = {
            table: guarded_table(
                self,
                table,
                name=names.table(table),
                key=key,
                protected=deployment.protected,
                sorted_by=_SORTED_BY.get(table),
                encrypted_by=tokens if table == APPROVAL_TOKENS else None,
            )
            for table, key in TABLE_KEYS.items()
        }
        self.made = {f"table:{name}": table.table_arn for name, table in self.tables.items()}
        for name, text in deployment.documents.items():
            parameter = ssm.StringParameter(
                self,
                f"{name}-parameter",
                parameter_name=names.parameter(name),
                string_value=text,
                tier=_tier(names.parameter(name), text),
                description=f"Roundhouse {deployment.environment}: {name}, rendered from the environment file",
            )
            parameter.apply_removal_policy(RemovalPolicy.DESTROY)  # it can be rendered again at any time


def _tier(name: str, text: str) -> ssm.ParameterTier:
    size = len(text.encode())
    if size > _ADVANCED_MAX:
        raise ValueError(
            f"parameter {name} would hold {size} bytes, the most is {_ADVANCED_MAX}: "
            "shorten the environment file (fewer groups, rules or protected nodes)"
        )
    return ssm.ParameterTier.ADVANCED if size > _STANDARD_MAX else ssm.ParameterTier.STANDARD
