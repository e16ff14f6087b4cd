"""Time in state machines: waits, retries, time-outs and heartbeats pass on the virtual clock, and a stop ends them.

Replaces moto's waiting. Work that takes real time (a Lambda, a service call) is given at least `WORK_SECONDS` real
seconds before its TimeoutSeconds strikes, since processors do not run faster on a fast clock. A task that waits for a
token gets exactly its scaled time.
"""

import datetime as real_datetime
import threading
import time
from types import SimpleNamespace
from typing import Any

from simulator.clock import VirtualClock

WORK_SECONDS = 15.0
"""Least real seconds of a task's own work, unless its TimeoutSeconds is less."""

STOP_POLL = 0.25


class StoppedExecution(BaseException):
    """The execution was stopped or timed out; unwinds a state without its Retry and Catch."""


_waiting = threading.local()


def install(clock: VirtualClock) -> None:
    """Put moto's interpreter on the virtual clock."""
    from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
    from moto.stepfunctions.parser.asl.component.state import state
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
        state_task_service_callback,
    )
    from moto.stepfunctions.parser.asl.eval.event.event_manager import EventManager

    def sleep(seconds: float) -> None:
        time.sleep(clock.real_seconds(seconds))

    print_trace = threading.excepthook

    def ignore_stops(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is not StoppedExecution:
            print_trace(args)

    threading.excepthook = ignore_stops
    retrier_decl.time = SimpleNamespace(sleep=sleep)
    stamp = SimpleNamespace(isoformat=lambda: aws_time(clock.now()))
    state.datetime = SimpleNamespace(
        datetime=SimpleNamespace(now=lambda tz=None: stamp), timezone=real_datetime.timezone
    )
    EventManager._get_current_timestamp = staticmethod(clock.now)
    state_task_service_callback._DELAY_SECONDS_SYNC_CONDITION_CHECK = 0.1
    _scale_waits(clock)
    _scale_tasks(clock)
    _scale_executions(clock)


def aws_time(moment: real_datetime.datetime) -> str:
    """ISO 8601 with milliseconds and Z, as Step Functions writes times."""
    return moment.astimezone(real_datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def _scale_waits(clock: VirtualClock) -> None:
    from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEventException
    from moto.stepfunctions.parser.asl.component.state.wait.wait_function.timestamp import Timestamp
    from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction

    def wait_interval(self: Any, env: Any, wait_seconds: float) -> None:
        end = time.monotonic() + clock.real_seconds(wait_seconds)
        while env.is_running() and (left := end - time.monotonic()) > 0:
            env.program_state_event.wait(min(left, STOP_POLL))
        if not env.is_running():
            raise StoppedExecution

    def seconds_until(self: Any, env: Any) -> float:
        self.string.eval(env=env)
        text = env.stack.pop()
        try:
            moment = real_datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        except (AttributeError, ValueError):
            moment = None
        if moment is None or moment.tzinfo is None:
            raise FailureEventException(self._create_failure_event(env, text))
        return (moment - clock.now()).total_seconds()

    WaitFunction._wait_interval = wait_interval
    Timestamp._get_wait_seconds = seconds_until


def _scale_tasks(clock: VirtualClock) -> None:
    from moto.stepfunctions.parser.asl.component.state.exec import execute_state
    from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.resource import (
        ResourceCondition,
    )
    from moto.stepfunctions.parser.asl.eval.callback import callback

    evaluate = execute_state.ExecutionState._evaluate_with_timeout

    class TaskEvent(threading.Event):
        """Waits for a task's thread: `timeout` is virtual; a stopped execution does not wait to its end."""

        def wait(self, timeout: float | None = None) -> bool:
            env, for_token = _waiting.env, _waiting.for_token
            virtual = float("inf") if timeout is None else timeout
            real = clock.real_seconds(virtual)
            # a token's own wait ends at its scaled time; here its call is given time to be made first
            real = real + WORK_SECONDS if for_token else max(real, min(virtual, WORK_SECONDS))
            end = time.monotonic() + real
            while not super().wait(max(0.0, min(end - time.monotonic(), STOP_POLL))):
                if not env.is_running():
                    raise StoppedExecution
                if time.monotonic() >= end:
                    return False
            return True

    class ScaledEvent(threading.Event):
        """An event whose time-out is virtual."""

        def wait(self, timeout: float | None = None) -> bool:
            real = None if timeout is None else min(clock.real_seconds(timeout), threading.TIMEOUT_MAX)
            return super().wait(real)

    def evaluate_with_timeout(self: Any, env: Any) -> None:
        condition = getattr(getattr(self, "resource", None), "condition", None)
        _waiting.env, _waiting.for_token = env, condition == ResourceCondition.WaitForTaskToken
        evaluate(self, env)

    execute_state.threading = SimpleNamespace(Event=TaskEvent, Thread=threading.Thread)
    execute_state.ExecutionState._evaluate_with_timeout = evaluate_with_timeout
    callback.Event = ScaledEvent


def _scale_executions(clock: VirtualClock) -> None:
    from moto.stepfunctions.parser.api import (
        ExecutionAbortedEventDetails,
        ExecutionTimedOutEventDetails,
        HistoryEventType,
    )
    from moto.stepfunctions.parser.asl.component.eval_component import EvalComponent
    from moto.stepfunctions.parser.asl.component.program.program import Program
    from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails
    from moto.stepfunctions.parser.asl.eval.program_state import ProgramTimedOut

    def record_end(env: Any) -> None:
        ended = env.program_state()
        if isinstance(ended, ProgramTimedOut):
            kind = HistoryEventType.ExecutionTimedOut
            details = EventDetails(executionTimedOutEventDetails=ExecutionTimedOutEventDetails())
        else:
            kind = HistoryEventType.ExecutionAborted
            aborted = ExecutionAbortedEventDetails(
                error=getattr(ended, "error", None), cause=getattr(ended, "cause", None)
            )
            details = EventDetails(executionAbortedEventDetails=aborted)
        env.event_manager.add_event(context=env.event_history_context, event_type=kind, event_details=details)

    def run(self: Any, env: Any) -> None:
        try:
            EvalComponent.eval(self, env)
        except StoppedExecution:
            if not env.is_frame():
                record_end(env)

    def evaluate(self: Any, env: Any) -> None:
        env.next_state_name = self.start_at.start_at_name
        if self.timeout_seconds is None:
            run(self, env)
            return
        thread = threading.Thread(target=run, args=(self, env), daemon=True)
        thread.start()
        thread.join(min(clock.real_seconds(self.timeout_seconds.timeout_seconds), threading.TIMEOUT_MAX))
        if thread.is_alive():
            env.set_timed_out()
            thread.join(WORK_SECONDS)

    Program.eval = evaluate
