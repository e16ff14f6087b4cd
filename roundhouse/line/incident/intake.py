"""Intake: what an event means for the incidents that are known. Pure.

Events come at least once, in any order, up to a day late, and may be recorded ones sent again. So whatever arrives is
judged by its own time, against live state, and the most that an old one can cause is a look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from roundhouse.line.event import CauseClass, Event, Health, Source
from roundhouse.line.incident.evolve import believed, close, opened, overrules, subject_of, with_event
from roundhouse.line.incident.live import gone, locate, node_of, noise, patched
from roundhouse.line.incident.record import Incident, IncidentState, Outcome
from roundhouse.line.incident.told import concerned, speaks_against
from roundhouse.line.policy import Policy
from roundhouse.line.state import Cluster, NodeStatus

TWIN = timedelta(seconds=5)  # one failed launch is told by two events about a second apart
SHOWS = timedelta(seconds=30)  # news from so soon after the call of a repair may still be of before it
REST = timedelta(hours=1)  # people know already: repetitions within that time open no second incident
_RESTING = frozenset({Outcome.DENIED, Outcome.ESCALATED, Outcome.OBSERVED})


class IntakeVerdict(StrEnum):
    OPEN = "open"  # store the incident, start its workflow
    JOIN = "join"  # store the incident: one more event
    TOLD = "told"  # store the incidents in `told`: others are at work on their nodes
    RECOVER = "recover"  # store the incidents in `recovered`: their instance is healthy again
    NOTE = "note"  # write a log line; store the incident if there is one (a closed record, no workflow)
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Intake:
    """What to do. `incident` is the new version to store, if any; `recovered` all that a Healthy event changes.

    `withdraw` says why questions of the stored incidents are to be taken back ("": they stand). `again` is True for
    bad news that are expected now, and to be judged once more if they last. `unsure`: only that one
    list does not show the instance speaks for the verdict, and lists lag.
    """

    verdict: IntakeVerdict
    incident: Incident | None
    reason: str
    recovered: tuple[Incident, ...] = ()
    told: tuple[Incident, ...] = ()
    withdraw: str = ""
    again: bool = False
    unsure: bool = False

    @property
    def changed(self) -> tuple[Incident, ...]:
        """All that is to be stored."""
        return self.recovered or self.told or (() if self.incident is None else (self.incident,))


def admit(
    event: Event, candidates: Sequence[Incident], cluster: Cluster | None, policy: Policy, now: datetime
) -> Intake:
    """Judge one event. `cluster` is live, None when it could not be read.

    `candidates` are incidents in any state; those of the event's instance matter and must be there (more do no harm).
    When storing an OPEN meets ConditionFailed, read that incident, add it to the candidates and ask again.
    """
    if event.cluster != policy.cluster:
        return _ignore(f"about cluster {event.cluster!r}, and this is the line of {policy.cluster!r}")
    if any(known.event_id == event.event_id for incident in candidates for known in incident.evidence):
        return _ignore("seen before")
    if event.source_time > now:  # a clock that runs ahead must not outrank later news
        event = replace(event, source_time=now)
    named_only = event.instance_id is None
    event = locate(event, cluster)
    if event.health is Health.INFO:
        return _inform(event, candidates, cluster)
    age = now - event.source_time
    if age > timedelta(seconds=policy.max_event_age_s):
        return _note(f"{event.code} is {_hours(age)} old: too old to act upon")
    left = gone(event, cluster, named_only)
    if left:
        heir = named_only and node_of(event, cluster) is not None  # down before it came, and perhaps down still
        unsure = event.source.trusted and not _replaced(event, candidates, cluster)
        return replace(_ignore(left), unsure=unsure, again=heir and event.health is Health.UNHEALTHY)
    match event.health:
        case Health.HEALTHY:
            return _recover(event, candidates, cluster)
        case Health.UNHEALTHY:
            return _suspect(event, candidates, cluster, now)
        case _:
            assert_never(event.health)


def _replaced(event: Event, candidates: Sequence[Incident], cluster: Cluster | None) -> bool:
    """True when more than a list's silence says that the event's instance is gone: another one in its place, or how an
    incident of it went on."""
    heir = cluster.by_logical(event.logical_id) if cluster and event.logical_id else None
    mine = [i for i in candidates if event.instance_id in {i.instance_id, i.current_instance_id}]
    ended = any(i.outcome is Outcome.SUPERSEDED or i.current_instance_id not in {None, event.instance_id} for i in mine)
    return ended or bool(heir and heir.instance_id)


def _suspect(event: Event, candidates: Sequence[Incident], cluster: Cluster | None, now: datetime) -> Intake:
    if event.source is Source.REPLAY:
        node = node_of(event, cluster)
        if node is None or node.status is not NodeStatus.FAILURE:
            return _note("a recorded event, sent again: HyperPod does not report this node as failed now")
    if event.source is Source.LIVE and (known := _not_lost(event, candidates, cluster)):
        return _note(known)
    if why := noise(event, cluster):
        return _ignore(why)
    mine = [i for i in candidates if i.instance_id == subject_of(event) and i.cause is event.cause]
    current = _newest([i for i in mine if i.state is not IncidentState.CLOSED]) or _twin(event, candidates)
    if current is None and event.source is Source.SLURM and (busy := _in_repair(event, candidates)) is not None:
        return replace(
            _note(f"Slurm misses a node that {busy.incident_id} has drained and repairs: expected"), again=True
        )
    if current is None and (patching := patched(event, cluster)):
        return replace(_note(f"Slurm misses a node that HyperPod patches ({patching}): expected"), again=True)
    if current is not None:
        good = event.source_time < current.last_event_at and current.health == Health.HEALTHY
        if good and not overrules(event, current):
            return _note("older than the newest news of this node, which are good")
        why = speaks_against(event, cluster)
        return Intake(IntakeVerdict.JOIN, with_event(current, event), f"joins {current.incident_id}", withdraw=why)
    past = [
        i
        for i in candidates
        if i.instance_id == subject_of(event) and _speaks_for(i, event.cause) and not _only_said_there(i, event)
    ]
    last = max((i for i in past if i.closed_at), key=lambda i: i.closed_at or now, default=None)
    if last is not None and last.closed_at is not None:
        good_news = _only_healthy(last) or (last.outcome is Outcome.RECOVERED and last.health == Health.HEALTHY)
        # What good news have ended is settled up to those news, what we repaired up to the repair: bad news from after
        # it may arrive after the end.
        over = good_news or last.outcome is Outcome.RECOVERED
        settled = last.last_event_at if over else _repaired_at(last) or last.closed_at
        if event.source_time < settled or (event.source_time == settled and not good_news):
            return _ignore(f"from before the end of {last.incident_id} ({last.outcome}): dealt with already")
        if last.outcome in _RESTING and now - last.closed_at < REST:
            return _note(f"people know of this since {last.incident_id} ended ({last.outcome}) a short while ago")
    occurrence = 1 + max((i.occurrence for i in mine), default=0)
    incident = opened(event, occurrence, now)
    return Intake(IntakeVerdict.OPEN, incident, f"{event.code} on {incident.instance_id}: {event.cause.value}")


def _not_lost(event: Event, candidates: Sequence[Incident], cluster: Cluster | None) -> str:
    """Why our own signal of what HyperPod lists changes nothing: it is not so any more, or known by now; else ""."""
    if cluster is None:
        return "HyperPod could not be read: whether it still lists this is not known"
    node = node_of(event, cluster)
    if event.instance_id and (node is None or node.status is not NodeStatus.FAILURE):
        return "HyperPod does not have this node in Failure any more"
    if not event.instance_id and cluster.controllers() != []:
        return "HyperPod lists a controller again"
    same = {event.instance_id, event.logical_id} - {None}
    mine = [i for i in candidates if {i.instance_id, i.current_instance_id, i.logical_id} & same]
    busy = _newest([i for i in mine if i.state is not IncidentState.CLOSED])
    return f"{busy.incident_id} is open for this node" if busy else ""


def _recover(event: Event, candidates: Sequence[Incident], cluster: Cluster | None) -> Intake:
    if event.source is Source.REPLAY:
        return _note("a recorded event, sent again")
    mine = [i for i in candidates if i.instance_id == subject_of(event) or i.current_instance_id == event.instance_id]
    mine = [i for i in mine if i.cause is not CauseClass.MAINTENANCE]  # a healthy node is maintained all the same
    every_cause = event.source is Source.NODE_HEALTH
    running = [i for i in mine if i.state is not IncidentState.CLOSED and (every_cause or i.cause is event.cause)]
    changed = tuple(with_event(i, event) for i in running if event.source_time > i.last_event_at and believed(event, i))
    if changed:
        why = speaks_against(event, cluster)
        return Intake(IntakeVerdict.RECOVER, changed[0], "healthy again", changed, withdraw=why)
    if running and not all(believed(event, i) for i in running):
        return _note("said on the node itself, and HyperPod has spoken against it: only HyperPod's word counts")
    if running:
        return _note("older than the newest news of this node, which are bad")
    past = [i for i in mine if _speaks_for(i, event.cause) and i.closed_at and i.closed_at >= event.source_time]
    if past:
        return _ignore("healthy, as known")
    # Kept as a closed record: an older Unhealthy that arrives later must find that it has been overtaken.
    occurrence = 1 + max((i.occurrence for i in mine if i.cause is event.cause), default=0)
    record = close(opened(event, occurrence, event.source_time), Outcome.IGNORED, event.source_time, "healthy")
    return Intake(IntakeVerdict.NOTE, record, "healthy, and no incident is open")


def _inform(event: Event, candidates: Sequence[Incident], cluster: Cluster | None) -> Intake:
    why = speaks_against(event, cluster)
    mine = concerned(event, candidates) if why or event.repair_begun else []
    if not mine:
        return _ignore(f"{why}: no incident is open" if why else "information only")
    told = tuple(with_event(each, event) for each in mine)
    return Intake(IntakeVerdict.TOLD, told[0], why or "HyperPod repairs this node", told=told, withdraw=why)


def _speaks_for(incident: Incident, cause: CauseClass) -> bool:
    """True when the end of `incident` also covers events of `cause`: its own, and all for HyperPod's word of health."""
    from_hyperpod = any(e.source == Source.NODE_HEALTH for e in incident.evidence)
    return incident.cause is cause or (_only_healthy(incident) and from_hyperpod)


