"""Signals: every way into the line, and the queues between its parts.

HyperPod's events come over the account's default bus, our own over a bus with an archive, the health agent's records
from the cluster's log group; all end in the intake queue. Each delivery has a dead-letter queue.
"""

from __future__ import annotations

from typing import Any

from aws_cdk import Acknowledgment, Duration, Stack, Validations
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from roundhouse.contracts import names as contract
from stacks.constructs.function import FunctionFactory
from stacks.constructs.queue import GuardedQueue
from stacks.constructs.reconciling import rule_arn
from stacks.deployment import Deployment

_VISIBILITY_S = 360
"""Six times the readers' timeout, as Lambda asks for."""
_QUEUES = (contract.INTAKE_QUEUE, contract.OUTBOX_QUEUE, contract.SETTLE_QUEUE, contract.AGENT_QUEUE)
_TRIES = {contract.OUTBOX_QUEUE: 100}  # Slack may be away for a day: tries come every 15 minutes at the longest
INVOCATIONS = "invocations-dlq"
DELIVERIES = "deliveries-dlq"


class SignalsStack(Stack):
    """`queues` and `dead_letters` by short name; `made` their ARNs; `bus` for our own sources."""

    def __init__(self, scope: Construct, id: str, *, deployment: Deployment, **options: Any) -> None:
        super().__init__(scope, id, **options)
        self._deployment = deployment
        names = deployment.names
        pairs = {
            name: GuardedQueue(
                self, name, name=names.queue(name), visibility_s=_VISIBILITY_S, tries=_TRIES.get(name, 5)
            )
            for name in _QUEUES
        }
        self.queues: dict[str, sqs.Queue] = {name: pair.queue for name, pair in pairs.items()}
        self.dead_letters: dict[str, sqs.Queue] = {name: pair.dead_letters for name, pair in pairs.items()}
        for name in (INVOCATIONS, DELIVERIES):
            self.dead_letters[name] = sqs.Queue(
                self,
                name,
                queue_name=names.queue(name),
                encryption=sqs.QueueEncryption.SQS_MANAGED,
                enforce_ssl=True,
                retention_period=Duration.days(14),
            )
            Validations.of(self.dead_letters[name]).acknowledge(
                Acknowledgment(
                    id="AwsSolutions::AwsSolutions-SQS3",
                    reason="It is a dead-letter queue: of asynchronous calls or of EventBridge targets, not of a queue",
                )
            )
        self._let_in(rule_arn(deployment))
        self.queues[INVOCATIONS] = self.dead_letters[INVOCATIONS]
        self.made = {f"queue:{name}": queue.queue_arn for name, queue in self.queues.items()}
        self.made[f"queue:{DELIVERIES}"] = self.dead_letters[DELIVERIES].queue_arn
        self._hyperpod_rules()
        self._calls_rule()
        self._maintenance_rule()
        self._own_bus()
        self._health_log(FunctionFactory(self, deployment, self.made, self.queues))

    def _let_in(self, rule: str) -> None:
        """A rule of another stack may leave there what it could not deliver."""
        self.dead_letters[DELIVERIES].add_to_resource_policy(
            iam.PolicyStatement(
                sid="RuleOfAnotherStack",
                principals=[iam.ServicePrincipal("events.amazonaws.com")],
                actions=["sqs:SendMessage"],
                resources=[self.dead_letters[DELIVERIES].queue_arn],
                conditions={"ArnEquals": {"aws:SourceArn": rule}},
            )
        )

    def _hyperpod_rules(self) -> None:
        """The three HyperPod detail-types of this environment's cluster."""
        cluster = [self._deployment.cluster.cluster]
        own: dict[str, Any] = {"ClusterName": cluster}
        nested: dict[str, Any] = {"EventDetails": {"ClusterName": cluster}}
        for name, kind, detail in (
            ("state-change", contract.STATE_CHANGE, own),
            ("node-health", contract.NODE_HEALTH, own),
            ("cluster-event", contract.CLUSTER_EVENT, nested),
        ):
            self._rule(name, self._hyperpod(kind, detail), self._intake())

    def _calls_rule(self) -> None:
        """Calls of HyperPod's API on this cluster, whoever makes them; a caller may name the cluster by its ARN. They
        come only where a trail of the account writes management events."""
        place = self._deployment
        by_arn = {"prefix": f"arn:{place.partition}:sagemaker:{place.region}:{place.account}:cluster/"}
        detail: dict[str, Any] = {
            "eventSource": ["sagemaker.amazonaws.com"],
            "eventName": list(contract.WATCHED_CALLS),
            "requestParameters": {"clusterName": [place.cluster.cluster, by_arn]},
        }
        self._rule("api-calls", self._hyperpod(contract.API_CALL, detail), self._intake())

    def _maintenance_rule(self) -> None:
        """What AWS Health announces for this region. A copy that comes by way of the backup region names that one in
        its envelope, so only the account is compared there: where it applies is in the detail."""
        pattern = events.EventPattern(
            source=[contract.HEALTH_SOURCE],
            account=[self._deployment.account],
            detail_type=[contract.HEALTH_EVENT],
            detail={"eventTypeCategory": [contract.SCHEDULED_CHANGE], "eventRegion": [self._deployment.region]},
        )
        self._rule("maintenance", pattern, self._intake())

    def _own_bus(self) -> None:
        """Our own sources: Slurm snapshots and replays. Kept for 30 days, to be played again."""
        names = self._deployment.names
        self.bus = events.EventBus(self, "Bus", event_bus_name=names.of("signals"))
        self.bus.archive(
            "Archive",
            archive_name=names.of("signals"),
            description="Everything that came over the bus, for replays",
            event_pattern=events.EventPattern(account=[self._deployment.account]),
            retention=Duration.days(30),
        )
        for name, pattern in (
            ("slurm", events.EventPattern(source=[contract.SLURM_SOURCE], detail_type=[contract.SLURM_NODES])),
            ("replay", events.EventPattern(source=[contract.REPLAY_SOURCE])),
        ):
            self._rule(name, pattern, self._intake(), self.bus)

    def _health_log(self, factory: FunctionFactory) -> None:
        """On Slurm the node health event may never come: read the health agent's records in the cluster's log.

        The log group is named after an id that exists only after creation, so the subscription is made when the
        cluster comes into service.
        """
        deployment = self._deployment
        reader = factory.make("read_health_log")
        reader.add_permission(
            "FromLogs",
            principal=iam.ServicePrincipal("logs.amazonaws.com"),
            source_account=deployment.account,
            source_arn=(
                f"arn:{deployment.partition}:logs:{deployment.region}:{deployment.account}:log-group:"
                f"/aws/sagemaker/Clusters/{deployment.cluster.cluster}/*"
            ),
        )
        subscriber = factory.make("subscribe_health_log", {"READ_HEALTH_LOG_ARN": reader.function_arn})
        for function in (reader, subscriber):
            factory.dead_letters(function, self.dead_letters[INVOCATIONS])
        self.functions = {"read_health_log": reader, "subscribe_health_log": subscriber}
        detail = {"ClusterName": [deployment.cluster.cluster], "ClusterStatus": ["InService"]}
        self._rule("in-service", self._hyperpod(contract.STATE_CHANGE, detail), self._calls(subscriber))

    def _hyperpod(self, kind: str, detail: dict[str, Any]) -> events.EventPattern:
        # account and region: events forwarded from elsewhere may be about a cluster of the same name
        return events.EventPattern(
            source=[contract.HYPERPOD_SOURCE],
            account=[self._deployment.account],
            region=[self._deployment.region],
            detail_type=[kind],
            detail=detail,
        )

    def _intake(self) -> targets.SqsQueue:
        return targets.SqsQueue(
            self.queues[contract.INTAKE_QUEUE],
            dead_letter_queue=self.dead_letters[DELIVERIES],
            max_event_age=Duration.hours(24),
            retry_attempts=185,
        )

    def _calls(self, function: lambda_.Alias) -> targets.LambdaFunction:
        return targets.LambdaFunction(
            function,
            dead_letter_queue=self.dead_letters[DELIVERIES],
            max_event_age=Duration.hours(1),
            retry_attempts=10,
        )

    def _rule(
        self, id: str, pattern: events.EventPattern, target: events.IRuleTarget, bus: events.IEventBus | None = None
    ) -> None:
        events.Rule(
            self,
            f"rule-{id}",
            rule_name=self._deployment.names.of(id),
            event_bus=bus,
            event_pattern=pattern,
            targets=[target],
        )
