"""`reconcile`: compare records and live state now, mend what can be mended, and show the rest."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from roundhouse.cli.wiring import Deployment

FUNCTION = "reconcile_line"
PROBLEMS = 1
ENDS = {"mended": "green", "shown": "red", "left": "yellow"}


def reconcile(deployment: Deployment, as_json: bool, out: Console) -> int:
    """Run the deployed reconciler once. Exit code: 0, or 1 when something is left that only people can mend, or that
    could not be read."""
    deployment.check_account()
    said = deployment.functions.invoke(deployment.names.function(FUNCTION), {"asked_by": deployment.caller()})
    if as_json:
        out.print_json(json.dumps(said))
    else:
        _draw(said, deployment, out)
    return PROBLEMS if said["shown"] or said["unread"] else 0


def _draw(said: dict[str, Any], deployment: Deployment, out: Console) -> None:
    for name in said["unread"]:
        out.print(f"{name} could not be read: what depends on it was not compared", style="yellow")
    if said["paused"]:
        out.print("paused: nothing is begun until `roundhouse resume`", style="yellow")
    if not any(said[end] for end in ENDS):
        out.print(f"the records of {deployment.cluster} agree with each other and with live state")
        return
    table = Table(box=None, pad_edge=False)
    for column in ("Now", "Difference", "What", "Remedy"):
        table.add_column(column, overflow="fold", no_wrap=column == "Now")
    for end, tone in ENDS.items():
        for each in said[end]:
            cells = (end, each["kind"].replace("_", " "), each["words"], each["remedy"].replace("_", " "))
            table.add_row(*(Text(cell) for cell in cells), style=tone)
    out.print(table)
