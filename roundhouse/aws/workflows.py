"""Step Functions: start an execution once, answer a task token once. Touches Step Functions only."""

from __future__ import annotations

import json
import uuid
from typing import Any

from botocore.exceptions import ClientError

from roundhouse.aws.errors import code_of, translated
from roundhouse.contracts.executions import ExecutionState

START_MARK = "start_mark"


class StepFunctions:
    """`ports.Workflows`."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def start(self, state_machine: str, name: str, payload: dict[str, object]) -> bool:
        """See `ports.Workflows.start`. The input is `payload` plus a random `start_mark`.

        StartExecution answers 200 to a second start with the name *and input* of a running execution. The mark makes
        inputs differ, so a second start is told from the first; a retry of one call has its mark, and stays a success.
        """
        marked = {**payload, START_MARK: uuid.uuid4().hex}
        with translated("StartExecution"):
            try:
                self._client.start_execution(stateMachineArn=state_machine, name=name, input=json.dumps(marked))
            except ClientError as error:
                if code_of(error) == "ExecutionAlreadyExists":
                    return False
                raise
        return True

    def status(self, state_machine: str, name: str) -> ExecutionState | None:
        """See `ports.Workflows.status`."""
        execution = f"{state_machine.replace(':stateMachine:', ':execution:')}:{name}"
        with translated("DescribeExecution"):
            try:
                described = self._client.describe_execution(executionArn=execution)
            except ClientError as error:
                if code_of(error) == "ExecutionDoesNotExist":
                    return None
                raise
        return ExecutionState.parse(described["status"])

    def succeed(self, token: str, output: dict[str, object]) -> bool:
        """See `ports.Workflows.succeed`."""
        with translated("SendTaskSuccess"):
            try:
                self._client.send_task_success(taskToken=token, output=json.dumps(output))
            except ClientError as error:
                if code_of(error) in {"TaskDoesNotExist", "TaskTimedOut", "InvalidToken"}:
                    return False
                raise
        return True
