"""Explain an incident and its decision in plain lines, as the command line shows them. Pure."""

from __future__ import annotations

from roundhouse.line.decision.verdict import Decision
from roundhouse.line.incident import Incident


def explain(incident: Incident, decision: Decision | None = None) -> list[str]:
    """What happened, on what evidence, what was done, and what is decided (None: the last decision on record)."""
    name = incident.slurm_name or incident.logical_id or "no name known"
    times = "once" if incident.event_count == 1 else f"{incident.event_count} times"
    lines = [
        f"{incident.incident_id}: {incident.code or 'no code'} ({incident.cause}) on {incident.instance_id}, {name}, "
        f"group {incident.group or 'unknown'} of {incident.cluster}",
        f"Opened {incident.opened_at:%Y-%m-%d %H:%M:%S} UTC, seen {times}, last news at "
        f"{incident.last_event_at:%H:%M:%S} UTC: {incident.health}",
    ]
    if incident.current_instance_id and incident.current_instance_id != incident.instance_id:
        lines.append(f"Behind that node now: {incident.current_instance_id}")
    trust = "HyperPod itself reports it" if incident.trusted else "only Slurm or a log on a node reports it"
    lines.append(f"Evidence: {trust}")
    lines += [f"  {e.at:%H:%M:%S} {e.source}: {e.code or e.health}: {e.text[:160]}" for e in incident.evidence]
    if incident.others:
        lines.append("Others:")
        lines += [f"  {o.at:%H:%M:%S} {o.who} called {o.call}" for o in incident.others]
    if incident.undrained_at is not None:
        lines.append(f"Our drain was taken back by hand at {incident.undrained_at:%H:%M:%S} UTC")
    if incident.withdrawn:
        lines.append(f"Questions taken back, since others acted meanwhile: {incident.withdrawn}")
    if incident.attempts:
        lines.append("Tried:")
        lines += [f"  {a.at:%H:%M:%S} {a.rung.in_words} {a.instance_id}: {a.result}" for a in incident.attempts]
    if incident.steps:
        lines.append("Steps:")
        for step in incident.steps:
            took = f"{round((step.ended_at - step.started_at).total_seconds())} s" if step.ended_at else "running"
            lines.append(f"  {step.started_at:%H:%M:%S} {step.name} ({took}) {step.detail}".rstrip())
    if decision is None:
        lines.append(f"Last decision: {incident.decision or 'none yet'}")
    else:
        lines.append(f"Decision: {decision.verdict}: {decision.reason}")
        if decision.guard:
            without = f"; without it: {decision.unguarded}" if decision.unguarded else ""
            lines.append(f"Guard: {decision.guard}{without}")
        lines += [f"  - {advice}" for advice in decision.advice]
    if incident.outcome:
        lines.append(f"Outcome: {incident.outcome}")
    return lines
