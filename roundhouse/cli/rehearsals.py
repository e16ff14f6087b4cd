"""`rehearse`: lifecycle scripts tried on a throw-away cluster before a creation, started and followed."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from rich.console import Console

from roundhouse.build.rehearsal import REASON_LEAST, Rehearsal, Result
from roundhouse.cli.wiring import Deployment, execution_name
from roundhouse.contracts.executions import ExecutionState
from roundhouse.errors import BadInput, Refused

REFRESH_S = 2.0
PASSED, FAILED, INCONCLUSIVE = 0, 1, 5
MACHINE = "rehearse"


def rehearse(deployment: Deployment, rehearsal_id: str | None, wait: bool, out: Console) -> int:
    """Start the workflow and, with `wait`, follow it. Exit code: 0 passed, 1 the scripts failed, 5 inconclusive.

    Raises Refused when one is under way, all action is paused, or one of that id was started before.
    """
    deployment.check_account()
    switch = deployment.control.pause()
    if switch is not None:
        raise deployment.paused(switch)
    now = datetime.now(UTC)
    newest = deployment.rehearsals.newest()
    if newest is not None and newest.under_way and not newest.abandoned(now):
        raise Refused(
            f"rehearsal {newest.rehearsal_id} is under way since {newest.started_at:%Y-%m-%d %H:%M} UTC: wait for its "
            "end. One whose execution was stopped is cleared away within the hour"
        )
    name = execution_name(rehearsal_id, "--id") if rehearsal_id else f"rehearsal-{now:%Y%m%dT%H%M%SZ}"
    machine = deployment.state_machine_arn(MACHINE)
    if not deployment.workflows.start(machine, name, {"by": deployment.caller()}):
        raise Refused(f"rehearsal {name} was started before: leave --id out to begin a new one")
    terms = deployment.environment.rehearsal
    out.print(f"started {name}: one {terms.instance_type} until the scripts have ended, then it is deleted")
    return follow(deployment, name, out) if wait else PASSED


def follow(deployment: Deployment, name: str, out: Console) -> int:
    """Say each change until the execution has ended; the throw-away cluster is gone then."""
    seen: dict[str, Result | None] = {}
    told = ""
    while True:
        state = deployment.workflows.status(deployment.state_machine_arn(MACHINE), name)
        newest = deployment.rehearsals.newest()
        if newest is not None and newest.rehearsal_id == name:
            seen[str(newest.scripts)] = newest.result
            if (line := words(newest)) != told:
                told = line
                out.print(line, markup=False, soft_wrap=True)
        if state is not ExecutionState.RUNNING:
            break
        time.sleep(REFRESH_S)
    if not seen:
        out.print(f"rehearsal {name} did not begin: its execution and Slack say why", markup=False)
    if state is ExecutionState.SUCCEEDED and set(seen.values()) == {Result.PASSED}:
        return PASSED
    return FAILED if Result.FAILED in seen.values() else INCONCLUSIVE


def words(rehearsal: Rehearsal) -> str:
    """One line about a rehearsal: result, since when, why, and where its output is."""
    result = rehearsal.result.value if rehearsal.result else "under way"
    if rehearsal.result and rehearsal.under_way:
        result += ", its throw-away cluster is being deleted"
    digest = f" ({rehearsal.digest[:12]})" if rehearsal.digest else ""
    why = f": {rehearsal.reason}" if rehearsal.reason else ""
    where = ""
    if rehearsal.result is not None and rehearsal.result is not Result.PASSED and rehearsal.log_stream:
        where = f"; read {rehearsal.log_group} {rehearsal.log_stream}"
    return f"scripts{digest} {result}, begun {rehearsal.started_at:%m-%d %H:%M} UTC{why}{where}"


def reason(text: str | None) -> str | None:
    """The reason given for going without, checked. Raises BadInput when it says too little."""
    if text is not None and len(text.strip()) < REASON_LEAST:
        raise BadInput(f"--unrehearsed takes a reason of at least {REASON_LEAST} characters: people will ask for it")
    return text.strip() if text is not None else None
