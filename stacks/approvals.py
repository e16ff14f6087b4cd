"""Approvals: where people answer. One HTTP route for Slack's clicks, the executor, and the writer to Slack.

The Slack secret exists beforehand and is referred to by name. The task tokens are readable by the executor alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aws_cdk import Acknowledgment, CfnOutput, RemovalPolicy, Stack, Validations
from aws_cdk import aws_apigatewayv2 as apigw
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

from roundhouse.contracts.names import OUTBOX_QUEUE, SETTLE_QUEUE
from stacks.constructs.function import FunctionFactory
from stacks.constructs.logs import RETENTION
from stacks.deployment import Deployment

PATH = "/slack/interactions"


class ApprovalsStack(Stack):
    """`functions` by folder name, and the `api` whose address Slack is told."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        made: Mapping[str, str],
        queues: Mapping[str, sqs.IQueue],
        **options: Any,
    ) -> None:
        super().__init__(scope, id, **options)
        factory = FunctionFactory(self, deployment, made, queues)
        told = {"answer_slack": {"SLACK_APP_ID": deployment.slack_app_id}} if deployment.slack_app_id else {}
        self.functions: dict[str, lambda_.Alias] = {
            name: factory.make(name, told.get(name)) for name in ("answer_slack", "settle_approval", "post_slack")
        }
        factory.reads_queue(self.functions["settle_approval"], SETTLE_QUEUE, batch=1, at_once=5)
        factory.reads_queue(self.functions["post_slack"], OUTBOX_QUEUE, batch=5, at_once=2)
        self.api = apigw.HttpApi(
            self,
            "Api",
            api_name=deployment.names.of("slack"),
            description=f"Roundhouse {deployment.environment}: Slack's interaction requests",
            create_default_stage=False,
        )
        self.api.add_routes(
            path=PATH,
            methods=[apigw.HttpMethod.POST],
            integration=HttpLambdaIntegration("answer-slack", self.functions["answer_slack"]),
        )
        Validations.of(self.api).acknowledge(
            Acknowledgment(
                id="AwsSolutions::AwsSolutions-APIG4",
                reason="Slack cannot use IAM or a token of ours: it signs each request, and the function checks that",
            )
        )
        log = logs.LogGroup(
            self,
            "AccessLog",
            log_group_name=f"/aws/vendedlogs/apis/{deployment.names.of('slack')}",
            retention=RETENTION[deployment.log_days],
            removal_policy=RemovalPolicy.DESTROY,
        )
        stage = self.api.add_stage(
            "Stage",
            stage_name="$default",
            auto_deploy=True,
            throttle=apigw.ThrottleSettings(rate_limit=20, burst_limit=40),
        )
        raw = stage.node.default_child
        assert isinstance(raw, apigw.CfnStage)
        fields = ("requestId", "requestTime", "identity.sourceIp", "routeKey", "status", "integrationErrorMessage")
        raw.access_log_settings = apigw.CfnStage.AccessLogSettingsProperty(
            destination_arn=log.log_group_arn,
            format=json.dumps({field.rpartition(".")[2]: f"$context.{field}" for field in fields}),
        )
        CfnOutput(
            self,
            "InteractionsUrl",
            value=f"{self.api.api_endpoint}{PATH}",
            description="Slack app, Interactivity & Shortcuts, Request URL",
        )
