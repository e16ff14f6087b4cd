"""Rules about ARNs and buckets: they must belong to the environment's own account and region."""

from __future__ import annotations

from collections.abc import Iterator

from roundhouse.build.problem import Problem, shown
from roundhouse.environment.catalog import Catalog
from roundhouse.environment.model import Environment, TrainingPlan

BUCKET_PREFIX = "s3://sagemaker-"  # what AmazonSageMakerClusterInstanceRolePolicy lets nodes read


def roles_are_of_account(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    roles = [("cluster.execution_role_arn", env.cluster.execution_role_arn)]
    for index, group in enumerate(env.groups):
        if group.execution_role_arn is not None:
            roles.append((f"groups[{index}].execution_role_arn", group.execution_role_arn))
    for path, arn in roles:
        if arn.split(":")[4] != env.account:
            reason = f"this role is of another account than {env.account}"
            yield Problem(path, shown(arn), reason, "Name a role of the environment's account")


def plans_are_of_account(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    for index, group in enumerate(env.groups):
        if not isinstance(group.discount, TrainingPlan):
            continue
        arn = group.discount.training_plan_arn
        region, account = arn.split(":")[3:5]
        if (region, account) != (env.region, env.account):
            reason = f"this plan is of {account} in {region}, plans are not shared: nodes would run on demand"
            remedy = f"Name a plan of {env.account} in {env.region}"
            yield Problem(f"groups[{index}].discount.training_plan_arn", shown(arn), reason, remedy)


def lifecycle_bucket_is_readable(env: Environment, catalog: Catalog) -> Iterator[Problem]:
    uri = env.cluster.lifecycle.s3_uri
    if not uri.startswith(BUCKET_PREFIX):
        reason = f"nodes may only read buckets that begin with {BUCKET_PREFIX}"
        yield Problem("cluster.lifecycle.s3_uri", shown(uri), reason, "Move the scripts to such a bucket")
