"""The private names of MiniStack and moto that the embedded AWS replaces or calls, checked at the start.

Both packages are pinned exactly, and their private names may change in any release. `verify` refuses to start with a
message that names what is missing, so a careless upgrade cannot turn into tests that pass for the wrong reason.
"""

import importlib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

VERSIONS = {"ministack": "1.5.33", "moto": "5.2.5", "awslambdaric": "4.2.2"}

SERVICES = "ministack.services."
ASL = "moto.stepfunctions.parser.asl."
TASK = ASL + "component.state.exec.state_task."


class HookError(RuntimeError):
    """A hooked name is missing or has another signature; the launcher does not start."""


@dataclass(frozen=True)
class Hook:
    """`name` ('Class.method' allowed) in `module`; `parameters` None means any non-callable."""

    module: str
    name: str
    parameters: tuple[str, ...] | None = None


def _hook(module: str, name: str, parameters: str | None = None) -> Hook:
    return Hook(module, name, None if parameters is None else tuple(parameters.split()))


HOOKS: tuple[Hook, ...] = (
    _hook("ministack.app", "app", "scope receive send"),
    _hook("ministack.app", "SERVICE_REGISTRY"),
    _hook("ministack.app", "SERVICE_HANDLERS"),
    _hook("ministack.core.router", "SERVICE_PATTERNS"),
    _hook("ministack.core.iam_actions", "SERVICE_TO_IAM_NAMESPACE"),
    _hook(
        "ministack.core.iam_actions",
        "extract_resource_arn",
        "service method path headers body query_params region account_id",
    ),
    _hook("ministack.core.iam_evaluator", "caller_arn", ""),
    _hook("ministack.app", "pin_request_origin", "source_ip secure_transport"),
    _hook("ministack.core.iam_evaluator", "_request_origin"),
    _hook("ministack.core.responses", "set_request_account_id", "access_key_id"),
    _hook("ministack.core.responses", "set_request_region", "region"),
    _hook("ministack.core.responses", "get_account_id", ""),
    _hook("ministack.core.responses", "get_region", ""),
    _hook("ministack.core.lambda_runtime", "execution_credentials", "config"),
    _hook(SERVICES + "lambda_svc", "_execute_function_warm", "func event request_id"),
    _hook(SERVICES + "lambda_svc", "_runtime_env_vars", "config"),
    _hook(SERVICES + "lambda_svc", "invoke_async_with_retry", "func event"),
    _hook(SERVICES + "lambda_svc", "_execution_record_for_config", "func config"),
    _hook("ministack.core.iam_evaluator", "_gather_role_policies", "role_name account_id"),
    _hook("ministack.core.iam_evaluator", "evaluate", "ctx policies limits"),
    _hook(SERVICES + "lambda_svc", "_resolve_layer_zip", "attachment"),
    _hook(
        SERVICES + "lambda_svc",
        "_emit_lambda_logs",
        "func request_id log_text error duration_ms log_source",
    ),
    _hook(SERVICES + "eventbridge", "_now_ts", ""),
    _hook(SERVICES + "eventbridge", "_put_events", "data allow_aws_source"),
    _hook(SERVICES + "eventbridge", "_create_archive", "data"),
    _hook(SERVICES + "eventbridge", "_delete_archive", "data"),
    _hook(SERVICES + "eventbridge", "_invoke_target", "target event rule view"),
    _hook(SERVICES + "eventbridge", "_pattern_event_view", "event"),
    _hook(SERVICES + "eventbridge", "_dispatch_to_lambda", "arn payload"),
    _hook(SERVICES + "eventbridge", "_dispatch_to_sqs", "spec payload sqs_parameters"),
    _hook(SERVICES + "eventbridge", "_SCHEDULER_TICK_INTERVAL"),
    _hook(SERVICES + "cloudwatch_logs", "_put_log_events", "data"),
    _hook(SERVICES + "cloudwatch_logs", "_create_log_group", "data"),
    _hook(SERVICES + "cloudwatch_logs", "_create_log_stream", "data"),
    _hook(SERVICES + "cloudwatch_logs", "_put_subscription_filter", "data"),
    _hook(SERVICES + "cloudwatch_logs", "_subscription_pattern_matches", "pattern message"),
    _hook(SERVICES + "cloudwatch_logs", "_log_groups"),
    _hook(SERVICES + "cloudwatch_logs", "_fanout_to_subscription_filters", "group_name stream_name events"),
    _hook(SERVICES + "apigateway", "_extract_lambda_ref_from_integration_uri", "uri"),
    _hook(SERVICES + "lambda_svc", "_get_func_record_for_ref", "function_ref"),
    _hook(SERVICES + "lambda_svc", "_get_base_func_record_for_ref", "function_ref"),
    _hook(SERVICES + "lambda_svc", "_effective_func_record_for_qualifier", "func qualifier"),
    _hook(SERVICES + "sqs", "queue_policy_allows", "queue_arn service source_arn source_account"),
    _hook(SERVICES + "sns", "topic_policy_allows", "topic_arn service source_arn source_account"),
    _hook(SERVICES + "sns", "_topic_by_arn_any_scope", "topic_arn"),
    _hook(SERVICES + "stepfunctions", "_resolve_state_machine_arn", "arn"),
    _hook(SERVICES + "lambda_svc", "_functions"),
    _hook(SERVICES + "cloudwatch", "time"),
    _hook(SERVICES + "apigateway", "time"),
    _hook("ministack.core.router", "extract_access_key_id", "headers query_params"),
    _hook(
        "ministack.core.iam_evaluator",
        "enforce",
        "access_key_id iam_action service region resource_arn service_context",
    ),
    _hook("ministack.core.iam_evaluator", "evaluate_resource_policy", "doc ctx service named_only direct_only"),
    _hook(SERVICES + "ec2", "_subnets"),
    _hook(SERVICES + "ec2", "_create_subnet", "p"),
    _hook(SERVICES + "cloudwatch", "record_metric", "namespace metric_name value unit dimensions"),
    _hook(SERVICES + "cloudwatch", "_evaluate_alarm", "alarm"),
    _hook(SERVICES + "cloudwatch", "_dispatch_alarm_actions", "alarm old_state new_state reason"),
    _hook(SERVICES + "cloudwatch", "_evaluate_parent_alarms", "child seen"),
    _hook(SERVICES + "cloudwatch", "_record_history", "alarm_name old_state new_state reason alarm_type reason_data"),
    _hook(SERVICES + "cloudwatch", "_calc_stats", "points"),
    _hook(SERVICES + "cloudwatch", "_stat_value", "stats stat_name points"),
    _hook(SERVICES + "cloudwatch", "_dims_key", "dims"),
    _hook(SERVICES + "cloudwatch", "_dims_from_list", "dimensions"),
    _hook(SERVICES + "cloudwatch", "_metrics"),
    _hook(SERVICES + "cloudwatch", "_alarms"),
    _hook(SERVICES + "dynamodb", "_update_continuous_backups", "data"),
    _hook(SERVICES + "sqs", "_queues"),
    _hook(SERVICES + "sts", "register_session", "access_key session"),
    _hook(SERVICES + "sqs", "_queue_by_arn", "arn"),
    _hook(SERVICES + "cloudformation.provisioners", "_RESOURCE_HANDLERS"),
    _hook(SERVICES + "stepfunctions", "_executions"),
    _hook(SERVICES + "stepfunctions", "_state_machines"),
    _hook(SERVICES + "stepfunctions", "_run_execution", "exec_arn"),
    _hook(SERVICES + "stepfunctions", "_start_execution", "data"),
    _hook(SERVICES + "stepfunctions", "_stop_execution", "data"),
    _hook(SERVICES + "stepfunctions", "_get_execution_history", "data"),
    _hook(SERVICES + "stepfunctions", "_fail_execution", "execution error cause"),
    _hook(SERVICES + "stepfunctions", "_send_task_success", "data"),
    _hook(SERVICES + "stepfunctions", "_send_task_failure", "data"),
    _hook(SERVICES + "stepfunctions", "_send_task_heartbeat", "data"),
    _hook(SERVICES + "stepfunctions", "_emit_execution_status_event", "execution"),
    _hook(SERVICES + "stepfunctions", "_register_sfn_jsonata_functions", "expr"),
    _hook(SERVICES + "stepfunctions", "now_iso", ""),
    _hook(ASL + "parse.asl_parser", "AmazonStateLanguageParser.parse", "definition"),
    _hook(ASL + "antlt4utils.antlr4utils", "from_string_literal", "parser_rule_context"),
    _hook(ASL + "parse.preprocessor", "Preprocessor._inner_string_of", "parser_rule_context"),
    _hook(ASL + "component.state.choice.state_choice", "StateChoice._eval_state", "self env"),
    _hook(ASL + "component.common.string.string_expression", "StringJSONata._eval_body", "self env"),
    _hook(ASL + "component.common.string.string_expression", "StringVariableSample._eval_body", "self env"),
    _hook(ASL + "component.common.string.string_expression", "extract_json", "path data"),
    _hook(ASL + "component.common.timeouts.timeout", "Timeout._eval_body", "self env"),
    _hook(ASL + "component.common.timeouts.heartbeat", "Heartbeat._eval_body", "self env"),
    _hook(ASL + "component.common.timeouts.timeout", "TimeoutSeconds.DEFAULT_TIMEOUT_SECONDS"),
    _hook(ASL + "component.common.retry.retrier_decl", "time"),
    _hook(
        ASL + "component.state.wait.wait_function.wait_function",
        "WaitFunction._wait_interval",
        "self env wait_seconds",
    ),
    _hook(ASL + "component.state.wait.wait_function.timestamp", "Timestamp._get_wait_seconds", "self env"),
    _hook(ASL + "component.state.state", "datetime"),
    _hook(ASL + "component.program.program", "Program.eval", "self env"),
    _hook(ASL + "component.state.exec.execute_state", "ExecutionState._evaluate_with_timeout", "self env"),
    _hook(ASL + "component.state.exec.execute_state", "ExecutionState._eval_state", "self env"),
    _hook(ASL + "eval.event.event_manager", "EventManager._get_current_timestamp", ""),
    _hook(ASL + "eval.environment", "Environment.program_state", "self"),
    _hook(ASL + "eval.callback.callback", "CallbackPoolManager.notify", "self callback_id outcome"),
    _hook(ASL + "utils.encoding", "to_json_str", "obj separators"),
    _hook(ASL + "utils.boto_client", "boto_client_for", "region service state_credentials"),
    _hook(
        TASK + "service.state_task_service",
        "StateTaskService._normalise_parameters",
        "self parameters boto_service_name service_action_name",
    ),
    _hook(
        TASK + "service.state_task_service",
        "StateTaskService._normalise_response",
        "self response boto_service_name service_action_name",
    ),
    _hook(TASK + "service.state_task_service_aws_sdk", "_SERVICE_ERROR_NAMES"),
    _hook(
        TASK + "service.state_task_service_aws_sdk",
        "StateTaskServiceAwsSdk._normalise_exception_name",
        "norm_service_name ex",
    ),
    _hook(TASK + "service.state_task_service_callback", "_DELAY_SECONDS_SYNC_CONDITION_CHECK"),
    _hook(TASK + "service.state_task_service_callback", "StateTaskServiceCallback._from_error", "self env ex"),
    _hook(
        TASK + "service.state_task_service_callback",
        "StateTaskServiceCallback._eval_wait_for_task_token",
        "self env timeout_seconds callback_endpoint heartbeat_endpoint",
    ),
    _hook(ASL + "eval.callback.callback", "CallbackPoolManager.add", "self callback_id"),
    _hook(ASL + "eval.callback.callback", "Event", ""),
    _hook("moto.stepfunctions.parser.backend.execution_worker", "ExecutionWorker._execution_logic", "self"),
)


