"""HyperPod as it is now: the cluster, its nodes, its events. Touches SageMaker, reading only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from roundhouse.aws.cluster_events import parse, worth_a_lookup
from roundhouse.aws.errors import translated
from roundhouse.build.settings import live_settings
from roundhouse.errors import NotFound, Unavailable
from roundhouse.line.state import Cluster, Group, Node, NodeStatus
from roundhouse.ports import Clock, ClusterEvent

LOOKUPS = 100  # DescribeClusterEvent calls of one `events`, newest first; the next call goes on with the older ones
_REMEMBERED = 2_000


class HyperpodReader:
    """`ports.ClusterReader`.

    `roles` gives group name → Controller, Login or Compute from the environment. It is asked only when HyperPod does
    not say a group's role itself, as for clusters in the legacy provisioning mode.
    """

    def __init__(self, client: Any, clock: Clock, roles: Callable[[], Mapping[str, str]] = dict) -> None:
        self._client = client
        self._clock = clock
        self._roles = roles
        self._looked_up: dict[str, ClusterEvent] = {}  # events never change, so a warm process asks once

    def cluster(self, name: str) -> Cluster:
        """See `ports.ClusterReader.cluster`. `read_at` is when the reading began."""
        read_at = self._clock.now()
        with translated("DescribeCluster"):
            raw = self._client.describe_cluster(ClusterName=name)
        continuous = raw.get("NodeProvisioningMode") == "Continuous"
        return Cluster(
            name=raw.get("ClusterName", name),
            arn=raw["ClusterArn"],
            status=raw["ClusterStatus"],
            node_recovery=raw.get("NodeRecovery", "None"),
            groups={group["InstanceGroupName"]: self._group(group) for group in raw.get("InstanceGroups", [])},
            nodes=self._nodes(name, continuous=continuous),
            read_at=read_at,
            continuous=continuous,
            failure=raw.get("FailureMessage") or "",
        )

    def events(self, name: str, after: datetime, group: str | None = None) -> Sequence[ClusterEvent]:
        """See `ports.ClusterReader.events`. About 500 are kept. A cluster in legacy mode raises InvalidRequest."""
        query: dict[str, Any] = {
            "ClusterName": name,
            "EventTimeAfter": after,
            "SortBy": "EventTime",
            "SortOrder": "Ascending",
            "PaginationConfig": {"PageSize": 100},
        }
        if group is not None:
            query["InstanceGroupName"] = group
        listed: dict[str, ClusterEvent] = {}
        with translated("ListClusterEvents"):
            for page in self._client.get_paginator("list_cluster_events").paginate(**query):
                listed |= {raw["EventId"]: parse(raw) for raw in page.get("Events", [])}
        self._look_up(name, listed.values())
        events = (self._looked_up.get(event_id, event) for event_id, event in listed.items())
        return sorted((event for event in events if event.at > after), key=lambda event: event.at)

    def event(self, name: str, event_id: str) -> ClusterEvent:
        """See `ports.ClusterReader.event`. Metadata that is all null counts as not found: botocore cannot parse it."""
        if event_id not in self._looked_up:
            try:
                with translated("DescribeClusterEvent"):
                    answer = self._client.describe_cluster_event(ClusterName=name, EventId=event_id)
            except Unavailable as error:
                if error.code != "ResponseParserError":
                    raise
                answer = {}
            if "EventDetails" not in answer:
                raise NotFound(f"cluster {name} tells nothing of event {event_id}", operation="DescribeClusterEvent")
            self._remember(parse(answer["EventDetails"]))
        return self._looked_up[event_id]

    def tags(self, arn: str) -> dict[str, str]:
        with translated("ListTags"):
            pages = self._client.get_paginator("list_tags").paginate(ResourceArn=arn)
            return {tag["Key"]: tag["Value"] for page in pages for tag in page.get("Tags", [])}

    def _remember(self, event: ClusterEvent) -> None:
        if len(self._looked_up) >= _REMEMBERED:
            self._looked_up.pop(next(iter(self._looked_up)))
        self._looked_up[event.event_id] = event

    def _look_up(self, name: str, events: Iterable[ClusterEvent]) -> None:
        wanted = [e for e in events if worth_a_lookup(e) and e.event_id not in self._looked_up]
        for event in sorted(wanted, key=lambda e: e.at, reverse=True)[:LOOKUPS]:
            try:
                self.event(name, event.event_id)
            except NotFound:
                self._remember(event)  # out of the history by now, or without metadata: the summary must do

    def _nodes(self, name: str, *, continuous: bool) -> tuple[Node, ...]:
        query: dict[str, Any] = {"ClusterName": name, "PaginationConfig": {"PageSize": 100}}
        if continuous:  # only such a cluster has logical ids, and with them nodes that have no instance yet
            query["IncludeNodeLogicalIds"] = True
        # Nodes come and go between two pages, so that one may be listed twice: the later listing counts.
        nodes: dict[object, Node] = {}
        with translated("ListClusterNodes"):
            for page in self._client.get_paginator("list_cluster_nodes").paginate(**query):
                for raw in page["ClusterNodeSummaries"]:
                    node = _node(raw)
                    nodes[node.logical_id or node.instance_id or object()] = node
        return tuple(nodes.values())

    def _group(self, raw: Mapping[str, Any]) -> Group:
        name = raw["InstanceGroupName"]
        role = (raw.get("SlurmConfig") or {}).get("NodeType") or self._roles().get(name, "Compute")
        return Group(
            name=name,
            instance_type=raw.get("InstanceType", ""),
            current=raw.get("CurrentCount", 0),
            target=raw.get("TargetCount", 0),
            role=role,
            status=raw.get("Status", ""),
            training_plan_arn=raw.get("TrainingPlanArn"),
            software_update=raw.get("SoftwareUpdateStatus") or "",
            settings=live_settings(raw),
        )


def _node(raw: Mapping[str, Any]) -> Node:
    status = raw.get("InstanceStatus") or {}
    launched, updated = raw.get("LaunchTime"), raw.get("LastSoftwareUpdateTime")
    return Node(
        instance_id=raw.get("InstanceId") or None,
        logical_id=raw.get("NodeLogicalId") or None,
        group=raw["InstanceGroupName"],
        status=NodeStatus.parse(status.get("Status", "")),
        message=status.get("Message", ""),
        instance_type=raw.get("InstanceType", ""),
        hostname=raw.get("PrivateDnsHostname"),
        launched_at=launched.astimezone(UTC) if launched else None,
        updated_at=updated.astimezone(UTC) if updated else None,
    )
