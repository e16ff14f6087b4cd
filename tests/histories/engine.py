"""The embedded AWS's own Step Functions interpreter, driven call by call. Runs in the simulator's environment.

`python -m tests.histories.engine`: JSON lines in, JSON lines out. The interpreter runs as it is deployed there; only
what takes time or calls AWS is asked of the other end: a task's call, a wait, a pause before a retry, a task token.
"""

from __future__ import annotations

import functools
import io
import json
import logging
import queue
import sys
import threading
from types import SimpleNamespace
from typing import Any

Json = dict[str, Any]
ACCOUNT, REGION = "111122223333", "us-west-2"
_here = threading.local()  # the execution that this thread works for
_threads: dict[str, Execution] = {}


class Execution:
    """One execution: its thread asks, and waits for what the other end says."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.said: queue.Queue[Json] = queue.Queue()
        self.stopped = False

    def ask(self, kind: str, **members: Any) -> Json:
        """Raises StoppedExecution when the other end has lost interest."""
        from simulator.aws.asl.timing import StoppedExecution

        say({"name": self.name, "kind": kind, **members})
        answer = self.said.get()
        if answer.get("stop"):
            self.stopped = True
            raise StoppedExecution
        return answer


def say(line: Json) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class LambdaClient:
    """boto3's, as far as the interpreter uses it."""

    def invoke(self, **parameters: Any) -> Json:
        from botocore.exceptions import ClientError

        payload = json.loads(parameters["Payload"])
        answer = _here.execution.ask("call", arguments={"FunctionName": parameters["FunctionName"], "Payload": payload})
        if answer.get("died"):  # the service's own error, not the function's
            error = {"Error": {"Code": "Unknown", "Message": answer["died"]}}
            raise ClientError({**error, "ResponseMetadata": {"HTTPStatusCode": 500, "RequestId": "r"}}, "Invoke")
        made = {"StatusCode": 200, "Payload": io.BytesIO(json.dumps(answer["result"]).encode())}
        return {**made, "FunctionError": "Unhandled"} if answer.get("failed") else made


class Clients:
    """In the place of the simulator's: one client, and botocore's models."""

    def __init__(self) -> None:
        import botocore.session

        self._session = botocore.session.Session()

    def model(self, service: str) -> Any:
        return self._session.get_service_model(service)


def install() -> None:
    """The simulator's corrections of the interpreter, and then our end of time and calls."""
    from moto.stepfunctions.parser.asl.parse import asl_parser  # loads the interpreter

    from simulator.aws.asl import calls, expressions, timing
    from simulator.clock import VirtualClock

    logging.getLogger("moto.stepfunctions").setLevel(logging.CRITICAL)
    clock = VirtualClock()
    expressions.install(clock)
    timing.install(clock)
    from moto.stepfunctions.parser.asl.component.common.retry import jitter_strategy_decl, retrier_decl
    from moto.stepfunctions.parser.asl.component.state.exec import execute_state
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import state_task_service_callback
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service import (
        StateTaskService,
    )
    from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction
    from moto.stepfunctions.parser.asl.eval.callback import callback
    from moto.stepfunctions.parser.asl.utils import boto_client

    clients = Clients()
    calls.everywhere(boto_client.boto_client_for, lambda **_: LambdaClient())
    calls._restore_names(StateTaskService, clients)
    calls._name_heartbeat_timeouts()
    calls._name_missing_choice()
    # parsed and compiled once: an execution changes neither
    parse = functools.lru_cache(maxsize=16)(asl_parser.AmazonStateLanguageParser.parse)
    asl_parser.AmazonStateLanguageParser.parse = staticmethod(parse)
    expressions.TIMEOUT_MS = 10**9  # counted from when it was compiled
    expressions._compiled = functools.lru_cache(maxsize=4096)(expressions._compiled)

    def wait(self: Any, env: Any, wait_seconds: float) -> None:
        _here.execution.ask("wait", seconds=wait_seconds)

    def wait_for_token(
        self: Any, env: Any, timeout_seconds: float, callback_endpoint: Any, heartbeat_endpoint: Any
    ) -> Any:
        answer = _here.execution.ask("token", seconds=timeout_seconds, token=callback_endpoint.callback_id)
        if "output" not in answer:
            return callback.CallbackOutcomeTimedOut(callback_id=callback_endpoint.callback_id)
        return callback.CallbackOutcomeSuccess(callback_endpoint.callback_id, json.dumps(answer["output"]))

    class Patient(threading.Event):
        """A task's own time passes at the other end: here nothing takes too long."""

        def wait(self, timeout: float | None = None) -> bool:
            return super().wait()

    class Thread(threading.Thread):
        """A thread that works for the same execution as who starts it."""

        def __init__(self, target: Any = None, **members: Any) -> None:
            execution = _here.execution

            def run(*args: Any) -> None:
                _here.execution = execution
                target(*args)

            super().__init__(target=run, **members)

    WaitFunction._wait_interval = wait
    retrier_decl.time = SimpleNamespace(sleep=lambda seconds: _here.execution.ask("wait", seconds=seconds))
    jitter_strategy_decl.random = SimpleNamespace(uniform=lambda low, high: high)  # the longest pause, as in World
    state_task_service_callback.StateTaskServiceCallback._eval_wait_for_task_token = wait_for_token
    execute_state.threading = SimpleNamespace(Event=Patient, Thread=Thread)
    execute_state.Thread = Thread
    timing.threading = SimpleNamespace(**{**vars(threading), "Thread": Thread})


