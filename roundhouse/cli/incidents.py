"""`incidents` and `explain`: what happened to which node, and why it was decided so."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from rich.console import Console
from rich.table import Table
from rich.text import Text

from roundhouse import codec
from roundhouse.cli.wiring import Deployment
from roundhouse.errors import BadInput
from roundhouse.line.incident import Incident, IncidentState
from roundhouse.steps.words import OUTCOMES, duration

DAYS, OPEN_DAYS = 7.0, 90.0  # maintenance is announced weeks ahead, and its incidents are open until then
TONES = {IncidentState.CLOSED: "dim", IncidentState.HELD: "yellow", IncidentState.APPROVAL: "cyan"}


def table_of(incidents: list[Incident]) -> Table:
    """Incidents as a table, oldest first."""
    table = Table(box=None, pad_edge=False)
    for column in ("Incident", "Node", "Instance", "Cause", "Seen", "State", "Decision"):
        table.add_column(column, overflow="fold", no_wrap=column == "Incident")  # that one is copied into `explain`
    for each in incidents:
        state = OUTCOMES[each.outcome] if each.outcome else each.state.value
        cells = (
            each.incident_id,
            each.slurm_name or each.logical_id or "",
            each.instance_id,
            f"{each.cause.value}: {each.code}",
            f"{each.opened_at:%m-%d %H:%M} ×{each.event_count}",
            state,
            each.decision,
        )
        # Text, since what machines say may hold square brackets, which rich would take for markup
        table.add_row(*(Text(cell) for cell in cells), style=TONES.get(each.state, ""))
    return table


def listing(deployment: Deployment, days: float | None, only_open: bool, as_json: bool, out: Console) -> None:
    """Incidents opened in the last `days` days; without a number 7, or 90 for open ones. JSON is a list of records."""
    deployment.check_account()
    if days is None:
        days = OPEN_DAYS if only_open else DAYS
    since = datetime.now(UTC) - timedelta(days=days)
    found = list(deployment.incidents.of_cluster(deployment.cluster, since))
    if only_open:
        found = [each for each in found if each.state is not IncidentState.CLOSED]
    if as_json:
        out.print_json(json.dumps([codec.to_plain(each) for each in found]))
        return
    if not found:
        out.print(f"no {'open ' if only_open else ''}incidents of {deployment.cluster} in the last {days:g} days")
        return
    out.print(table_of(found))


def explain(deployment: Deployment, incident_id: str, as_json: bool, out: Console) -> None:
    """One incident in words: what was seen, what was decided and why, what was done, how long each step took."""
    deployment.check_account()
    incident = deployment.incidents.get(incident_id)
    if incident is None:
        raise BadInput(f"no incident {incident_id!r} in {deployment.environment.name}: see `roundhouse incidents`")
    if as_json:
        out.print_json(codec.to_json(incident))
        return
    for line in story(incident):
        out.print(line, markup=False, soft_wrap=True)  # ids and paths are copied from it


def story(incident: Incident) -> list[str]:
    """The incident as lines of plain text."""
    lines = [
        f"{incident.incident_id}  {incident.slurm_name or incident.logical_id or 'node'} on {incident.cluster}",
        f"  instance {incident.instance_id}, group {incident.group or 'unknown'}, cause {incident.cause.value}",
        f"  opened {incident.opened_at:%Y-%m-%d %H:%M:%S} UTC, {incident.event_count} events, "
        + ("confirmed by AWS" if incident.trusted else "told by the node alone"),
        "",
        "Evidence",
    ]
    for each in incident.evidence:
        lines.append(f"  {each.at:%H:%M:%S} {each.source} {each.code} ({each.health}): {each.text}")
    lines += ["", "Decision", f"  {incident.decision or 'none yet'}", "", "Steps"]
    for step in incident.steps:
        took = f" ({duration(step.ended_at - step.started_at)})" if step.ended_at else " (under way)"
        lines.append(f"  {step.started_at:%H:%M:%S}{took} {step.name}: {step.detail}")
    if incident.attempts:
        lines += ["", "Attempts"]
        lines += [f"  {a.at:%H:%M:%S} {a.rung.value} of {a.instance_id}: {a.result}" for a in incident.attempts]
    if incident.outcome:
        lines += ["", f"Closed: {OUTCOMES[incident.outcome]}"]
        if incident.closed_at:
            lines.append(f"  after {duration(incident.closed_at - incident.opened_at)}")
        if incident.current_instance_id and incident.current_instance_id != incident.instance_id:
            lines.append(f"  the node is now {incident.current_instance_id}, under the same name")
    return lines
