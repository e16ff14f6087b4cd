"""Runs MiniStack's Step Functions executions with moto's interpreter and reports back into MiniStack's records.

Replaces MiniStack's own walker, its three task-token calls and its stop; everything else of the service (create,
describe, list, CloudFormation) stays MiniStack's.
"""

import json
import logging
import threading
from typing import Any

from simulator.aws.asl import calls, expressions, timing
from simulator.aws.settings import Settings

logger = logging.getLogger("simulator.asl")

_workers: dict[str, Any] = {}
"""Execution ARN to its interpreter, kept for the history after the end."""

_tokens: dict[str, Any] = {}
"""Every task token ever given out, to the pool that waits for it."""

_tokens_lock = threading.Lock()


def install(settings: Settings) -> None:
    """Correct moto's interpreter and let MiniStack run executions on it."""
    from ministack.services import stepfunctions
    from moto.stepfunctions.parser.asl.parse import asl_parser  # noqa: F401  loads the interpreter first

    logging.getLogger("moto.stepfunctions").setLevel(logging.CRITICAL)  # it logs each failing state several times
    expressions.install(settings.clock)
    timing.install(settings.clock)
    calls.install(settings)
    _remember_tokens()
    original_stop, original_history = stepfunctions._stop_execution, stepfunctions._get_execution_history
    original_start = stepfunctions._start_execution

    def start_execution(data: dict[str, Any]) -> Any:
        """A second start with the name and input of a running execution answers like the first, as in the cloud: a
        client that repeats a call whose answer was lost must not be told that somebody else was faster."""
        from ministack.core.responses import json_response

        reply = original_start(data)
        if reply[0] == 400 and b"ExecutionAlreadyExists" in reply[2]:
            for record in list(stepfunctions._executions.values()):
                same = record["name"] == data.get("name") and record["input"] == data.get("input", "{}")
                if same and record["status"] == "RUNNING" and record["stateMachineArn"] == data.get("stateMachineArn"):
                    return json_response({"executionArn": record["executionArn"], "startDate": record["startDate"]})
        return reply

    def run_execution(exec_arn: str) -> None:
        if (record := stepfunctions._executions.get(exec_arn)) is not None:
            _run(settings, record)

    def stop_execution(data: dict[str, Any]) -> Any:
        reply = original_stop(data)
        worker = _workers.get(data.get("executionArn", ""))
        if reply[0] == 200 and worker is not None and worker.env is not None:
            worker.env.set_stop(stop_date=None, cause=data.get("cause"), error=data.get("error"))
            _end_tokens(worker.env)
        return reply

    def execution_history(data: dict[str, Any]) -> Any:
        arn = data.get("executionArn", "")
        record, worker = stepfunctions._executions.get(arn), _workers.get(arn)
        if record is not None and worker is not None and worker.env is not None:
            record["events"] = _history(worker.env)
        return original_history(data)

    stepfunctions._run_execution = run_execution
    stepfunctions._start_execution = start_execution
    stepfunctions._stop_execution = stop_execution
    stepfunctions._get_execution_history = execution_history
    stepfunctions._send_task_success = _send_task_success
    stepfunctions._send_task_failure = _send_task_failure
    stepfunctions._send_task_heartbeat = _send_task_heartbeat


def _run(settings: Settings, record: dict[str, Any]) -> None:
    from ministack.services import stepfunctions
    from moto.stepfunctions.parser.api import StateMachineType
    from moto.stepfunctions.parser.asl.eval import evaluation_details as details
    from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker
    from moto.stepfunctions.parser.backend.execution_worker_comm import ExecutionWorkerCommunication

    machine = stepfunctions._state_machines.get(record["stateMachineArn"])
    if machine is None:
        stepfunctions._fail_execution(record, "StateMachineDeleted", "State machine no longer exists")
        return

    class Report(ExecutionWorkerCommunication):  # type: ignore[misc]
        def terminated(self) -> None:
            return

    role = machine["roleArn"]
    worker = ExecutionWorker(
        evaluation_details=details.EvaluationDetails(
            aws_execution_details=details.AWSExecutionDetails(settings.account, settings.region, role),
            execution_details=details.ExecutionDetails(
                arn=record["executionArn"],
                name=record["name"],
                role_arn=role,
                inpt=json.loads(record["input"]),
                start_time=record["startDate"],
            ),
            state_machine_details=details.StateMachineDetails(
                arn=record["stateMachineArn"],
                name=machine["name"],
                typ=StateMachineType.STANDARD,
                definition=machine["definition"],
            ),
        ),
        exec_comm=Report(),
        cloud_watch_logging_session=None,
        activity_store={},
    )
    _workers[record["executionArn"]] = worker
    try:
        worker._execution_logic()
    except Exception as error:
        logger.exception("execution %s could not run", record["executionArn"])
        stepfunctions._fail_execution(record, "States.Runtime", f"{type(error).__name__}: {error}")
        return
    _close(record, worker.env)