def _only_said_there(incident: Incident, event: Event) -> bool:
    """True for an incident that good news from the node itself have ended, when HyperPod's word is to be weighed."""
    good = _only_healthy(incident) or (incident.outcome is Outcome.RECOVERED and incident.health == Health.HEALTHY)
    return event.source.trusted and good and incident.healthy_at is None


def _only_healthy(incident: Incident) -> bool:
    """True for the closed record of a Healthy event that met no open incident."""
    return incident.outcome is Outcome.IGNORED and incident.health == Health.HEALTHY


def _repaired_at(incident: Incident) -> datetime | None:
    """When the repair was called that ended it, and had time to begin; None when something else did."""
    return incident.attempts[-1].at + SHOWS if incident.outcome is Outcome.REPAIRED and incident.attempts else None


def _twin(event: Event, candidates: Sequence[Incident]) -> Incident | None:
    """The open incident of a failed launch whose second event this is, when one of the two names no node."""
    if event.cause not in {CauseClass.PROVISIONING, CauseClass.LIFECYCLE}:
        return None
    nameless = subject_of(event).startswith("group:")
    return _newest(
        [
            i
            for i in candidates
            if i.state is not IncidentState.CLOSED
            and i.cause is event.cause
            and i.group == event.group
            and abs(i.last_event_at - event.source_time) <= TWIN
            and (nameless or i.instance_id.startswith("group:"))
        ]
    )


def _in_repair(event: Event, candidates: Sequence[Incident]) -> Incident | None:
    """The open incident of the same node under which we have drained it or called for its repair.

    Of the same node, not instance: Slurm misses the new instance, too, until it has registered.
    """
    instance = subject_of(event)
    mine = [
        i
        for i in candidates
        if instance in {i.instance_id, i.current_instance_id}
        or (event.logical_id is not None and i.logical_id == event.logical_id)
        or (event.slurm_name is not None and i.slurm_name == event.slurm_name)
    ]
    return _newest([i for i in mine if i.state is not IncidentState.CLOSED and (i.drained_by_us or i.attempts)])


def _newest(incidents: Sequence[Incident]) -> Incident | None:
    return max(incidents, key=lambda i: (i.opened_at, i.occurrence), default=None)


def _hours(age: timedelta) -> str:
    return f"{age.total_seconds() / 3600:.1f} h"


def _ignore(reason: str) -> Intake:
    return Intake(IntakeVerdict.IGNORE, None, reason)


def _note(reason: str) -> Intake:
    return Intake(IntakeVerdict.NOTE, None, reason)
