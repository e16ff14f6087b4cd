"""Plays the demo: opens the house, plays the acts, draws timeline and report. Exit code 0 when all is true."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from simulator.demo.acts import create, given, outage, races, repair, twins, wrong_az
from simulator.demo.assembly import REPOSITORY
from simulator.demo.checks import Checks, NotTrue
from simulator.demo.house import House, TooLate, opened
from simulator.demo.stage import Stage

ACTS: tuple[ModuleType, ...] = (create, wrong_az, repair, twins, races, outage)
SCENARIO = REPOSITORY / "simulator" / "scenarios" / "demo.toml"
WORKDIR = REPOSITORY / "build" / "demo"
SCALE, SLOW_SCALE = 300.0, 45.0  # virtual seconds in a real one; slow for people who click themselves
WAIT_VIRTUAL_MIN = 150.0  # longest wait of one kind, in virtual minutes
BUSY = 2.0  # runnable processes to a core that the demo still keeps pace with
PATIENCE_S = 45.0  # and never shorter than that in real seconds: machines are busy at times


def play(
    *,
    interactive: bool,
    report: str,
    scale: float,
    keep: bool,
    acts: Sequence[str],
    assembly: Mapping[str, Path],
    console: Console,
    workdir: Path = WORKDIR,
    quick: bool = False,
    first: bool = False,
) -> int:
    """Play the chosen acts (all when none are named). Returns the exit code.

    Creation is always played, unless `quick`: then a cluster of the environment's size is there already. `first` ends
    the play with the first check that is not true. `assembly` is deployed instead of what would be synthesized, by
    environment. `workdir` is emptied, and takes logs, records and checks.
    """
    scale = scale or (SLOW_SCALE if interactive else SCALE / _busy())
    unknown = sorted(set(acts) - {act.ACT for act in ACTS})
    if unknown:
        console.print(f"no act {', '.join(unknown)}: there are {', '.join(act.ACT for act in ACTS)}", style="red")
        return 2
    chosen = _programme(acts, quick)
    environments = _environments(chosen)
    shutil.rmtree(workdir, ignore_errors=True)
    workdir.mkdir(parents=True)
    checks, began = Checks(first=first), time.monotonic()
    with ExitStack() as stack, _progress(console) as progress:
        task = progress.add_task("preparing", total=len(chosen) + 1)

        def say(text: str) -> None:
            progress.console.print(
                f"[dim]{time.monotonic() - began:6.1f} s[/]  {text.splitlines()[0]}", highlight=False
            )

        house = opened(
            stack,
            _scenario(given in chosen),
            environments,
            scale=scale,
            workdir=workdir,
            say=say,
            assemblies=assembly,
        )
        progress.advance(task)
        stage = Stage(house, checks, say, interactive, patience=max(PATIENCE_S, WAIT_VIRTUAL_MIN * 60 / scale))
        if interactive:
            say(f"the Slack channel: {house.slack.page_url}")
        for act in chosen:
            progress.update(task, description=act.TITLE)
            say(f"[bold]{act.TITLE}[/]")
            if not _play_act(act, stage):
                break
            progress.advance(task)
        checks.first = False
        _always(house, checks)
        _keep_records(house, workdir / "records.json")
        checks.write(workdir / "checks.json")
        _show(house, checks, console, time.monotonic() - began)
        _report(house, checks, REPOSITORY / report, console)
        if keep:
            progress.stop()
            console.print(f"Slack: {house.slack.page_url}   Ctrl-C ends it. Commands meet it in another terminal after")
            keys = "AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test"
            console.print(
                f"export AWS_ENDPOINT_URL={house.aws.endpoint} {keys} ROUNDHOUSE_ENVIRONMENT=demo", soft_wrap=True
            )
            signal.pause()
    return 1 if checks.failed else 0


def _busy() -> float:
    """How many times slower than alone a process is here, from 1: on a busy machine virtual time must not run away."""
    cores = os.cpu_count() or 1
    return max(1.0, os.getloadavg()[0] / (BUSY * cores))


def _programme(acts: Sequence[str], quick: bool) -> list[ModuleType]:
    """What is played, in order. The same news again needs an incident that is over: the repair's."""
    wanted = {act.ACT for act in ACTS} - ({create.ACT} if quick else set()) if not acts else set(acts)
    if twins.ACT in wanted:
        wanted.add(repair.ACT)
    if not quick:
        wanted.add(create.ACT)
    chosen = [act for act in ACTS if act.ACT in wanted]
    needs_cluster = create not in chosen and chosen != [wrong_az]
    return [given, *chosen] if needs_cluster else chosen


