"""The function factory: a Lambda from a folder of functions/, under its own role, with its own log group.

Everything calls a function by its alias `live`. A deployment publishes a version and moves the alias to it in one step:
no call ever meets new code with old settings, and what a running execution names stays valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aws_cdk import Acknowledgment, Duration, RemovalPolicy, Stack, Validations
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from roundhouse.contracts.names import METRIC_NAMESPACE
from stacks.arns import secret_arn
from stacks.constructs.access import machine_variable, queue_variable, role_for
from stacks.constructs.code import ARCHITECTURE, ROOT, RUNTIME, function_code, layer_code
from stacks.constructs.logs import RETENTION
from stacks.deployment import Deployment
from stacks.functions import FUNCTIONS
from stacks.permissions import BASIC, LEGACY, Grant
from stacks.permissions import FUNCTIONS as GRANTS

LIVE = "live"
"""The alias that everything calls; part of each function's ARN in definitions, so it is never renamed."""


class FunctionFactory:
    """Makes the functions of one stack.

    `made` maps `table:…`, `queue:…` and `machine:…` to ARNs, `queues` a queue's short name to the queue; both may come
    from other stacks. Each stack has its own version of the layer: a shared one could never be updated while imported.
    """

    def __init__(
        self,
        stack: Stack,
        deployment: Deployment,
        made: Mapping[str, str],
        queues: Mapping[str, sqs.IQueue],
        layer: lambda_.ILayerVersion | None = None,
    ) -> None:
        self._stack, self._deployment, self._made, self._queues = stack, deployment, dict(made), dict(queues)
        self.layer = layer or lambda_.LayerVersion(
            stack,
            "Dependencies",
            code=layer_code(),
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[ARCHITECTURE],
            description="Third-party packages of the functions, from requirements-lambda.txt",
        )

    def make(self, name: str, extra: Mapping[str, str] | None = None) -> lambda_.Alias:
        """The alias `live` of the function of folder functions/`name`; `extra` adds environment variables."""
        _check(name)
        scope = Construct(self._stack, name)
        running, function_name = FUNCTIONS[name], self._deployment.names.function(name)
        log = logs.LogGroup(
            scope,
            "Log",
            log_group_name=f"/aws/lambda/{function_name}",
            retention=RETENTION[self._deployment.log_days],
            removal_policy=RemovalPolicy.DESTROY,
        )
        legacy = self._deployment.cluster.provisioning_mode == "legacy"
        grants = (*BASIC, *GRANTS[name], *(LEGACY.get(name, ()) if legacy else ()))
        function = lambda_.Function(
            scope,
            "Function",
            function_name=function_name,
            description=f"Roundhouse {self._deployment.environment}: {name.replace('_', ' ')}",
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            code=function_code(),
            handler=f"functions.{name}.handler.handle",
            layers=[self.layer],
            role=role_for(
                scope,
                "Role",
                service="lambda.amazonaws.com",
                grants=grants,
                deployment=self._deployment,
                made={**self._made, "own-log:": log.log_group_arn},
            ),
            log_group=log,
            logging_format=lambda_.LoggingFormat.TEXT,  # Powertools writes one JSON object a line by itself
            tracing=lambda_.Tracing.ACTIVE,
            timeout=Duration.seconds(running.timeout_s),
            memory_size=running.memory_mib,
            reserved_concurrent_executions=running.at_once,
            environment={**self._variables(grants), **(extra or {})},
        )
        Validations.of(function).acknowledge(
            Acknowledgment(
                id="AwsSolutions::AwsSolutions-L1",
                reason="Python 3.13 is what the tests ran on; 3.14 has the same end of support (2029-06-30)",
            )
        )
        return lambda_.Alias(scope, "Live", alias_name=LIVE, version=function.current_version)

    def dead_letters(self, function: lambda_.Alias, queue: sqs.IQueue) -> None:
        """Asynchronous calls are tried three times within an hour, then kept in `queue`."""
        function.configure_async_invoke(
            max_event_age=Duration.hours(1), retry_attempts=2, on_failure=destinations.SqsDestination(queue)
        )

    def reads_queue(self, function: lambda_.Alias, name: str, *, batch: int, at_once: int) -> None:
        """Feed a queue to the function, `batch` messages a call; only failed messages come back."""
        lambda_.EventSourceMapping(
            function,
            "Source",
            target=function,
            event_source_arn=self._queues[name].queue_arn,
            batch_size=batch,
            max_concurrency=at_once,
            report_batch_item_failures=True,
        )

    def _variables(self, grants: tuple[Grant, ...]) -> dict[str, str]:
        """Environment variables: the common ones, and those that follow from what the role may reach."""
        deployment = self._deployment
        found = {
            "ROUNDHOUSE_ENVIRONMENT": deployment.environment,
            "POWERTOOLS_SERVICE_NAME": deployment.names.of("line"),
            "POWERTOOLS_METRICS_NAMESPACE": METRIC_NAMESPACE,
            "LOG_LEVEL": "INFO",
        }
        for grant in grants:
            for resource in grant.resources:
                variable = queue_variable(resource)
                if variable:
                    found[variable] = self._queues[resource.partition(":")[2]].queue_url
                if resource == "secret:slack":
                    found["SLACK_SECRET_ARN"] = secret_arn(deployment)
                    found["SLACK_API_URL"] = deployment.slack_api_url
                if resource.startswith("executions:"):
                    found[machine_variable(resource)] = self._made[f"machine:{resource.partition(':')[2]}"]
                if "states:StartExecution" in grant.actions:
                    found[machine_variable(resource)] = self._made[resource]
        return found


def _check(name: str) -> None:
    handler = ROOT / "functions" / name / "handler.py"
    missing = [
        text
        for there, text in (
            (Path(handler).is_file(), f"there is no {handler.relative_to(ROOT)}"),
            (name in GRANTS, "stacks/permissions.py has no row for it"),
            (name in FUNCTIONS, "stacks/functions.py has no row for it"),
        )
        if not there
    ]
    if missing:
        raise ValueError(f"function {name!r} cannot be made: {'; '.join(missing)}")