def _close(record: dict[str, Any], env: Any) -> None:
    """Copy the outcome into MiniStack's record, unless StopExecution has closed it."""
    from ministack.services import stepfunctions
    from moto.stepfunctions.parser.asl.eval.program_state import ProgramEnded, ProgramError, ProgramTimedOut
    from moto.stepfunctions.parser.asl.utils.encoding import to_json_str

    _end_tokens(env)
    record["events"] = _history(env)
    if record["status"] != "RUNNING":
        return
    outcome = env.program_state()
    record["stopDate"] = stepfunctions.now_iso()
    if isinstance(outcome, ProgramEnded):
        record["output"] = to_json_str(env.states.get_input(), separators=(",", ":"))
        record["status"] = "SUCCEEDED"
    elif isinstance(outcome, ProgramTimedOut):
        record["status"] = "TIMED_OUT"
    elif isinstance(outcome, ProgramError):
        failure = outcome.error or {}
        record["error"], record["cause"] = failure.get("error"), failure.get("cause")
        record["status"] = "FAILED"
    else:
        record["error"], record["status"] = "States.Runtime", "FAILED"
        record["cause"] = f"the interpreter ended in {type(outcome).__name__}"
    stepfunctions._emit_execution_status_event(record)


def _history(env: Any) -> list[dict[str, Any]]:
    events = []
    for event in env.event_manager.get_event_history():
        plain = json.loads(json.dumps(event, default=str))
        events.append(plain)
    return events


def _end_tokens(env: Any) -> None:
    """No task of an ended execution takes an answer, and none waits for one."""
    from moto.stepfunctions.parser.asl.eval.callback.callback import CallbackConsumerLeft

    for endpoint in list(env.callback_pool_manager._pool.values()):
        endpoint.report(CallbackConsumerLeft())
        endpoint.interrupt_all()


def _remember_tokens() -> None:
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_callback import (
        StateTaskServiceCallback,
    )
    from moto.stepfunctions.parser.asl.eval.callback.callback import CallbackConsumerLeft, CallbackPoolManager

    add, wait = CallbackPoolManager.add, StateTaskServiceCallback._eval_wait_for_task_token

    def add_and_remember(self: Any, callback_id: str) -> Any:
        with _tokens_lock:
            _tokens[callback_id] = self
        return add(self, callback_id)

    def wait_and_leave(
        self: Any, env: Any, timeout_seconds: int, callback_endpoint: Any, heartbeat_endpoint: Any
    ) -> Any:
        try:
            outcome = wait(self, env, timeout_seconds, callback_endpoint, heartbeat_endpoint)
            if not env.is_running():
                raise timing.StoppedExecution
            return outcome
        finally:
            callback_endpoint.report(CallbackConsumerLeft())

    CallbackPoolManager.add = add_and_remember
    StateTaskServiceCallback._eval_wait_for_task_token = wait_and_leave


def machine_of_token(token: str) -> str | None:
    """ARN of the state machine whose task has this token; None for a token that was never given out."""
    with _tokens_lock:
        pool = _tokens.get(token)
    for arn, worker in list(_workers.items()):
        if pool is not None and worker.env is not None and worker.env.callback_pool_manager is pool:
            prefix, _, rest = arn.partition(":execution:")
            return f"{prefix}:stateMachine:{rest.split(':')[0]}"
    return None


def _answer_token(token: str, act: Any) -> Any:
    from ministack.core.responses import error_response_json, json_response
    from moto.stepfunctions.parser.asl.eval.callback.callback import CallbackNotifyConsumerError

    with _tokens_lock:
        pool = _tokens.get(token)
    if pool is None:
        return error_response_json("InvalidToken", "Invalid Token: 'Invalid token'", 400)
    gone = error_response_json("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'", 400)
    try:
        return json_response({}) if act(pool) else gone
    except CallbackNotifyConsumerError:
        return gone


def _first_answer(pool: Any, outcome: Any) -> bool:
    """Give a task its outcome unless it has one: only the first answer counts."""
    with _tokens_lock:
        endpoint = pool.get(outcome.callback_id)
        if endpoint is None or endpoint.get_outcome() is not None:
            return False
        return bool(pool.notify(callback_id=outcome.callback_id, outcome=outcome))


def _send_task_success(data: dict[str, Any]) -> Any:
    from ministack.core.responses import error_response_json
    from moto.stepfunctions.parser.asl.eval.callback.callback import CallbackOutcomeSuccess

    token, output = str(data.get("taskToken")), data.get("output", "{}")
    try:
        json.loads(output)
    except (TypeError, ValueError):
        return error_response_json("InvalidOutput", "Invalid Output: not JSON", 400)
    return _answer_token(token, lambda pool: _first_answer(pool, CallbackOutcomeSuccess(token, output)))


def _send_task_failure(data: dict[str, Any]) -> Any:
    from moto.stepfunctions.parser.asl.eval.callback.callback import CallbackOutcomeFailure

    token = str(data.get("taskToken"))
    outcome = CallbackOutcomeFailure(token, data.get("error"), data.get("cause"))
    return _answer_token(token, lambda pool: _first_answer(pool, outcome))


def _send_task_heartbeat(data: dict[str, Any]) -> Any:
    token = str(data.get("taskToken"))

    def beat(pool: Any) -> bool:
        if pool.get(token).get_outcome() is not None:
            return False
        pool.heartbeat(token)  # False only if the task declares no HeartbeatSeconds, which AWS accepts
        return True

    return _answer_token(token, beat)
