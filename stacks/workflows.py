"""Workflows: intake, the state machines, the functions that take their steps, and the line's own metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from roundhouse.contracts.names import INTAKE_QUEUE
from stacks.constructs.function import FunctionFactory
from stacks.constructs.machine import StateMachine
from stacks.constructs.reconciling import reconcile
from stacks.deployment import Deployment
from stacks.signals import DELIVERIES, INVOCATIONS

REPAIR = (
    "decide_repair",
    "command_agent",
    "request_approval",
    "read_approval",
    "act_on_node",
    "watch_node",
    "restore_count",
    "prove_node",
    "close_incident",
)
MAINTENANCE = ("mind_window",)  # beside those of a repair that it shares
CREATION = (
    "check_preflight",
    "plan_stage",
    "launch_stage",
    "watch_stage",
    "stop_ramp",
    "roll_back",
    "finish_run",
)
REHEARSAL = ("begin_rehearsal", "watch_rehearsal", "end_rehearsal")


class WorkflowsStack(Stack):
    """`functions` by folder name, `machines` by file name; `made` the machines' ARNs."""

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
        wanted = (*REPAIR, *MAINTENANCE, *CREATION, *REHEARSAL)
        self.functions: dict[str, lambda_.Alias] = {name: factory.make(name) for name in wanted}
        waits = deployment.cluster.waits
        values = {
            "cluster_name": deployment.cluster.cluster,
            "poll_s": str(waits.poll_s),
            "controller_timeout_s": str(deployment.cluster.ready_timeout_s),
        }
        self.machines = {
            name: StateMachine(self, name, deployment=deployment, functions=self.functions, values=values).machine
            for name in ("remediate_node", "maintain_node", "create_cluster", "rehearse")
        }
        self.made = {f"machine:{name}": machine.state_machine_arn for name, machine in self.machines.items()}
        # Intake stands here and not with its queue: nothing may read signals before there is a line to put them on.
        intake = FunctionFactory(self, deployment, {**made, **self.made}, queues, layer=factory.layer)
        self.functions["intake_signals"] = intake.make("intake_signals")
        intake.reads_queue(self.functions["intake_signals"], INTAKE_QUEUE, batch=10, at_once=5)
        self._measure(factory, deployment, queues[INVOCATIONS])
        self.functions["reconcile_line"] = function = intake.make("reconcile_line")
        factory.dead_letters(function, queues[INVOCATIONS])
        reconcile(self, function, deployment, made[f"queue:{DELIVERIES}"])
        self._tidy(factory, deployment, queues[INVOCATIONS])

    def _measure(self, factory: FunctionFactory, deployment: Deployment, dead_letters: sqs.IQueue) -> None:
        """The line's own metrics, every quarter of an hour."""
        self.functions["measure_line"] = function = factory.make("measure_line")
        factory.dead_letters(function, dead_letters)
        events.Rule(
            self,
            "measure",
            rule_name=deployment.names.of("measure"),
            schedule=events.Schedule.rate(Duration.minutes(15)),
            targets=[targets.LambdaFunction(function, retry_attempts=2, max_event_age=Duration.minutes(15))],
        )

    def _tidy(self, factory: FunctionFactory, deployment: Deployment, dead_letters: sqs.IQueue) -> None:
        """Every quarter of an hour: what a rehearsal that was stopped has left standing costs money."""
        function = self.functions["end_rehearsal"]
        factory.dead_letters(function, dead_letters)
        events.Rule(
            self,
            "rehearsals",
            rule_name=deployment.names.of("rehearsals"),
            schedule=events.Schedule.rate(Duration.minutes(15)),
            targets=[targets.LambdaFunction(function, retry_attempts=2, max_event_age=Duration.minutes(15))],
        )
