"""What people are told about incidents and runs: notices in plain words. Pure."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from roundhouse.contracts.notices import Notice, NoticeKind
from roundhouse.line.incident import Incident, Outcome
from roundhouse.ports import Run

OUTCOMES = {
    Outcome.REPAIRED: "repaired and proved",
    Outcome.RECOVERED: "healthy again without us",
    Outcome.SUPERSEDED: "another instance stands in its place",
    Outcome.OBSERVED: "seen; the policy says observe",
    Outcome.DENIED: "denied; nothing was done",
    Outcome.EXPIRED: "expired; nothing was done",
    Outcome.ESCALATED: "people must act",
    Outcome.RETURNED: "through its maintenance, proved and back",
    Outcome.IGNORED: "turned out to be nothing",
}


def incident_thread(incident_id: str) -> str:
    """Thread key of an incident."""
    return f"incident:{incident_id}"


def run_thread(run_id: str) -> str:
    """Thread key of a creation."""
    return f"run:{run_id}"


def breaker_thread(cluster: str) -> str:
    """Thread key of a cluster's breaker."""
    return f"breaker:{cluster}"


def duration(delta: timedelta) -> str:
    """A duration for people: `45 s`, `12 min`, `3 h 05 min`.

    >>> duration(timedelta(seconds=11100))
    '3 h 05 min'
    """
    seconds = max(0, round(delta.total_seconds()))
    if seconds < 120:
        return f"{seconds} s"
    minutes = seconds // 60
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def cause(text: object) -> str:
    """What a failed step said: Lambda's cause is JSON text, of which people need the message alone."""
    try:
        said = json.loads(str(text))
    except ValueError:
        return str(text or "")
    return str(said.get("errorMessage") or text) if isinstance(said, dict) else str(text)


def times(count: int) -> str:
    """`once`, `2 times`, …"""
    return "once" if count == 1 else f"{count} times"


def node_name(incident: Incident) -> str:
    """How people know the node, with the instance that the incident is about; a group or the cluster by its name."""
    kind, _, name = incident.instance_id.partition(":")
    if kind in {"group", "cluster"}:
        return f"{kind} {name or incident.cluster}"
    name = incident.slurm_name or incident.logical_id or "node"
    return f"{name} ({incident.instance_id})"


def incident_facts(incident: Incident) -> dict[str, str]:
    """Label → value, as shown under an incident's title."""
    facts = {
        "Cluster": incident.cluster,
        "Group": incident.group or "unknown",
        "Node": incident.slurm_name or "unknown",
        "Instance": incident.instance_id,
        "Cause": f"{incident.cause.value}: {incident.code}",
        "Seen": f"{times(incident.event_count)} since {incident.opened_at:%d %b %H:%M:%S} UTC",
    }
    if incident.evidence:
        facts["Evidence"] = incident.evidence[-1].text
    return facts


def opened(incident: Incident, reason: str) -> Notice:
    """An incident begins."""
    return Notice(
        notice_id=f"opened:{incident.incident_id}",
        thread=incident_thread(incident.incident_id),
        kind=NoticeKind.INCIDENT_OPENED,
        title=f"{node_name(incident)}: {incident.code}",
        text=reason,
        facts=incident_facts(incident),
    )


def step(incident: Incident, key: str, title: str, text: str) -> Notice:
    """Something was done or decided about an incident."""
    return Notice(
        notice_id=f"step:{incident.incident_id}:{key}",
        thread=incident_thread(incident.incident_id),
        kind=NoticeKind.INCIDENT_STEP,
        title=title,
        text=text,
    )


def closed(incident: Incident, why: str) -> Notice:
    """An incident ends, with the time each step took."""
    outcome = incident.outcome or Outcome.IGNORED
    facts = {"Outcome": OUTCOMES[outcome]}
    if incident.closed_at:
        facts["Took"] = duration(incident.closed_at - incident.opened_at)
    if incident.current_instance_id and incident.current_instance_id != incident.instance_id:
        facts["Now"] = f"{incident.current_instance_id} under the same name"
    for taken in incident.steps:
        facts[taken.name.replace("_", " ").capitalize()] = _step_text(taken.started_at, taken.ended_at, taken.detail)
    return Notice(
        notice_id=f"closed:{incident.incident_id}",
        thread=incident_thread(incident.incident_id),
        kind=NoticeKind.INCIDENT_CLOSED,
        title=f"{node_name(incident)}: {OUTCOMES[outcome]}",
        text=why,
        facts=facts,
        broadcast=outcome in {Outcome.ESCALATED, Outcome.REPAIRED},
    )


def _step_text(started: datetime, ended: datetime | None, detail: str) -> str:
    took = f" ({duration(ended - started)})" if ended and ended > started else ""
    return f"{started:%H:%M:%S}{took} {detail}".strip()


CONTROLLER_STEPS = (
    "A controller can be neither deleted nor replaced by HyperPod's node calls.",
    "1. Check that it is really gone: `aws sagemaker describe-cluster-node` and `sinfo` from a login node.",
    "2. Reboot it with `aws sagemaker batch-reboot-cluster-nodes` if it still runs: disks are kept.",
    "3. If that fails, open a Support case of severity production-down with the cluster's ARN and the instance id.",
    "4. Running jobs go on while the controller is away, but nothing new starts: tell the users.",
)


def controller_lost(incident: Incident) -> Notice:
    """The controller is in trouble: an alarm to people, with the steps to take."""
    return Notice(
        # One message for a loss, however many causes it is told under: each of them is an incident of its own.
        notice_id=f"controller:{incident.cluster}:{incident.opened_at:%Y-%m-%dT%H}",
        thread=f"controller:{incident.cluster}",
        kind=NoticeKind.CONTROLLER_LOST,
        title=f"Controller of {incident.cluster} is unhealthy",
        text="\n".join(CONTROLLER_STEPS),
        facts=incident_facts(incident),
        broadcast=True,
    )


def run_notice(
    run: Run, kind: NoticeKind, key: str, title: str, text: str, facts: dict[str, str] | None = None
) -> Notice:
    """Something about a creation, in its one thread."""
    return Notice(
        notice_id=f"{kind.value}:{run.run_id}:{key}",
        thread=run_thread(run.run_id),
        kind=kind,
        title=title,
        text=text,
        facts=facts or {},
        broadcast=kind in {NoticeKind.RUN_FINISHED, NoticeKind.RUN_STOPPED},
    )
