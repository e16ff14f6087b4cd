"""How each function runs: one row per folder of functions/. Pure data; no CDK.

Times are seconds, memory MiB. `at_once` caps concurrent runs where more would do harm; queues cap their own readers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Running:
    """Limits of one function."""

    timeout_s: int = 60
    memory_mib: int = 512
    at_once: int | None = None


DEFAULT = Running()
FUNCTIONS: dict[str, Running] = {
    "read_health_log": Running(timeout_s=30),
    "subscribe_health_log": Running(timeout_s=30),
    "intake_signals": DEFAULT,
    "measure_line": DEFAULT,
    "reconcile_line": Running(timeout_s=60, at_once=2),  # the schedule, and a person: more would only wait
    "decide_repair": DEFAULT,
    "command_agent": DEFAULT,
    "request_approval": DEFAULT,
    "read_approval": DEFAULT,
    "act_on_node": Running(at_once=5),  # the ledger decides; this bounds what a runaway could reach
    "watch_node": DEFAULT,
    "restore_count": DEFAULT,
    "prove_node": DEFAULT,
    "close_incident": DEFAULT,
    "mind_window": DEFAULT,
    "check_preflight": DEFAULT,
    "plan_stage": DEFAULT,
    "launch_stage": DEFAULT,
    "watch_stage": DEFAULT,
    "stop_ramp": DEFAULT,
    "roll_back": DEFAULT,
    "finish_run": DEFAULT,
    "begin_rehearsal": DEFAULT,
    "watch_rehearsal": DEFAULT,
    "end_rehearsal": DEFAULT,
    "answer_slack": Running(timeout_s=10, memory_mib=1024, at_once=10),  # Slack waits 3 s, start-up included
    "settle_approval": DEFAULT,
    "post_slack": DEFAULT,
}

# Functions that a state machine's definition names no longer, and executions begun before still call (up to fourteen
# days). Their folders stay, and so does the machine's permission, until the release after (docs/decisions/0018).
STILL_CALLED: dict[str, tuple[str, ...]] = {}
