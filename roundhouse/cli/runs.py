"""`create` and `status`: a creation started, followed, and shown with incidents, breaker and pause."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from roundhouse import codec
from roundhouse.cli.incidents import OPEN_DAYS, table_of
from roundhouse.cli.rehearsals import reason
from roundhouse.cli.rehearsals import words as rehearsal_words
from roundhouse.cli.wiring import Deployment, execution_name
from roundhouse.contracts.executions import ExecutionState
from roundhouse.errors import Refused, RoundhouseError
from roundhouse.line.incident import Incident, IncidentState
from roundhouse.ports import Run

REFRESH_S = 2.0
ENDED = {"done": 0, "held": 3, "rolled_back": 3, "failed": 1}
TONES = {"VERIFIED": "green", "ACCEPTED": "yellow", "LOST": "red", "UNKNOWN": "yellow"}


def create(
    deployment: Deployment, run_id: str | None, watch: bool, out: Console, unrehearsed: str | None = None
) -> int:
    """Start the workflow and, with `watch`, follow it. Exit code: 0 done, 1 failed, 3 held or rolled back.

    `unrehearsed` is why its lifecycle scripts need not have been rehearsed; it is kept with who said so.

    Raises Refused when a run of that id was started before, or all action is paused.
    """
    deployment.check_account()
    switch = deployment.control.pause()
    if switch is not None:
        raise deployment.paused(switch)
    name = execution_name(run_id, "--run-id") if run_id else f"{deployment.cluster}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    given: dict[str, object] = {"run_id": name}
    if (why := reason(unrehearsed)) is not None:
        given["unrehearsed"] = {"why": why, "by": deployment.caller()}
    started = deployment.workflows.start(deployment.state_machine_arn("create_cluster"), name, given)
    if not started:
        raise Refused(f"run {name} was started before: leave --run-id out to go on with a new run on the live counts")
    out.print(f"started {name}; `roundhouse status -e {deployment.environment.name} --watch` follows it")
    return follow(deployment, name, out) if watch else 0


def follow(deployment: Deployment, run_id: str, out: Console) -> int:
    """Show the run until it ends, or until its execution has: one that is stopped writes no end into its record."""
    machine = deployment.state_machine_arn("create_cluster")
    with Live(console=out, refresh_per_second=4, transient=False) as live:
        while True:
            state = deployment.workflows.status(machine, run_id)  # first: the record is final once it has ended
            run = deployment.runs.get(deployment.cluster)
            if run is not None and run.run_id == run_id:
                live.update(draw_run(run, _contract(deployment)))
                if run.status in ENDED:
                    return ENDED[run.status]
            if state not in {None, ExecutionState.RUNNING}:
                break
            time.sleep(REFRESH_S)
    if run is not None and run.run_id != run_id:
        out.print(f"{run_id} has ended: {run.run_id} has the cluster now, see `roundhouse status`", markup=False)
    else:
        how = f"its execution is {str(state).replace('_', ' ')}"
        again = f"`roundhouse create -e {deployment.environment.name}` goes on"
        out.print(f"{run_id} has ended without a result: {how}. {again}", markup=False, soft_wrap=True)
    return ENDED["failed"]


def status(deployment: Deployment, watch: bool, as_json: bool, out: Console) -> int:
    """One look, or a refreshed one. Never changes anything. Refuses credentials of another account: the tables of the
    same names there would tell of another cluster."""
    deployment.check_account()
    if as_json:
        out.print_json(json.dumps(_document(deployment)))
        return 0
    if not watch:
        out.print(_screen(deployment))
        return 0
    with Live(console=out, refresh_per_second=4) as live:
        while True:
            live.update(_screen(deployment))
            time.sleep(REFRESH_S)


def _contract(deployment: Deployment) -> int:
    return sum(group.count for group in deployment.environment.groups if group.role == "Compute")


def _open_incidents(deployment: Deployment) -> list[Incident]:
    since = datetime.now(UTC) - timedelta(days=OPEN_DAYS)
    found = deployment.incidents.of_cluster(deployment.cluster, since)
    return [each for each in found if each.state is not IncidentState.CLOSED]


def _or_error(read: Callable[[], str]) -> str:
    try:
        return read()
    except RoundhouseError as error:
        return f"unreadable ({error}): nothing acts"


def _document(deployment: Deployment) -> dict[str, object]:
    run, switch = deployment.runs.get(deployment.cluster), deployment.control.pause()
    rehearsal = deployment.rehearsals.newest()
    return {
        "environment": deployment.environment.name,
        "cluster": deployment.cluster,
        "run": codec.to_plain(run) if run else None,
        "rehearsal": codec.to_plain(rehearsal) if rehearsal else None,
        "open_incidents": [codec.to_plain(each) for each in _open_incidents(deployment)],
        "breaker": codec.to_plain(deployment.breaker.load(deployment.cluster)),
        "pause": codec.to_plain(switch) if switch else None,
    }


def _screen(deployment: Deployment) -> RenderableType:
    run, switch = deployment.runs.get(deployment.cluster), deployment.control.pause()
    breaker = _or_error(lambda: _breaker_words(deployment))
    parts: list[RenderableType] = [Text(f"{deployment.cluster}  ({deployment.environment.name})", style="bold")]
    if switch:
        parts.append(Text(f"PAUSED by {switch.by} since {switch.since:%m-%d %H:%M} UTC: {switch.why}", style="yellow"))
    parts.append(draw_run(run, _contract(deployment)) if run else Text("no creation recorded", style="dim"))
    rehearsal = deployment.rehearsals.newest()
    parts.append(Text(rehearsal_words(rehearsal) if rehearsal else "no rehearsal recorded", style="dim"))
    parts.append(Text(f"breaker {breaker}", style="dim" if breaker.startswith("closed") else "red"))
    found = _open_incidents(deployment)
    parts.append(table_of(found) if found else Text("no open incidents", style="dim"))
    return Group(*parts)


def _breaker_words(deployment: Deployment) -> str:
    state = deployment.breaker.load(deployment.cluster)
    since = f" since {state.since:%m-%d %H:%M} UTC: {state.reason}" if state.since and state.reason else ""
    return f"{state.status.value}{since}"


def draw_run(run: Run, contract: int) -> RenderableType:
    """A creation as bar, stages and money. `contract` is the number of workers wanted."""
    running = run.history[-1][1] if run.history else 0
    head = Table.grid(padding=(0, 2))
    head.add_row(*(Text(words) for words in (f"run {run.run_id}", run.status, run.step)))
    bar = Table.grid(padding=(0, 2))
    bar.add_row(ProgressBar(total=max(contract, 1), completed=running, width=40), f"{running} of {contract} Running")
    stages = Table(box=None, pad_edge=False)
    for column in ("Group", "Stage", "Target", "Discount", "Why"):
        stages.add_column(column, overflow="fold")
    for record in run.stages:
        if record.verdict or record.running_at or record is run.stages[-1]:
            verdict = Text(record.verdict or "…", style=TONES.get(record.verdict, "dim"))
            stages.add_row(record.group, str(record.stage + 1), str(record.target), verdict, Text(record.reason))
    money = f"expected {run.expected_usd_per_hour:,.2f} USD/h"
    if run.actual_usd_per_hour is not None:
        money += f", actual {run.actual_usd_per_hour:,.2f} USD/h"
    capacity = ", ".join(f"{count} {kind}" for kind, count in (run.capacity or {}).items())
    without = [Text(f"NOT rehearsed: {run.unrehearsed}", style="yellow")] if run.unrehearsed else []
    return Group(head, *without, bar, stages, Text(f"{money}   {capacity}", style="dim"))