def _environments(chosen: Sequence[ModuleType]) -> tuple[str, ...]:
    if list(chosen) == [wrong_az]:
        return (wrong_az.ENVIRONMENT,)
    return ("demo", wrong_az.ENVIRONMENT) if wrong_az in chosen else ("demo",)


def _scenario(finished: bool) -> dict[str, Any]:
    """The demo's scenario; without the troubles of a creation when the cluster is there already."""
    scenario = tomllib.loads(SCENARIO.read_text())
    return {name: part for name, part in scenario.items() if name != "fault"} if finished else scenario


def _play_act(act: ModuleType, stage: Stage) -> bool:
    """Play it; an act that does not get to its end has failed. Returns whether later acts make sense."""
    try:
        act.play(stage)
    except NotTrue:
        return False
    except TooLate as late:
        stage.checks.first = False
        stage.checks.that(act.ACT, "the act gets to its end", False, late)
        return False
    return True


def _always(house: House, checks: Checks) -> None:
    """What must be true of the whole play: no node was ever called upon twice, nor one that was not there."""
    deadly = ("BatchReplaceClusterNodes", "BatchRebootClusterNodes", "BatchDeleteClusterNodes")
    targets = [i for op in deadly for c in house.calls(op) for i in c["params"].get("NodeIds") or []]
    checks.equal(
        "always", "no instance was called upon twice", sorted(t for t in set(targets) if targets.count(t) > 1), []
    )
    logical = [c["operation"] for op in deadly[:2] for c in house.calls(op) if c["params"].get("NodeLogicalIds")]
    checks.equal("always", "repairs name instances, never names that survive them", logical, [])
    refused = [
        (c["operation"], c.get("error") or c.get("result")) for op in deadly for c in house.calls(op) if _not_there(c)
    ]
    checks.equal("always", "no call for an instance that was gone", refused, [])
    slow = [d for d in house.slack.deliveries() if d["elapsed"] > 3 or d["status"] != 200]
    checks.equal("always", "Slack was answered within three seconds", [(d["status"], d["elapsed"]) for d in slow], [])


def _keep_records(house: House, path: Path) -> None:
    """All records as they are at the end, for whoever wants to know more than the report tells."""
    records = {
        name: {
            "run": house.document(deployed.runs.get(deployed.cluster)),
            "incidents": [house.document(each) for each in deployed.known()],
            "breaker": house.document(deployed.breaker.load(deployed.cluster)),
            "commands": [(house.document(c), what) for c, what in house.slurm[name].commands],
        }
        for name, deployed in house.deployed.items()
    }
    path.write_text(json.dumps(records | {"calls": house.calls()}, indent=1, default=str))


def _not_there(call: dict[str, object]) -> bool:
    return "NotFound" in str(call.get("result")) or "NotFound" in str(call.get("error"))


def _show(house: House, checks: Checks, console: Console, seconds: float) -> None:
    from simulator.demo.timeline import lines

    console.print()
    for line in lines(house):
        console.print(line, markup=False, highlight=False)
    console.print()
    for check in checks.found:
        mark = "[green]✓[/]" if check.ok else "[red]✗[/]"
        seen = f"  [dim]{check.seen}[/]" if not check.ok else ""
        console.print(f" {mark} {check.act}: {check.must}{seen}", highlight=False)
    verdict = "all true" if not checks.failed else f"{len(checks.failed)} NOT TRUE"
    console.print(
        f"\n{len(checks.found)} checks, {verdict}, in {seconds:.0f} s", style="red" if checks.failed else "green"
    )
    if checks.failed:
        console.print(
            'On a machine that has much else to do, slower time may be all it needs: make demo DEMO="--scale 100"'
        )


def _report(house: House, checks: Checks, path: Path, console: Console) -> None:
    from simulator.demo.report import write

    path.parent.mkdir(parents=True, exist_ok=True)
    write(house, checks, path)
    console.print(f"report: {path}")


def _progress(console: Console) -> Progress:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)
