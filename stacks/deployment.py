"""What the stacks need to know of an environment, as plain values. No CDK; reads nothing.

`Deployment.of` is the one place that looks into an environment file's model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from roundhouse import codec
from roundhouse.build.spec import ClusterSpec
from roundhouse.contracts.names import Names
from roundhouse.environment import Environment
from roundhouse.environment import cluster_spec as render_cluster
from roundhouse.environment import policy as render_policy
from roundhouse.line.policy import Policy


@dataclass(frozen=True, slots=True)
class Deployment:
    """One environment to deploy.

    `policy` and `cluster` are what the two runtime parameters hold; `slack_secret` is the name of an existing secret
    with the JSON keys `bot_token` and `signing_secret`; `protected` guards stacks and tables against deletion.
    Functions' logs are kept for `log_days`. Records and live state are compared every `reconcile_s`, whole minutes.
    """

    policy: Policy
    cluster: ClusterSpec
    slack_secret: str
    slack_api_url: str = "https://slack.com/api/"
    slack_app_id: str = ""
    protected: bool = True
    log_days: int = 90
    reconcile_s: int = 900

    @classmethod
    def of(cls, environment: Environment) -> Deployment:
        """What an environment file says."""
        return cls(
            policy=render_policy(environment),
            cluster=render_cluster(environment),
            slack_secret=environment.slack.secret_name,
            slack_api_url=environment.slack.api_url,
            slack_app_id=environment.slack.app_id or "",
            protected=environment.deployment.deletion_protection,
            log_days=environment.deployment.log_retention_days,
            reconcile_s=environment.deployment.reconcile_every,
        )

    @property
    def environment(self) -> str:
        return self.cluster.environment

    @property
    def account(self) -> str:
        return self.cluster.account

    @property
    def region(self) -> str:
        return self.cluster.region

    @property
    def partition(self) -> str:
        """`aws`, or that of China or GovCloud."""
        prefixes = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}
        return next((name for prefix, name in prefixes.items() if self.region.startswith(prefix)), "aws")

    @property
    def names(self) -> Names:
        return Names(self.environment)

    @property
    def documents(self) -> dict[str, str]:
        """JSON text of each runtime parameter, by its short name."""
        return {"policy": codec.to_json(self.policy), "cluster": codec.to_json(self.cluster)}

    @property
    def training_plans(self) -> list[str]:
        """ARNs of the training plans that pay for groups."""
        return _once(group.discount.training_plan_arn for group in self.cluster.groups)

    @property
    def execution_roles(self) -> list[str]:
        """ARNs of the roles that instances run under."""
        return _once(group.execution_role_arn for group in self.cluster.groups)

    @property
    def lifecycle_prefixes(self) -> list[str]:
        """`bucket/prefix` of each place that lifecycle scripts are read from."""
        return _once(group.lifecycle_s3_uri.removeprefix("s3://").rstrip("/") for group in self.cluster.groups)


def _once(values: Iterable[str | None]) -> list[str]:
    return sorted({value for value in values if value})
