"""A state machine from its file in statemachines/, inline in the template so that linters see it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from stacks.constructs.access import role_for
from stacks.constructs.code import ROOT
from stacks.constructs.logs import RETENTION
from stacks.deployment import Deployment
from stacks.functions import STILL_CALLED
from stacks.permissions import MACHINES, Grant

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


class StateMachine(Construct):
    """`machine`, with a role that may invoke the functions its definition names, logged and traced.

    `functions` are the stack's functions by folder name, `values` the definition's other placeholders.
    """

    def __init__(
        self,
        stack: Stack,
        name: str,
        *,
        deployment: Deployment,
        functions: Mapping[str, lambda_.IFunction],
        values: Mapping[str, str],
    ) -> None:
        super().__init__(stack, name)
        path = ROOT / "statemachines" / f"{name}.asl.json"
        text = path.read_text()
        wanted = set(_PLACEHOLDER.findall(text))
        if unknown := sorted(wanted - functions.keys() - values.keys()):
            raise ValueError(f"{path.relative_to(ROOT)}: no function and no value for {', '.join(unknown)}")
        called = {each: functions[each] for each in sorted(wanted & functions.keys())}
        # an execution keeps the definition it began with, but not the role's policy of then
        callable_ = {**called, **{each: functions[each] for each in STILL_CALLED.get(name, ())}}
        invoke = Grant(("lambda:InvokeFunction",), tuple(f"function:{each}" for each in callable_))
        machine_name = deployment.names.state_machine(name)
        log = logs.LogGroup(
            self,
            "Log",
            # this prefix is covered by one shared resource policy, of which an account may have only ten
            log_group_name=f"/aws/vendedlogs/states/{machine_name}",
            retention=RETENTION[deployment.log_days],
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.machine = sfn.StateMachine(
            self,
            "Machine",
            state_machine_name=machine_name,
            state_machine_type=sfn.StateMachineType.STANDARD,
            definition_body=sfn.DefinitionBody.from_string(text),
            definition_substitutions={
                **{each: function.function_arn for each, function in called.items()},
                **{each: value for each, value in values.items() if each in wanted},
            },
            role=role_for(
                self,
                "Role",
                service="states.amazonaws.com",
                grants=(invoke, *MACHINES[name]),
                deployment=deployment,
                made={f"function:{each}": function.function_arn for each, function in callable_.items()},
            ),
            # execution data holds task tokens, which nobody but the executor may read
            logs=sfn.LogOptions(destination=log, level=sfn.LogLevel.ALL, include_execution_data=False),
            tracing_enabled=True,
            removal_policy=RemovalPolicy.DESTROY,
        )