def _problem(hook: Hook) -> str | None:
    where = f"{hook.module}.{hook.name}"
    try:
        found: Any = importlib.import_module(hook.module)
    except ImportError as error:
        return f"{where}: module cannot be imported ({error})"
    for part in hook.name.split("."):
        if not hasattr(found, part):
            return f"{where}: no such name"
        found = getattr(found, part)
    if hook.parameters is None:
        return f"{where}: is a function now" if inspect.isfunction(found) else None
    if not callable(found):
        return f"{where}: not callable"
    actual = tuple(inspect.signature(found).parameters)
    if actual != hook.parameters:
        return f"{where}: takes ({', '.join(actual)}), expected ({', '.join(hook.parameters)})"
    return None


def problems(hooks: Sequence[Hook] = HOOKS) -> list[str]:
    """What is wrong with the installed packages, one line each; empty when all is as expected."""
    wrong = [
        f"{package}: version {version(package)} is installed, {wanted} expected"
        for package, wanted in VERSIONS.items()
        if version(package) != wanted
    ]
    return wrong + [text for hook in hooks if (text := _problem(hook))]


def verify() -> None:
    """Raise HookError naming everything that differs from what the embedded AWS was written against."""
    if wrong := problems():
        raise HookError(
            "the embedded AWS does not fit the installed packages; install simulator/requirements.txt exactly:\n  "
            + "\n  ".join(wrong)
        )
