"""Control commands: how tests and demos break, mend and look into a simulated region. JSON in, JSON out.

Imports this package, the scenario and the contract's errors. None of this exists in AWS.
"""

from dataclasses import asdict
from typing import Any

from roundhouse.errors import BadInput
from simulator.hyperpod.core import Core
from simulator.hyperpod.service import CallLog
from simulator.hyperpod.state import Cluster, Node
from simulator.hyperpod.views import current_count
from simulator.hyperpod.workings.announced import AwsHealth
from simulator.hyperpod.workings.repair import Repair
from simulator.scenario_file import parse_fault, read_moment, read_quirk

Params = dict[str, Any]


class ControlRefused(BadInput, ValueError):
    """A control command that is unknown or does not fit the world as it is."""


class Control:
    """Answers the commands listed in `commands`."""

    def __init__(self, core: Core, repair: Repair, log: CallLog) -> None:
        self.core = core
        self.repair = repair
        self.log = log
        self.health = AwsHealth(core)
        self.commands = {
            "inject": self._inject,
            "fail_node": self._fail_node,
            "heal_node": self._heal_node,
            "fail_nodes": self._fail_nodes,
            "heal_nodes": self._heal_nodes,
            "emit_event": self._emit_event,
            "nodes": self._nodes,
            "meter": self._meter,
            "calls": self._calls,
            "set": self._set,
            "capacity": self._capacity,
            "own_repairs": self._own_repairs,
            "announce": self._announce,
        }

    def run(self, command: str, params: Params) -> Params:
        """Answer one command; raises ControlRefused."""
        if command not in self.commands:
            raise ControlRefused(f"no control command {command!r}: there are {', '.join(self.commands)}")
        return self.commands[command](dict(params))

    def _inject(self, p: Params) -> Params:
        """Arm one more fault, in the words of a [[fault]] entry; or `clear` true to disarm all."""
        if p.pop("clear", False):
            self.core.faults.armed.clear()
        if p:
            self.core.faults.add(parse_fault(p), self.core.now)
        return {"armed": len(self.core.faults.armed)}

    def _fail_node(self, p: Params) -> Params:
        """Break the node named by instance_id, logical_id, or group and index."""
        chosen = self._find(p)
        self._break([chosen], p)
        return _names(chosen[1])

    def _heal_node(self, p: Params) -> Params:
        cluster, node = self._find(p)
        event = p.pop("event", None)
        _nothing_left(p)
        self.repair.heal(cluster, node, event=event)
        return _names(node)

    def _fail_nodes(self, p: Params) -> Params:
        """Break many: `instance_ids`, or `group` and `count` (the first ones that run and are healthy)."""
        chosen = self._choose(p)
        self._break(chosen, p)
        return {"nodes": [_names(n) for _, n in chosen]}

    def _heal_nodes(self, p: Params) -> Params:
        """Heal many: `instance_ids`, or everything that is broken (of `group`, if given)."""
        event = p.pop("event", None)
        if "instance_ids" in p:
            chosen = self._choose(p)
        else:
            group, name = p.pop("group", None), p.pop("cluster", None)
            chosen = [
                (c, n)
                for c in self.core.clusters.values()
                for n in c.nodes.values()
                if n.ailment and group in (None, n.group) and name in (None, c.name)
            ]
        _nothing_left(p)
        for cluster, node in chosen:
            self.repair.heal(cluster, node, event=event)
        return {"nodes": [_names(n) for _, n in chosen]}

    def _emit_event(self, p: Params) -> Params:
        """Put any event on the bus: `detail_type`, `detail`, and optionally `source`, `resources`, `copies`.

        Or `event`: a whole EventBridge envelope; its id, time, account and region are given anew.
        """
        envelope = p.pop("event", {})
        p = {"detail_type": envelope.get("detail-type")} | p
        p = {k: envelope[k] for k in ("source", "detail", "resources") if k in envelope} | p
        detail, detail_type = p.pop("detail", None), p.pop("detail_type", None)
        if not isinstance(detail, dict) or not detail_type:
            raise ControlRefused("emit_event needs `detail` (an object) and `detail_type`, or a whole `event`")
        resources = p.pop("resources", None)
        if resources is None:
            resources = [detail["ClusterArn"]] if "ClusterArn" in detail else []
        source, copies = p.pop("source", "aws.sagemaker"), p.pop("copies", 1)
        _nothing_left(p)
        for _ in range(copies):
            self.core.events.raw(source=source, detail_type=detail_type, detail=detail, resources=resources)
        return {"emitted": copies}

    def _nodes(self, p: Params) -> Params:
        """The whole truth about clusters, groups and nodes (of `cluster`, if given)."""
        name = p.pop("cluster", None)
        _nothing_left(p)
        clusters = [c for c in self.core.clusters.values() if name in (None, c.name)]
        return {
            "time": self.core.now.isoformat(),
            "clusters": [self._cluster(c) for c in clusters],
            "nodes": [self._node(c, n) for c in clusters for n in c.nodes.values()],
        }

    def _meter(self, p: Params) -> Params:
        """The bill at this moment; `charges` true lists every span of time that was charged."""
        now = self.core.now
        answer = self.core.meter.now(now)
        if p.pop("charges", False):
            answer["charges"] = [
                {
                    "kind": c.kind,
                    "usage_type": c.usage_type,
                    "rate": c.rate,
                    "expected": c.expected,
                    "start": c.start.isoformat(),
                    "end": c.end.isoformat() if c.end else None,
                    "instance_id": c.instance_id,
                    "cluster": c.cluster,
                    "group": c.group,
                }
                for c in self.core.meter.charges
            ]
        _nothing_left(p)
        return answer

    def _calls(self, p: Params) -> Params:
        """Calls that may change something, in order: after `since` (a sequence number), of `operation`, if given."""
        since, operation = p.pop("since", 0), p.pop("operation", None)
        _nothing_left(p)
        found = [e for e in self.log.entries if e["sequence"] > since and operation in (None, e["operation"])]
        return {"calls": found, "counts": dict(self.log.counts)}

    def _set(self, p: Params) -> Params:
        """Turn switches: `auto_recovery` (HyperPod's own repair), `node_recovery` of a `cluster`, `quirks` by name."""
        if "auto_recovery" in p:
            p["quirks"] = {"auto_recovery": p.pop("auto_recovery")} | p.get("quirks", {})
        switched = {key: read_quirk(key, value) for key, value in p.pop("quirks", {}).items()}
        recovery, cluster = p.pop("node_recovery", None), p.pop("cluster", None)
        _nothing_left(p)
        if recovery not in (None, "Automatic", "None"):
            raise ControlRefused("node_recovery: 'Automatic' or 'None'")
        if recovery:
            self._cluster_named(cluster).node_recovery = recovery
        for key, value in switched.items():
            setattr(self.core.quirks, key, value)
        return {"quirks": asdict(self.core.quirks)}

    def _capacity(self, p: Params) -> Params:
        """The pools and reservations, account-team ones included, which no API shows."""
        _nothing_left(p)
        now, capacity = self.core.now, self.core.capacity
        pools = [
            {"az_id": az, "instance_type": kind, "size": pool.size, "used": pool.used}
            for (az, kind), pool in capacity.pools.items()
        ]
        reserved = [
            {
                "name": r.name,
                "arn": r.arn,
                "az_id": r.az_id,
                "instance_type": r.instance_type,
                "status": r.status(now),
                "total": len(r.units),
                "in_use": r.in_use,
                "available": r.available(now),
            }
            for r in capacity.reserved
        ]
        return {"on_demand": pools, "reserved": reserved}

    def _own_repairs(self, p: Params) -> Params:
        """What HyperPod repaired by itself."""
        _nothing_left(p)
        return {"repairs": list(self.repair.own)}

    def _announce(self, p: Params) -> Params:
        """AWS Health tells of work on nodes: see `workings.announced`. `entities` may name what is no node."""
        entities = p.pop("entities", None)
        if entities is None:
            place: Params = {key: p.pop(key) for key in ("instance_ids", "group", "count", "cluster") if key in p}
            entities = [node.instance_id for _, node in self._choose(place)]
        moments: Params = {
            key: read_moment(p.pop(key), key).at(self.core.now) for key in ("starts", "ends") if key in p
        }
        known = ("event", "code", "status", "pages", "copies", "effect")
        options: Params = {key: p.pop(key) for key in known if key in p}
        _nothing_left(p)
        if options.get("effect") not in (None, "reboot"):
            raise ControlRefused("effect: 'reboot', or left out")
        return self.health.announce(entities, **moments, **options)

    def _break(self, chosen: list[tuple[Cluster, Node]], p: Params) -> None:
        known = ("fault", "repair_action", "health_event", "log_record", "fixed_by", "record")
        options: Params = {k: p.pop(k) for k in known if p.get(k) is not None}
        _nothing_left(p)
        if options.get("repair_action") not in (None, "None", "Replace", "Reboot"):
            raise ControlRefused("repair_action: 'None', 'Replace' or 'Reboot'")
        if options.get("fixed_by") not in (None, "reboot", "replace"):
            raise ControlRefused("fixed_by: 'reboot' or 'replace'")
        absent = [node.logical_id for _, node in chosen if not node.instance_id]
        if absent:
            raise ControlRefused(f"nodes without an instance cannot break: {', '.join(absent)}")
        for cluster, node in chosen:
            self.repair.fail(cluster, node, **options)

    def _choose(self, p: Params) -> list[tuple[Cluster, Node]]:
        if "instance_ids" in p:
            return [self._find({"instance_id": i}) for i in p.pop("instance_ids")]
        cluster = self._cluster_named(p.pop("cluster", None))
        group, count = p.pop("group", None), p.pop("count", None)
        if not group or not count:
            raise ControlRefused("name the nodes by `instance_ids`, or by `group` and `count`")
        nodes = [n for n in cluster.members(group) if n.status == "Running" and not n.ailment]
        nodes.sort(key=lambda n: n.index)
        if len(nodes) < count:
            raise ControlRefused(f"only {len(nodes)} nodes of {group} run and are healthy, not {count}")
        return [(cluster, n) for n in nodes[:count]]

    def _find(self, p: Params) -> tuple[Cluster, Node]:
        instance_id, logical_id = p.pop("instance_id", None), p.pop("logical_id", None)
        group, index, name = p.pop("group", None), p.pop("index", None), p.pop("cluster", None)
        for cluster in self.core.clusters.values():
            for node in cluster.nodes.values():
                wanted = (
                    (instance_id is not None and node.instance_id == instance_id)
                    or (logical_id is not None and node.logical_id == logical_id)
                    or (group is not None and (node.group, node.index) == (group, index))
                )
                if wanted and name in (None, cluster.name):
                    return cluster, node
        raise ControlRefused(f"no node {instance_id or logical_id or f'{index} of group {group}'}")

    def _cluster_named(self, name: str | None) -> Cluster:
        found = [c for c in self.core.clusters.values() if name in (None, c.name)]
        if len(found) != 1:
            raise ControlRefused(f"name one `cluster` of {sorted(self.core.clusters)}")
        return found[0]

    def _cluster(self, c: Cluster) -> Params:
        how = self.core.quirks.current_count
        groups = {
            g.name: {
                "status": g.status,
                "target": g.target,
                "minimum": g.minimum,
                "current": current_count(c, g, how),
                "running": c.running(g.name),
            }
            for g in c.groups.values()
        }
        return {
            "name": c.name,
            "arn": c.arn,
            "status": c.status,
            "node_recovery": c.node_recovery,
            "log_group": c.log_group,
            "latch_open": c.latch_open,
            "groups": groups,
        }

    def _node(self, c: Cluster, n: Node) -> Params:
        return {
            "cluster": c.name,
            **_names(n),
            "status": n.status,
            "message": n.message,
            "busy": n.busy,
            "instance_type": n.instance_type,
            "address": n.address,
            "az_id": self.core.subnets[n.subnet_id].az_id,
            "capacity": n.lease.kind if n.lease else None,
            "billed": n.charge.kind if n.charge else None,
            "price": n.charge.rate if n.charge else 0.0,
            "wiped": n.wiped,
            "boots": n.boots,
            "health": n.health,
            "fault": asdict(n.ailment) if n.ailment else None,
            "launches": n.launches,
            "first_call": n.first_call,
            "vanished": n.vanished,
        }


def _names(node: Node) -> Params:
    return {
        "instance_id": node.instance_id,
        "logical_id": node.logical_id,
        "group": node.group,
        "index": node.index,
        "hostname": node.hostname,
    }


def _nothing_left(p: Params) -> None:
    if p:
        raise ControlRefused(f"unknown parameters: {', '.join(p)}")
