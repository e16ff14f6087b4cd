"""A cluster specification for the tests of this folder."""

from __future__ import annotations

from roundhouse.build.spec import ClusterSpec, Discount, DiscountKind, GroupSpec, StageWaits

PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/contract-p5-plan"
ROLE = "arn:aws:iam::111122223333:role/hyperpod-instance-role"
SCRIPTS = "s3://sagemaker-lifecycle-example/base-config/"


def group(name: str, role: str, **members: object) -> GroupSpec:
    values: dict[str, object] = {
        "instance_type": "ml.m5.2xlarge",
        "count": 1,
        "stages": (1.0,),
        "discount": Discount(DiscountKind.NONE),
        "on_demand_usd_per_hour": 0.5,
        "execution_role_arn": ROLE,
        "lifecycle_s3_uri": SCRIPTS,
        "lifecycle_script": "on_create.sh",
    }
    return GroupSpec(name=name, role=role, **{**values, **members})  # type: ignore[arg-type]


WORKERS = group(
    "workers",
    "Compute",
    instance_type="ml.p5.48xlarge",
    count=16,
    stages=(0.6, 1.0),
    discount=Discount(DiscountKind.TRAINING_PLAN, "usw2-az2", PLAN, 30.0),
    on_demand_usd_per_hour=60.0,
    partition="gpu",
)


def spec(**members: object) -> ClusterSpec:
    values: dict[str, object] = {
        "environment": "test",
        "cluster": "train-slurm-a",
        "account": "111122223333",
        "region": "us-west-2",
        "az_id": "usw2-az2",
        "subnet_ids": ("subnet-0123456789abcdef0",),
        "security_group_ids": ("sg-0123456789abcdef0",),
        "node_recovery": "Automatic",
        "provisioning_mode": "continuous",
        "groups": (group("controller", "Controller"), WORKERS),
        "waits": StageWaits(),
    }
    return ClusterSpec(**{**values, **members})  # type: ignore[arg-type]
