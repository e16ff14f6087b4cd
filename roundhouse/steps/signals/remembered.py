"""Incidents as one invocation has seen them: the index is asked once for a batch, not for each message. Ports only.

The index follows its table within about a second anyway, so whoever reads it must live with a record that has moved on.
A write over such a record fails its condition, as before; then everything is forgotten, and the next look asks again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from roundhouse.errors import AwsFailure, ConditionFailed
from roundhouse.line.incident import Incident
from roundhouse.ports import IncidentStore


class RememberedIncidents:
    """`ports.IncidentStore` over another one, for one invocation and one thread. What it writes it remembers."""

    def __init__(self, store: IncidentStore) -> None:
        self._store = store
        self._known: dict[tuple[str, datetime], dict[str, Incident]] = {}

    def get(self, incident_id: str) -> Incident | None:
        """As last written."""
        return self._store.get(incident_id)

    def put(self, incident: Incident) -> Incident:
        try:
            stored = self._store.put(incident)
        except (ConditionFailed, AwsFailure):  # somebody was faster, or the answer was lost: look again
            self._known.clear()
            raise
        for (cluster, since), incidents in self._known.items():
            if stored.cluster == cluster and stored.opened_at >= since:
                incidents[stored.incident_id] = stored
        return stored

    def of_cluster(self, cluster: str, since: datetime) -> Sequence[Incident]:
        if (cluster, since) not in self._known:
            found = self._store.of_cluster(cluster, since)
            self._known[cluster, since] = {incident.incident_id: incident for incident in found}
        return sorted(self._known[cluster, since].values(), key=lambda incident: incident.opened_at)
