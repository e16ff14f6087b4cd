"""Monitoring: one dashboard, and an alarm for each thing people must know of. All alarms go to one topic.

Alarms use single metrics on purpose: they are easy to read in the console, and cheap to try out locally.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cw
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from roundhouse.contracts.names import INTAKE_QUEUE, METRIC_NAMESPACE, OUTBOX_QUEUE
from stacks.deployment import Deployment

_MINUTES_5, _HOUR = Duration.minutes(5), Duration.hours(1)
_MEASURED = Duration.minutes(30)
"""Twice the interval of measure_line: each period holds a value, so alarms do not flap."""
_SIGNAL_MAX_AGE_S = 300
_MESSAGE_MAX_AGE_S = 900
_INCIDENT_MAX_AGE_H = 24


class MonitoringStack(Stack):
    """Watches what the other stacks made; nothing depends on it."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        deployment: Deployment,
        functions: Mapping[str, lambda_.Alias],
        machines: Mapping[str, sfn.IStateMachine],
        queues: Mapping[str, sqs.IQueue],
        dead_letters: Mapping[str, sqs.IQueue],
        **options: Any,
    ) -> None:
        super().__init__(scope, id, **options)
        self._deployment = deployment
        self._topic = self._alarm_topic()
        self._alarms: list[cw.Alarm] = []
        for name, queue in dead_letters.items():
            self._alarm(
                f"dead-letters-{name.removesuffix('.fifo').removesuffix('-dlq')}",
                queue.metric_approximate_number_of_messages_visible(period=_MINUTES_5, statistic="Maximum"),
                1,
                "Messages were given up: read them in the queue, mend the cause, then redrive them",
            )
        for name, age, why in (
            (INTAKE_QUEUE, _SIGNAL_MAX_AGE_S, "Signals are not being read: incidents open late or not at all"),
            (OUTBOX_QUEUE, _MESSAGE_MAX_AGE_S, "Messages do not reach Slack: nobody can see or answer questions"),
        ):
            oldest = queues[name].metric_approximate_age_of_oldest_message(period=_MINUTES_5, statistic="Maximum")
            self._alarm(f"waiting-{name.removesuffix('.fifo')}", oldest, age, why)
        for name, machine in machines.items():
            short = name.replace("_", "-")
            for end, metric in (
                ("failed", machine.metric_failed(period=_MINUTES_5, statistic="Sum")),
                ("timed-out", machine.metric_timed_out(period=_MINUTES_5, statistic="Sum")),
                ("aborted", machine.metric_aborted(period=_MINUTES_5, statistic="Sum")),
            ):
                self._alarm(f"{short}-{end}", metric, 1, f"An execution of {name} ended as {end.replace('-', ' ')}")
        # a function's own metrics count the calls of every version, the one just replaced included
        watched = {name: alias.lambda_ for name, alias in functions.items()}
        for name, function in watched.items():
            short = name.replace("_", "-")
            errors = function.metric_errors(period=_MINUTES_5, statistic="Sum")
            throttles = function.metric_throttles(period=_MINUTES_5, statistic="Sum")
            self._alarm(f"errors-{short}", errors, 5, f"{name} fails repeatedly; retries hide single errors")
            self._alarm(f"throttles-{short}", throttles, 10, f"{name} is being throttled")
        self._alarm(
            "incident-age",
            self._own("OpenIncidentAgeHours"),
            _INCIDENT_MAX_AGE_H,
            "An incident has been open for a day: see `roundhouse incidents`",
        )
        self._alarm(
            "controller",
            self._own("ControllerLost"),
            1,
            "The controller is in Failure, or not there: running jobs go on, nothing new starts; only people may act",
        )
        self._alarm(
            "breaker",
            self._own("BreakerOpen"),
            1,
            "The breaker is open: no automatic action until people have looked or the canary has passed",
        )
        self._reconciled()
        self._dashboard(watched, machines, queues, dead_letters)

    def _reconciled(self) -> None:
        """The reconciler that does not run mends nothing, and nobody would miss it."""
        patience = Duration.seconds(max(3600, 3 * self._deployment.reconcile_s))
        self._alarm(
            "reconcile",
            self._own("ReconcileRuns", period=patience, statistic="Sum"),
            1,
            "Records and live state have not been compared for a while: see the log of reconcile_line",
            below=True,
        )
        self._alarm(
            "reconcile-shown",
            self._own("ReconcileShown"),
            1,
            "Records and live state differ, and only people can mend it: see `roundhouse reconcile`",
        )

    def _own(self, metric: str, period: Duration = _MEASURED, statistic: str = "Maximum") -> cw.Metric:
        """A metric that functions write; its one dimension is the deployment, as Powertools' service name."""
        return cw.Metric(
            namespace=METRIC_NAMESPACE,
            metric_name=metric,
            dimensions_map={"service": self._deployment.names.of("line")},
            period=period,
            statistic=statistic,
        )

    def _alarm_topic(self) -> sns.Topic:
        topic = sns.Topic(self, "Alarms", topic_name=self._deployment.names.of("alarms"), enforce_ssl=True)
        # a topic with a policy of its own no longer has the default one, which lets alarms in
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsOfThisAccount",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": self._deployment.account}},
            )
        )
        return topic

    def _alarm(self, name: str, metric: cw.IMetric, threshold: float, why: str, *, below: bool = False) -> None:
        """`below`: the metric is missed when it falls below the threshold, or is not there at all."""
        alarm = cw.Alarm(
            self,
            name,
            alarm_name=self._deployment.names.of(name),
            alarm_description=why,
            metric=metric,
            threshold=threshold,
            comparison_operator=cw.ComparisonOperator.LESS_THAN_THRESHOLD
            if below
            else cw.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=cw.TreatMissingData.BREACHING if below else cw.TreatMissingData.NOT_BREACHING,
        )
        action = actions.SnsAction(self._topic)
        alarm.add_alarm_action(action)
        alarm.add_ok_action(action)
        self._alarms.append(alarm)

    def _dashboard(
        self,
        functions: Mapping[str, lambda_.IFunction],
        machines: Mapping[str, sfn.IStateMachine],
        queues: Mapping[str, sqs.IQueue],
        dead_letters: Mapping[str, sqs.IQueue],
    ) -> None:
        def graph(title: str, *metrics: cw.IMetric) -> cw.GraphWidget:
            return cw.GraphWidget(title=title, left=list(metrics), width=12, height=6)

        cw.Dashboard(
            self,
            "Dashboard",
            dashboard_name=self._deployment.names.of("line"),
            widgets=[
                [cw.AlarmStatusWidget(title="Alarms", alarms=list(self._alarms), width=24, height=5)],
                [
                    graph("Open incidents, oldest (hours)", self._own("OpenIncidentAgeHours")),
                    graph("Breaker open, controller lost", self._own("BreakerOpen"), self._own("ControllerLost")),
                ],
                [
                    graph(
                        "Executions begun (an hour)",
                        *(machine.metric_started(period=_HOUR, label=name) for name, machine in machines.items()),
                    ),
                    graph(
                        "Executions failed (an hour)",
                        *(machine.metric_failed(period=_HOUR, label=name) for name, machine in machines.items()),
                    ),
                ],
                [
                    graph(
                        "Oldest message (s)",
                        *(
                            queue.metric_approximate_age_of_oldest_message(period=_MINUTES_5, label=name)
                            for name, queue in queues.items()
                        ),
                    ),
                    graph(
                        "Given up (messages)",
                        *(
                            queue.metric_approximate_number_of_messages_visible(period=_MINUTES_5, label=name)
                            for name, queue in dead_letters.items()
                        ),
                    ),
                ],
                [
                    graph(
                        "Function errors",
                        *(each.metric_errors(period=_MINUTES_5, label=name) for name, each in functions.items()),
                    ),
                    graph(
                        "Function time, p99 (ms)",
                        *(
                            each.metric_duration(period=_MINUTES_5, statistic="p99", label=name)
                            for name, each in functions.items()
                        ),
                    ),
                ],
            ],
        )
