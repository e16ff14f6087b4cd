"""What a world tells: cluster events, state changes, node health and log records, delivered as oddly as AWS does.

Imports the standard library, the scenario and the contract with the embedded AWS. Signals are queued here and sent by
`deliver`, outside the world's lock, so that a slow bus cannot hold up an API call.
"""

import heapq
import itertools
import json
from datetime import datetime, timedelta
from typing import Any

from simulator.hyperpod.ground.ids import Ids
from simulator.hyperpod.ground.timeline import Timeline
from simulator.hyperpod.state import Cluster, Event, Operation
from simulator.hyperpod.views import state_change_detail
from simulator.scenario import Quirks
from simulator.service import Signals

SOURCE = "aws.sagemaker"
NULL_METADATA = dict.fromkeys(
    ("Cluster", "Instance", "InstanceGroup", "InstanceGroupScaling", "InstanceMonitor", "InstanceHealth")
)


class Events:
    """The event history of all clusters and the queue of signals that are still to be delivered."""

    def __init__(self, quirks: Quirks, timeline: Timeline, ids: Ids) -> None:
        self.quirks = quirks
        self.timeline = timeline
        self.ids = ids
        self._queue: list[tuple[datetime, int, dict[str, Any]]] = []
        self._order = itertools.count()
        self.sent = 0

    def cluster_event(
        self,
        cluster: Cluster,
        description: str,
        *,
        level: str = "Info",
        group: str | None = None,
        instance_id: str | None = None,
        resource: str | None = None,
        metadata: dict[str, Any] | None = None,
        operation: Operation | None = None,
        chatter: bool = False,
    ) -> Event | None:
        """Record and send one cluster event; `chatter` is left out unless the Info flood is on.

        A legacy cluster has no event history and sends none: None is returned.
        """
        if not cluster.continuous or (chatter and not self.quirks.info_flood):
            return None
        resource = resource or ("Instance" if instance_id else "InstanceGroup" if group else "Cluster")
        event = Event(
            self.ids.uuid(),
            self.timeline.now,
            resource,
            level,
            description,
            group,
            instance_id,
            metadata or {},
            operation.id if operation else None,
        )
        cluster.events.append(event)
        del cluster.events[: -self.quirks.events_kept]
        detail: dict[str, Any] = {
            "EventId": event.id,
            "ClusterArn": cluster.arn,
            "ClusterName": cluster.name,
            "ResourceType": resource,
            "EventTime": milliseconds(event.time),
            "EventLevel": level,
            "Description": description,
            "EventDetails": {"EventMetadata": dict(NULL_METADATA) if self.quirks.null_metadata else event.metadata},
        }
        if group:
            detail["InstanceGroupName"] = group
        if instance_id:
            detail["InstanceId"] = instance_id
        if event.operation_id:
            detail["OperationId"] = event.operation_id
        self.send(cluster, "SageMaker HyperPod Cluster Event", {"EventDetails": detail})
        return event

    def state_change(self, cluster: Cluster) -> None:
        """Tell the cluster's status; the real service may do so several times for one change."""
        for _ in range(1 + self.quirks.state_change_repeats):
            self.send(cluster, "SageMaker HyperPod Cluster State Change", state_change_detail(cluster))

    def node_health(self, cluster: Cluster, instance_id: str, summary: dict[str, str]) -> None:
        """Tell that a node became unhealthy, or healthy again."""
        detail = {
            "ClusterName": cluster.name,
            "ClusterArn": cluster.arn,
            "InstanceId": instance_id,
            "Tags": dict(cluster.tags),
            "HealthSummary": summary,
        }
        self.send(cluster, "SageMaker HyperPod Cluster Node Health Event", detail)

    def send(self, cluster: Cluster | None, detail_type: str, detail: dict[str, Any]) -> None:
        """Queue one event from aws.sagemaker with the configured delay and duplicates."""
        resources = [cluster.arn] if cluster else []
        self.raw(source=SOURCE, detail_type=detail_type, detail=detail, resources=resources)

    def raw(self, *, source: str, detail_type: str, detail: dict[str, Any], resources: list[str]) -> None:
        """Queue any event. Its `time` is now, however late it is delivered."""
        call = {
            "source": source,
            "detail_type": detail_type,
            "detail": detail,
            "resources": resources,
            "time": self.timeline.now,
        }
        copies = 2 if self.ids.random.random() < self.quirks.duplicates else 1
        for _ in range(copies):
            delay = self.ids.random.uniform(*self.quirks.delay)
            self._push(timedelta(seconds=delay), json.loads(json.dumps(call, default=_keep_time)))

    def call(self, detail_type: str, detail: dict[str, Any]) -> None:
        """Queue CloudTrail's word of a call: once and at once, so that it takes nothing from the world's chances."""
        call = {"source": SOURCE, "detail_type": detail_type, "detail": detail, "resources": []}
        self._push(timedelta(0), json.loads(json.dumps(call | {"time": self.timeline.now}, default=_keep_time)))

    def log(self, cluster: Cluster, stream: str, message: str) -> None:
        """Queue one record for the cluster's log group."""
        call = {"group": cluster.log_group, "stream": stream, "message": message, "time": self.timeline.now}
        self._push(timedelta(0), call)

    def take_due(self, now: datetime) -> list[dict[str, Any]]:
        """Remove and return the signals that are due, in order of delivery."""
        due = []
        while self._queue and self._queue[0][0] <= now:
            due.append(heapq.heappop(self._queue)[2])
        return due

    def _push(self, delay: timedelta, call: dict[str, Any]) -> None:
        if isinstance(call["time"], str):
            call["time"] = datetime.fromisoformat(call["time"])
        heapq.heappush(self._queue, (self.timeline.now + delay, next(self._order), call))


def deliver(signals: Signals, calls: list[dict[str, Any]]) -> None:
    """Send what `take_due` returned. Call it without holding the world's lock."""
    for call in calls:
        if "detail" in call:
            signals.event(**call)
        else:
            signals.log(**call)


def milliseconds(time: datetime) -> int:
    """Epoch milliseconds, the form of times in EventBridge details."""
    return round(time.timestamp() * 1000)


def _keep_time(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"an event detail may not hold {type(value).__name__}")
