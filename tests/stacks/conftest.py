"""One synthesized app for all tests of the stacks, made once per process; without bundling and AWS's own checks."""

from __future__ import annotations

import json
import typing
from pathlib import Path

import pytest
from aws_cdk import App, Environment

from roundhouse.build.spec import ClusterSpec, Discount, DiscountKind, GroupSpec, StageWaits
from roundhouse.line.policy import Policy
from stacks.constructs.code import ROOT
from stacks.deploy import add_stacks, new_app
from stacks.deployment import Deployment
from stacks.state import StateStack
from tests.stacks.templates import Templates

ACCOUNT, REGION = "111122223333", "us-west-2"
PLAN = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:training-plan/gpu-plan"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/hyperpod-instances"


def make_deployment(**changes: object) -> Deployment:
    """A cluster of one controller and 64 discounted workers."""
    discount = Discount(DiscountKind.TRAINING_PLAN, "usw2-az2", PLAN, 8.0)
    groups = tuple(
        GroupSpec(
            name=name,
            role=role,
            instance_type=kind,
            count=count,
            stages=stages,
            discount=paid,
            on_demand_usd_per_hour=price,
            execution_role_arn=ROLE,
            lifecycle_s3_uri="s3://sagemaker-lifecycle-111122223333/base/",
            lifecycle_script="on_create.sh",
        )
        for name, role, kind, count, stages, paid, price in (
            ("controller", "Controller", "ml.m5.xlarge", 1, (1.0,), Discount(DiscountKind.NONE), 0.3),
            ("workers", "Compute", "ml.g6.48xlarge", 64, (0.6, 0.8, 1.0), discount, 17.0),
        )
    )
    spec = ClusterSpec(
        environment="test",
        cluster="train-a",
        account=ACCOUNT,
        region=REGION,
        az_id="usw2-az2",
        subnet_ids=("subnet-0123456789abcdef0",),
        security_group_ids=("sg-0123456789abcdef0",),
        node_recovery="None",
        provisioning_mode="continuous",
        groups=groups,
        waits=StageWaits(),
    )
    given = {
        "policy": Policy("test", "train-a"),
        "cluster": spec,
        "slack_secret": "roundhouse/slack",
        "slack_app_id": "A0123ABCDEF",
    }
    given |= changes
    return Deployment(**given)  # type: ignore[arg-type]


def forget_borrowed_annotations() -> None:
    """Undo what other tests' libraries leave on typing's own classes when they ask them for annotations.

    jsii's type checker takes everything that has `__annotations__` for a named tuple, and an empty one stays on the
    class of `Tuple[X, ...]` once somebody has asked for it.
    """
    for kind in type(typing.Tuple[int, ...]).__mro__:  # noqa: UP006
        if kind is not object and "__annotations__" in vars(kind):
            del kind.__annotations__


@pytest.fixture(autouse=True)
def borrowed_annotations_forgotten() -> None:
    forget_borrowed_annotations()


def synthesize(deployment: Deployment, out: Path) -> Path:
    """The deployment's cloud assembly in `out`, held to AwsSolutions as in app.py."""
    forget_borrowed_annotations()
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = new_app(
        outdir=str(out),
        builtin_cloud_formation_validation=False,
        context={**context, "aws:cdk:bundling-stacks": []},
    )
    add_stacks(app, deployment)
    app.synth()
    return out


def synthesize_state(deployment: Deployment, out: Path) -> Templates:
    """The State stack alone, which takes no time."""
    forget_borrowed_annotations()
    app = App(outdir=str(out), builtin_cloud_formation_validation=False, analytics_reporting=False)
    place = Environment(account=deployment.account, region=deployment.region)
    StateStack(app, "Roundhouse-test-State", deployment=deployment, env=place)
    app.synth()
    return Templates.read(out)


@pytest.fixture(scope="session")
def deployment() -> Deployment:
    return make_deployment()


@pytest.fixture(scope="session")
def assembly(deployment: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of templates and assets."""
    return synthesize(deployment, tmp_path_factory.mktemp("assembly"))


@pytest.fixture(scope="session")
def templates(assembly: Path) -> Templates:
    return Templates.read(assembly)
