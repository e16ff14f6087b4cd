"""The play as a timeline of plain lines: creation stages, incidents with their steps, and the breaker."""

from __future__ import annotations

from datetime import datetime

from roundhouse.steps.words import OUTCOMES, duration
from simulator.demo.house import House


def moments(house: House) -> list[tuple[datetime, str, str]]:
    """(virtual time, cluster, what happened), oldest first."""
    found: list[tuple[datetime, str, str]] = []
    for deployed in house.deployed.values():
        run = deployed.runs.get(deployed.cluster)
        if run:
            found.append((run.started_at, deployed.cluster, f"creation {run.run_id} starts"))
            for stage in run.stages:
                if stage.verdict:
                    at = stage.running_at or stage.started_at
                    text = f"stage {stage.stage + 1}: {stage.target} {stage.group}, discount {stage.verdict}"
                    found.append((at, deployed.cluster, text))
            if run.finished_at:
                found.append((run.finished_at, deployed.cluster, f"creation ends: {run.status}"))
        for incident in deployed.known():
            who = incident.slurm_name or incident.instance_id
            if len(incident.steps) > 2:
                found.append((incident.opened_at, deployed.cluster, f"{who}: {incident.code}"))
                for step in incident.steps:
                    took = f" ({duration(step.ended_at - step.started_at)})" if step.ended_at else ""
                    found.append((step.started_at, deployed.cluster, f"{who}: {step.name}{took} {step.detail}"))
            if incident.closed_at and incident.outcome:
                found.append((incident.closed_at, deployed.cluster, f"{who}: {OUTCOMES[incident.outcome]}"))
    return sorted(found)


def lines(house: House) -> list[str]:
    """The timeline for a terminal; what happened to many nodes in the same way becomes one line."""
    shown: list[str] = []
    kept: dict[str, int] = {}
    for at, cluster, text in moments(house):
        what = text.partition(": ")[2] or text
        key = f"{cluster} {what}"
        kept[key] = kept.get(key, 0) + 1
        if kept[key] <= 3:
            shown.append(f"{at:%d %b %H:%M:%S}  {cluster}  {text}"[:150])
    shown += [f"{'':15}  …and {n - 3} more: {key}"[:150] for key, n in kept.items() if n > 3]
    return shown
