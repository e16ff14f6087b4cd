"""Takes one permission from a deployed role, and begins a state machine at the state that needs it.

The machine under test is the deployed one: same role, same states, only that it starts elsewhere, with the variables
set that earlier states would have set.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from simulator.client import EmbeddedAws
from tests.last.grants import row_of

Json = dict[str, Any]
POLICY = "access"
ENDED_S = 60.0
_VARIABLE = re.compile(r"\$(?!states\b)([a-z_]\w*)(?!\w*\()")


@dataclass(frozen=True)
class Visit:
    """How an execution went: the states it entered, the errors of the first one's task, one a try, and how it ended."""

    states: tuple[str, ...]
    errors: tuple[str, ...]
    status: str


@dataclass
class Roles:
    """The roles of one deployed environment by their row of the permission table."""

    aws: EmbeddedAws
    environment: str

    @cached_property
    def names(self) -> dict[str, str]:
        """Row → name of its role."""
        cloudformation, found = self.aws.client("cloudformation"), {}
        for stack in cloudformation.describe_stacks()["Stacks"]:
            if not stack["StackName"].startswith(f"Roundhouse-{self.environment}-"):
                continue
            for each in cloudformation.describe_stack_resources(StackName=stack["StackName"])["StackResources"]:
                row = row_of(each["LogicalResourceId"]) if each["ResourceType"] == "AWS::IAM::Role" else None
                if row is not None:
                    found[row] = str(each["PhysicalResourceId"])
        return found

    @contextmanager
    def without(self, row: str, action: str, on: str = "") -> Iterator[None]:
        """While the block runs the role may not do `action` on resources whose ARN holds `on`."""
        iam, role = self.aws.client("iam"), self.names[row]
        document = iam.get_role_policy(RoleName=role, PolicyName=POLICY)["PolicyDocument"]
        before = document if isinstance(document, str) else json.dumps(document)
        after, taken = json.loads(before), 0
        for statement in after["Statement"]:
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            if action in actions and on in json.dumps(statement["Resource"]):
                statement["Action"] = [each for each in actions if each != action] or ["none:None"]
                taken += 1
        assert taken, f"the role of {row} has no {action} on {on!r}"
        iam.put_role_policy(RoleName=role, PolicyName=POLICY, PolicyDocument=json.dumps(after))
        try:
            yield
        finally:
            iam.put_role_policy(RoleName=role, PolicyName=POLICY, PolicyDocument=before)


def starting_at(definition: Json, state: str, variables: Json) -> Json:
    """The definition, begun at `state`: a first state sets every variable that any of them reads,
    to null where nothing is given."""
    read = set(_VARIABLE.findall(json.dumps(definition["States"])))
    assigned = {name: variables.get(name) for name in sorted(read)}
    return {
        **definition,
        "StartAt": "Prepared",
        "States": {
            "Prepared": {"Type": "Pass", "Assign": assigned, "Next": state},
            **definition["States"],
        },
    }


def visit(aws: EmbeddedAws, machine_arn: str, state: str, given: Json, variables: Json) -> Visit:
    """Run the deployed machine from `state` on until it ends."""
    sfn = aws.client("sfn")
    deployed = sfn.describe_state_machine(stateMachineArn=machine_arn)
    definition = starting_at(json.loads(deployed["definition"]), state, variables)
    name = f"{deployed['name']}-at-{state}-{time.time_ns()}"[-80:]
    made = sfn.create_state_machine(name=name, definition=json.dumps(definition), roleArn=deployed["roleArn"])
    begun = sfn.start_execution(stateMachineArn=made["stateMachineArn"], input=json.dumps(given))["executionArn"]
    deadline = time.monotonic() + ENDED_S
    while (ended := sfn.describe_execution(executionArn=begun))["status"] == "RUNNING":
        assert time.monotonic() < deadline, f"still running: {_history(sfn, begun)[-3:]}"
        time.sleep(0.1)
    history = _history(sfn, begun)
    entered = [e["stateEnteredEventDetails"]["name"] for e in history if "stateEnteredEventDetails" in e]
    first = next((n for n, e in enumerate(history) if e["type"] == "TaskStateExited"), len(history))
    details = [e.get("taskFailedEventDetails") or e.get("lambdaFunctionFailedEventDetails") for e in history[:first]]
    return Visit(tuple(entered[1:]), tuple(str(each["error"]) for each in details if each), ended["status"])


def _history(sfn: Any, execution: str) -> list[Json]:
    found: list[Json] = []
    for page in sfn.get_paginator("get_execution_history").paginate(executionArn=execution):
        found += page["events"]
    return found