def run(execution: Execution, start: Json) -> None:
    """One execution, to its end; its last line names how it ended and the states it went through."""
    from moto.stepfunctions.parser.api import StateMachineType
    from moto.stepfunctions.parser.asl.eval import evaluation_details as details
    from moto.stepfunctions.parser.asl.eval.program_state import ProgramEnded, ProgramError
    from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker

    from simulator.aws.asl.timing import StoppedExecution

    _here.execution = execution
    prefix = f"arn:aws:states:{REGION}:{ACCOUNT}"
    machine, role = start["machine"], f"arn:aws:iam::{ACCOUNT}:role/states"
    worker = ExecutionWorker(
        evaluation_details=details.EvaluationDetails(
            aws_execution_details=details.AWSExecutionDetails(ACCOUNT, REGION, role),
            execution_details=details.ExecutionDetails(
                arn=f"{prefix}:execution:{machine}:{execution.name}",
                name=execution.name,
                role_arn=role,
                inpt=start["input"],
                start_time=start["at"],
            ),
            state_machine_details=details.StateMachineDetails(
                arn=f"{prefix}:stateMachine:{machine}",
                name=machine,
                typ=StateMachineType.STANDARD,
                definition=start["definition"],
            ),
        ),
        exec_comm=SimpleNamespace(terminated=lambda: None),
        cloud_watch_logging_session=None,
        activity_store={},
    )
    try:
        worker._execution_logic()
    except StoppedExecution:
        return
    outcome = worker.env.program_state()
    ended = "SUCCEEDED" if isinstance(outcome, ProgramEnded) else "FAILED"
    why = outcome.error if isinstance(outcome, ProgramError) else None
    entered = [each.get("stateEnteredEventDetails") for each in worker.env.event_manager.get_event_history()]
    visited = [each["name"] for each in entered if each]
    if execution.stopped:
        return  # nobody listens
    say({"name": execution.name, "kind": "end", "status": ended, "visited": visited, "error": str(why or "")})


def main() -> None:
    install()
    say({"kind": "ready"})
    for line in sys.stdin:
        said = json.loads(line)
        if said.get("forget"):
            for execution in _threads.values():
                execution.said.put({"stop": True})
            _threads.clear()
            continue
        name = said["name"]
        if "definition" in said:
            execution = _threads[name] = Execution(name)
            threading.Thread(target=run, args=(execution, said), daemon=True).start()
        else:
            _threads[name].said.put(said)


if __name__ == "__main__":
    main()
