"""Gathering everything that a decision depends on, read just now. Ports only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from roundhouse.errors import InvalidRequest, NotFound, Throttled, Unavailable
from roundhouse.line.decision import Facts
from roundhouse.line.event import CauseClass
from roundhouse.line.incident import Incident, IncidentState, incident_key, target_instance
from roundhouse.line.ladder import History
from roundhouse.line.maintenance import in_window
from roundhouse.line.policy import Policy
from roundhouse.line.state import Cluster, ClusterEvent
from roundhouse.ports import BreakerStore, ClusterReader, ControlStore, IncidentStore, Ledger
from roundhouse.steps import guard, look

HISTORY = timedelta(days=7)  # longer than any budget or cooldown
OCCURRENCES = 50  # windows of one instance that are looked at: it does not live to see more
EVENTS_BEFORE = timedelta(minutes=15)


@dataclass(frozen=True)
class Sources:
    """Where facts come from."""

    reader: ClusterReader
    control: ControlStore
    ledger: Ledger
    breaker: BreakerStore
    policy: Policy
    incidents: IncidentStore | None = None  # where a repair is decided: is AWS at work on the node?

    def gather(self, incident: Incident, now: datetime) -> Facts:
        """The facts of one incident now. What cannot be read is None in them, and stops action."""
        cluster = look.live(self.reader, self.control, self.policy, now)
        events = self.events(incident, cluster)
        if events is None:  # HyperPod may have begun a repair that does not show yet: as good as not read at all
            cluster = None
        return Facts(
            incident=incident,
            cluster=cluster,
            history=History.of(self.ledger.of_cluster(self.policy.cluster, now - HISTORY)),
            breaker=guard.load(self.breaker, self.policy.cluster),
            policy=self.policy,
            now=now,
            pause=self.control.pause(),
            events=events or (),
            worked_upon=self._worked_upon(incident),
        )

    def _worked_upon(self, incident: Incident) -> str:
        """The open incident of maintenance in whose window the instance is, "" for none. By its id: no index lags."""
        if self.incidents is None or incident.cause is CauseClass.MAINTENANCE:
            return ""
        for occurrence in range(1, OCCURRENCES + 1):
            key = incident_key(self.policy.cluster, target_instance(incident), CauseClass.MAINTENANCE, occurrence)
            found = self.incidents.get(key)
            if found is None:
                return ""
            if found.state is not IncidentState.CLOSED and in_window(found):
                return found.incident_id
        return ""

    def events(self, incident: Incident, cluster: Cluster | None) -> tuple[ClusterEvent, ...] | None:
        """HyperPod's events of the incident's group since shortly before it was opened; None when they could not be
        read, and none where HyperPod keeps none (legacy provisioning). A missing permission is raised."""
        if cluster is None:
            return ()
        try:
            after = incident.opened_at - EVENTS_BEFORE
            return tuple(self.reader.events(self.policy.cluster, after=after, group=incident.group))
        except (Throttled, Unavailable):
            return None
        except (InvalidRequest, NotFound):
            return ()
