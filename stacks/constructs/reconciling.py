"""When the reconciler runs: on a schedule, and after each deploy of these stacks."""

from __future__ import annotations

from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from stacks.deployment import Deployment

AFTER_DEPLOY = "reconcile-deployed"
PARTS = ("State", "Signals", "Workflows", "Approvals", "Monitoring")


def reconcile(stack: Stack, function: lambda_.IFunction, deployment: Deployment, deliveries: str) -> None:
    """Run `function` every `reconcile_s` seconds and after a deploy; `deliveries` is the dead-letter queue's ARN.

    A deploy may have stopped in its middle, or brought other policies: what it left behind is looked at once.
    """
    late = Duration.minutes(15)
    events.Rule(
        stack,
        "reconcile",
        rule_name=deployment.names.of("reconcile"),
        schedule=events.Schedule.rate(Duration.seconds(deployment.reconcile_s)),
        targets=[targets.LambdaFunction(function, retry_attempts=2, max_event_age=late)],
    )
    events.Rule(
        stack,
        AFTER_DEPLOY,
        rule_name=deployment.names.of(AFTER_DEPLOY),
        event_pattern=events.EventPattern(
            source=["aws.cloudformation"],
            account=[deployment.account],
            region=[deployment.region],
            detail_type=["CloudFormation Stack Status Change"],
            detail={
                "stack-id": [{"prefix": f"{_stacks(deployment)}{part}/"} for part in PARTS],
                "status-details": {"status": ["CREATE_COMPLETE", "UPDATE_COMPLETE"]},
            },
        ),
        targets=[
            targets.LambdaFunction(
                function,
                # by its ARN: the queue's stack lets this rule in by name, or the two stacks would need each other
                dead_letter_queue=sqs.Queue.from_queue_arn(stack, "Deliveries", deliveries),
                retry_attempts=10,
                max_event_age=Duration.hours(1),
            )
        ],
    )


def rule_arn(deployment: Deployment) -> str:
    """ARN of the rule for deploys."""
    place = f"{deployment.region}:{deployment.account}"
    return f"arn:{deployment.partition}:events:{place}:rule/{deployment.names.of(AFTER_DEPLOY)}"


def _stacks(deployment: Deployment) -> str:
    place = f"{deployment.region}:{deployment.account}"
    return f"arn:{deployment.partition}:cloudformation:{place}:stack/Roundhouse-{deployment.environment}-"
