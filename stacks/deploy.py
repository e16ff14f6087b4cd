"""The app: all stacks of one environment, wired to each other. The only place that knows their order."""

from __future__ import annotations

from typing import Any

from aws_cdk import App, Environment, Tags, Validations
from cdk_nag import AwsSolutionsChecks

from stacks.approvals import ApprovalsStack
from stacks.constructs.key import ENVIRONMENT_TAG
from stacks.deployment import Deployment
from stacks.monitoring import MonitoringStack
from stacks.signals import INVOCATIONS, SignalsStack
from stacks.state import StateStack
from stacks.workflows import WorkflowsStack


def new_app(**options: Any) -> App:
    """An empty app held to cdk-nag's AwsSolutions; `options` as for aws_cdk.App."""
    app = App(analytics_reporting=False, **options)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app


def add_stacks(app: App, deployment: Deployment) -> None:
    """Add `Roundhouse-<environment>-State`, -Signals, -Workflows, -Approvals and -Monitoring to the app."""

    def named(part: str) -> dict[str, Any]:
        return {
            "scope": app,
            "id": f"Roundhouse-{deployment.environment}-{part}",
            "deployment": deployment,
            "env": Environment(account=deployment.account, region=deployment.region),
            "termination_protection": deployment.protected,
            "description": f"Roundhouse {deployment.environment}: {part.lower()}",
        }

    state = StateStack(**named("State"))
    signals = SignalsStack(**named("Signals"))
    signals.add_stack_dependency(state)
    made = {**state.made, **signals.made}
    workflows = WorkflowsStack(**named("Workflows"), made=made, queues=signals.queues)
    approvals = ApprovalsStack(**named("Approvals"), made={**made, **workflows.made}, queues=signals.queues)
    MonitoringStack(
        **named("Monitoring"),
        functions={**signals.functions, **workflows.functions, **approvals.functions},
        machines=workflows.machines,
        queues={name: queue for name, queue in signals.queues.items() if name != INVOCATIONS},
        dead_letters=signals.dead_letters,
    )
    Tags.of(app).add(ENVIRONMENT_TAG, deployment.environment)
