"""`roundhouse`: the commands, each a few lines over what does the work. Exit codes are in the package's docstring."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from roundhouse.cli import env as env_command
from roundhouse.cli import incidents as incident_commands
from roundhouse.cli import reconcile as reconcile_command
from roundhouse.cli import rehearsals as rehearsal_commands
from roundhouse.cli import runs as run_commands
from roundhouse.cli import switch as switch_commands
from roundhouse.cli.wiring import Deployment
from roundhouse.errors import AwsFailure, BadInput, EnvironmentInvalid, Refused, RoundhouseError

OK, PROBLEMS, USAGE, REFUSED, AWS = 0, 1, 2, 3, 4

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Hands-off operation of SageMaker HyperPod (Slurm) clusters.",
    epilog="Exit codes: 0 done; 1 problems; 2 wrong usage; 3 refused by a guard; 4 AWS did not do what was asked; "
    "5 a rehearsal came to no result.",
)
environments = typer.Typer(no_args_is_help=True, help="Environment files: check and show them.")
app.add_typer(environments, name="env")

Env = Annotated[
    str, typer.Option("--environment", "-e", envvar="ROUNDHOUSE_ENVIRONMENT", help="Environment name or file.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


@environments.command("check")
def env_check(
    files: Annotated[
        list[str] | None, typer.Argument(help="Environment names or files; all of them when none.")
    ] = None,
) -> None:
    """Check environment files: every problem at once, each with its path, value, reason and remedy."""
    raise typer.Exit(env_command.check(files or [], out))


@environments.command("show")
def env_show(name: str, as_json: Json = False) -> None:
    """Show what an environment means once it is deployed: stages, prices, policy."""
    env_command.show(name, as_json, out)


@app.command()
def create(
    environment: Env,
    watch: Annotated[bool, typer.Option("--watch/--no-watch", help="Follow it until it ends.")] = True,
    run_id: Annotated[str | None, typer.Option(help="Name of the run; made from the time when absent.")] = None,
    unrehearsed: Annotated[
        str | None, typer.Option(help="Why it goes without a rehearsal of its lifecycle scripts; kept and told.")
    ] = None,
) -> None:
    """Create the environment's cluster in stages, or go on with a creation that was stopped."""
    raise typer.Exit(run_commands.create(Deployment.named(environment), run_id, watch, out, unrehearsed))


@app.command()
def rehearse(
    environment: Env,
    wait: Annotated[bool, typer.Option("--wait", help="Follow it until its throw-away cluster is gone.")] = False,
    rehearsal_id: Annotated[
        str | None, typer.Option("--id", help="Name of the rehearsal; made from the time when absent.")
    ] = None,
) -> None:
    """Try the lifecycle scripts on a throw-away cluster of one CPU node, as a creation wants to see."""
    raise typer.Exit(rehearsal_commands.rehearse(Deployment.named(environment), rehearsal_id, wait, out))


@app.command()
def status(
    environment: Env,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh until Ctrl-C.")] = False,
    as_json: Json = False,
) -> None:
    """Show the cluster's creation, its open incidents, the breaker and the pause switch."""
    raise typer.Exit(run_commands.status(Deployment.named(environment), watch, as_json, out))


@app.command()
def incidents(
    environment: Env,
    days: Annotated[float | None, typer.Option(help="How far back.", min=0, show_default="7; 90 with --open")] = None,
    only_open: Annotated[bool, typer.Option("--open", help="Only those that are not closed.")] = False,
    as_json: Json = False,
) -> None:
    """List incidents, newest last."""
    incident_commands.listing(Deployment.named(environment), days, only_open, as_json, out)


@app.command()
def explain(incident: str, environment: Env, as_json: Json = False) -> None:
    """Say why an incident was decided as it was, in words, with its evidence."""
    incident_commands.explain(Deployment.named(environment), incident, as_json, out)


@app.command()
def reconcile(environment: Env, as_json: Json = False) -> None:
    """Compare records and live state now: mend what can be mended, show what only people can."""
    raise typer.Exit(reconcile_command.reconcile(Deployment.named(environment), as_json, out))


@app.command()
def pause(environment: Env, why: Annotated[str, typer.Option(help="Said to everybody, and kept.")]) -> None:
    """Stop all automatic action; looking and telling goes on."""
    switch_commands.pause(Deployment.named(environment), why, out)


@app.command()
def resume(environment: Env, why: Annotated[str, typer.Option(help="Said to everybody, and kept.")]) -> None:
    """Let automatic action go on."""
    switch_commands.resume(Deployment.named(environment), why, out)


@app.command()
def demo(
    interactive: Annotated[
        bool, typer.Option("--interactive", help="You click in the Slack page, not a script.")
    ] = False,
    report: Annotated[str, typer.Option(help="Where the HTML report goes.")] = "build/demo/report.html",
    scale: Annotated[
        float,
        typer.Option(
            help="Virtual seconds per real second; smaller is calmer.",
            show_default="300, less on a busy machine; 45 with --interactive",
        ),
    ] = 0,
    keep: Annotated[bool, typer.Option("--keep", help="Leave everything running at the end, until Ctrl-C.")] = False,
    acts: Annotated[str, typer.Option(help="Comma-separated acts to play; all of them when empty.")] = "",
    assembly: Annotated[
        list[str] | None, typer.Option(help="DIR or ENVIRONMENT=DIR: a synthesized assembly to deploy; else made.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Begin with a finished cluster: no creation.")] = False,
    first: Annotated[bool, typer.Option("--first", help="End with the first check that is not true.")] = False,
    workdir: Annotated[str, typer.Option(help="Takes logs, records and checks; emptied first.")] = "build/demo",
) -> None:
    """Run the main job on an embedded AWS: staged creation, repair, races, an outage. No account needed."""
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / "simulator").is_dir():
        raise BadInput("the demo needs a checkout of the project: run `make demo` in one")
    sys.path.insert(0, str(checkout))
    from simulator.demo.play import play

    chosen = tuple(name for name in acts.split(",") if name)
    named = [each if "=" in each else f"demo={each}" for each in assembly or []]
    code = play(
        interactive=interactive,
        report=report,
        scale=scale,
        keep=keep,
        acts=chosen,
        assembly={name: Path(folder) for name, _, folder in (each.partition("=") for each in named)},
        console=out,
        workdir=Path(workdir).absolute(),
        quick=quick,
        first=first,
    )
    raise typer.Exit(code)


def main() -> None:
    """Entry point: deliberate errors become one clear line and an exit code; others stay tracebacks."""
    try:
        app()
    except EnvironmentInvalid as error:
        _say(str(error), "red")
        sys.exit(PROBLEMS)
    except BadInput as error:
        _say(f"error: {error}", "red")
        sys.exit(USAGE)
    except Refused as error:
        _say(f"refused: {error}", "yellow")
        sys.exit(REFUSED)
    except AwsFailure as error:
        _say(f"AWS: {error}", "red")
        sys.exit(AWS)
    except RoundhouseError as error:
        _say(f"error: {error}", "red")
        sys.exit(PROBLEMS)


def _say(message: str, tone: str) -> None:
    """As it is: square brackets in it are not rich's markup, and a narrow terminal breaks no line."""
    err.print(message, style=tone, markup=False, soft_wrap=True)
