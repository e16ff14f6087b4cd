"""The operations that only look: describe and list clusters, nodes, events, operations and training plans.

Imports this package's core and views.
"""

from datetime import datetime
from typing import Any

from simulator.hyperpod import views
from simulator.hyperpod.answers.paging import ordered, page
from simulator.hyperpod.core import Core, bad_request
from simulator.hyperpod.state import Cluster, Node
from simulator.service import Caller, ServiceError

Params = dict[str, Any]


class Reading:
    """Each method answers the operation of its name."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def describe_cluster(self, p: Params, caller: Caller) -> Params:
        how = self.core.quirks.current_count
        return views.cluster_view(self.core.find(p["ClusterName"], caller), self.core.capacity, how, self.core.now)

    def list_clusters(self, p: Params, caller: Caller) -> Params:
        found = list(self.core.clusters.values()) if self.core.is_home(caller) else []
        found = [c for c in found if p.get("NameContains", "") in c.name and _within(c.created, p, "CreationTime")]
        plan = p.get("TrainingPlanArn")
        if plan:
            found = [c for c in found if plan in _plans(c)]
        by_name = p.get("SortBy") == "NAME"
        found = ordered(found, lambda c: c.name if by_name else c.created, p, "Ascending")
        some, token = page(found, p)
        summaries = []
        for cluster in some:
            view: Params = {
                "ClusterArn": cluster.arn,
                "ClusterName": cluster.name,
                "CreationTime": cluster.created,
                "ClusterStatus": cluster.status,
            }
            if _plans(cluster):
                view["TrainingPlanArns"] = _plans(cluster)
            summaries.append(view)
        return {"ClusterSummaries": summaries, **token}

    def list_cluster_nodes(self, p: Params, caller: Caller) -> Params:
        cluster = self.core.find(p["ClusterName"], caller)
        logical = p.get("IncludeNodeLogicalIds", False)
        if logical and not cluster.continuous:
            raise bad_request("IncludeNodeLogicalIds needs a cluster with NodeProvisioningMode Continuous.")
        wanted = p.get("InstanceGroupNameContains", "")
        nodes = [n for n in cluster.nodes.values() if wanted in n.group and self._listed(n, logical)]
        nodes = [n for n in nodes if _within(n.launch_time or n.created, p, "CreationTime")]
        if p.get("SortBy") == "NAME":
            nodes = ordered(nodes, lambda n: (n.group, n.index), p, "Ascending")
        else:
            nodes = ordered(nodes, lambda n: (n.launch_time or n.created, n.group, n.index), p, "Ascending")
        some, token = page(nodes, p)
        lag, now = self.core.quirks.list_lag, self.core.now
        shown = [views.node_summary(n, views.shown_status(n, now, lag), logical=logical) for n in some]
        return {"ClusterNodeSummaries": shown, **token}

    def describe_cluster_node(self, p: Params, caller: Caller) -> Params:
        cluster = self.core.find(p["ClusterName"], caller)
        if ("NodeId" in p) == ("NodeLogicalId" in p):
            raise bad_request("Exactly one of NodeId and NodeLogicalId must be given.")
        node = cluster.by_instance(p["NodeId"]) if "NodeId" in p else cluster.nodes.get(p["NodeLogicalId"])
        if node is None:
            wanted = p.get("NodeId") or p.get("NodeLogicalId")
            raise ServiceError("ResourceNotFound", f"Node {wanted} was not found in cluster {cluster.name}.")
        subnet = self.core.subnets[node.subnet_id]
        placement = {"AvailabilityZone": subnet.az, "AvailabilityZoneId": subnet.az_id}
        group = cluster.groups[node.group]
        return {"NodeDetails": views.node_view(node, group, placement, continuous=cluster.continuous)}

    def list_cluster_events(self, p: Params, caller: Caller) -> Params:
        cluster = self._with_history(p, caller)
        filters = {
            "InstanceGroupName": "group",
            "NodeId": "instance_id",
            "ResourceType": "resource_type",
            "OperationId": "operation_id",
        }
        found = [
            e
            for e in cluster.events
            if all(getattr(e, attribute) == p[key] for key, attribute in filters.items() if key in p)
            and _within(e.time, p, "EventTime")
        ]
        some, token = page(ordered(found, lambda e: e.time, p), p)
        return {"Events": [views.event_summary(cluster, e) for e in some], **token}

    def describe_cluster_event(self, p: Params, caller: Caller) -> Params:
        cluster = self._with_history(p, caller)
        event = next((e for e in cluster.events if e.id == p["EventId"]), None)
        if event is None:
            raise ServiceError("ResourceNotFound", f"Event {p['EventId']} was not found in cluster {cluster.name}.")
        view = views.event_summary(cluster, event)
        return {"EventDetails": view | {"EventDetails": {"EventMetadata": event.metadata}}}

    def list_cluster_operations(self, p: Params, caller: Caller) -> Params:
        cluster = self._with_history(p, caller)
        found = [
            o
            for o in cluster.operations
            if o.status == p.get("Status", o.status)
            and o.kind == p.get("Type", o.kind)
            and _within(o.created, p, "CreationTime")
        ]
        some, token = page(ordered(found, lambda o: o.created, p), p)
        return {
            "ClusterOperationSummaries": [views.operation_view(cluster, o, details=False) for o in some],
            **token,
        }

    def describe_cluster_operation(self, p: Params, caller: Caller) -> Params:
        cluster = self._with_history(p, caller)
        for operation in cluster.operations:
            if operation.id == p["OperationId"]:
                return views.operation_view(cluster, operation, details=True)
        raise ServiceError("ResourceNotFound", f"Operation {p['OperationId']} was not found.")

    def describe_training_plan(self, p: Params, caller: Caller) -> Params:
        plan = self.core.capacity.plan(p["TrainingPlanName"]) if self.core.is_home(caller) else None
        if plan is None:
            raise ServiceError("ResourceNotFound", f"Training plan {p['TrainingPlanName']} was not found.")
        return views.plan_view(plan, self.core.now, self._az(plan.az_id), full=True)

    def list_training_plans(self, p: Params, caller: Caller) -> Params:
        now = self.core.now
        plans = self.core.capacity.plans() if self.core.is_home(caller) else []
        for f in p.get("Filters", []):
            plans = [r for r in plans if r.status(now) == f["Value"]]
        plans = [r for r in plans if _within(r.windows[0][0], p, "StartTime")]
        keys = {"TrainingPlanName": lambda r: r.name, "Status": lambda r: r.status(now)}
        plans = ordered(plans, keys.get(p.get("SortBy", ""), lambda r: r.windows[0][0]), p)
        some, token = page(plans, p)
        return {
            "TrainingPlanSummaries": [views.plan_view(r, now, self._az(r.az_id), full=False) for r in some],
            **token,
        }

    def list_tags(self, p: Params, caller: Caller) -> Params:
        cluster = self.core.find(p["ResourceArn"], caller)
        some, token = page([{"Key": k, "Value": v} for k, v in cluster.tags.items()], p, 50)
        return {"Tags": some, **token}

    def _with_history(self, p: Params, caller: Caller) -> Cluster:
        cluster = self.core.find(p["ClusterName"], caller)
        if not cluster.continuous:
            raise bad_request(
                f"Cluster {cluster.name} has no events or operations: NodeProvisioningMode Continuous is needed."
            )
        return cluster

    def _listed(self, node: Node, logical: bool) -> bool:
        hiding = self.core.quirks.vanish
        if node.vanished and hiding != "none":
            return logical and hiding == "plain"
        return logical or node.instance_id is not None

    def _az(self, az_id: str) -> str | None:
        return next((s.az for s in self.core.subnets.values() if s.az_id == az_id), None)


def _plans(cluster: Cluster) -> list[str]:
    return sorted({g.plan_arn for g in cluster.groups.values() if g.plan_arn})


def _within(time: datetime, p: Params, name: str) -> bool:
    after, before = p.get(f"{name}After"), p.get(f"{name}Before")
    return (after is None or time > after) and (before is None or time < before)
